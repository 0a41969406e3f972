"""A second look at the macro-action that a search would choose.

A search sees K scenarios and takes what did best on them: a little of that was their luck. To stop at the goal's very
edge, say, is right in all of them, and wrong in one of ten situations. What a macro-action earns while it runs is cheap
to know better. So before it is chosen, the best one is run on many more of the belief's particles. If it is still the
best, it is chosen; else the next one is looked at.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.clock import is_late
from magic_pomdp.core.compiling import search_kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import derive
from magic_pomdp.core.views import borrow, copy_numbers, local_state
from magic_pomdp.planners.default_policy import run_unobserved
from magic_pomdp.planners.tree import ROOT, Tree

SHARE = 0.05
"""Of a budget, how much second looks may take."""


class Look(NamedTuple):
    """What came of a macro-action on some particles."""

    reward: float
    """Earned while it ran, in the mean."""
    running: float
    """The share of the particles whose episode goes on."""


@search_kernel
def run_on_particles(task, context, choices, desk, particles, macro, count, seed, deadline):
    """Run a macro-action on the first `count` particles, or on fewer until a deadline: what they earn in all, how many
    go on, and how many there were."""
    context, choices, desk, particles = borrow((context, choices, desk, particles), task)
    total, running, done = 0.0, 0, 0
    state = local_state(task, desk.state)
    while done < count and not is_late(deadline):
        copy_numbers(len(state), particles[done], state)
        reward, outcome, steps = run_unobserved(task, context, choices, macro, state, derive(seed, done), 0, desk)
        desk.steps[0] += steps
        total += reward
        running += outcome == Outcome.RUNNING
        done += 1
    return total, running, done


def evenly_spread(particles: np.ndarray, count: int) -> np.ndarray:
    """At most `count` of some particles, in such an order that the first few of them, too, are from all of the belief:
    after each of them the next is the golden section of all of them further on."""
    count = min(count, len(particles))
    stride = max(1, round(count * (math.sqrt(5.0) - 1.0) / 2.0))
    while math.gcd(stride, count) > 1:
        stride += 1
    order = np.arange(count) * stride % count
    return np.take(particles, (2 * order + 1) * len(particles) // (2 * count), axis=0)


def first_look(tree: Tree, macro: int) -> Look:
    """What came of a macro-action on the scenarios of the search."""
    root = tree.nodes[ROOT]
    branch = tree.branches[root.first_branch + macro]
    children = tree.nodes[branch.first_child : branch.first_child + branch.child_count]
    return Look(float(branch.reward), float(children["scenario_count"].sum()) / float(root.scenario_count))


def choose(values: np.ndarray, first: Callable[[int], Look], second: Callable[[int], Look | None]) -> int:
    """The macro-action that is worth most, also at a second look; where there was time for one, its value is what that
    makes of it."""
    looked: set[int] = set()
    while True:
        best = int(values.argmax())
        found = None if best in looked else second(best)
        if found is None:
            return best
        looked.add(best)
        values[best] = _at_second_look(float(values[best]), first(best), found)


def _at_second_look(value: float, first: Look, second: Look) -> float:
    """What follows a macro-action is worth as much as before to those that go on."""
    follows = value - first.reward
    return second.reward + (follows * second.running / first.running if first.running > 0.0 else 0.0)
