"""The pictures of docs/concepts.md, made of real searches on Light-Dark: python docs/hooks/pictures.py

Budgets are in primitive steps, so every run draws the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import magic_pomdp as mp
from magic_pomdp.core.saving import in_one_step
from magic_pomdp.core.scene import Role
from magic_pomdp.planners.tree_top import top_of_tree
from magic_pomdp.results.recording import RecordedEpisode
from magic_pomdp.show.drawing import draw_frame, palette, scene_of
from magic_pomdp.show.picture import draw_situations
from magic_pomdp.tasks.light_dark import GOAL_X, GOAL_Y, LightDark, X, Y

FOLDER = Path(__file__).parents[1] / "pictures"
SEED, SHOWN, LATER = 0, 3, 16
"""Of the episodes; which of them the pictures show; and a step of it at which the robot knows where it is."""
STEPS = 300_000
BUDGET = mp.Budget(steps=STEPS)
SCENARIOS = 20
COLOURS = palette("light")
_WIDE = 2.6
"""Inches of a part of a picture."""


def main() -> None:
    """Draw them all."""
    task = LightDark()
    factory = mp.running.PlannerFactory("magic", BUDGET, {"refine": 0.0})
    recording = mp.running.record_episodes(task, factory, SHOWN + 1, SEED, workers=0)
    episode = recording.episodes[SHOWN]
    planner = factory(task)
    start = mp.Belief.initial(task, episode.context, count=2_000, seed=SEED)
    draw_belief(episode)
    draw_scenarios(task, episode, start)
    draw_situations(recording, FOLDER / "macro-action.svg")
    draw_contexts(task, planner, episode, start)
    later = mp.Belief(task, episode.context, episode.particles[LATER])
    draw_trees(planner, later)
    draw_bounds(planner, later)
    draw_refining(task, episode, start)
    draw_roles()


def parts(count: int, high: float = _WIDE) -> tuple[Figure, Sequence[Axes]]:
    """A figure with so many parts side by side."""
    figure = Figure(figsize=(_WIDE * count, high + 0.2), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def save(figure: Figure, name: str) -> None:
    """As SVG; the same figure gives the same file."""
    FigureCanvasAgg(figure)
    path = FOLDER / f"{name}.svg"
    with rc_context({"svg.hashsalt": name}), in_one_step(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})


def situation(axes: Axes, episode: RecordedEpisode, time: int, particles: np.ndarray, title: str) -> None:
    """The scene, where the robot is and where it may be."""
    draw_frame(axes, scene_of(episode), episode.sprites[time], episode.states[: time + 1], particles, "light")
    axes.set_title(title, fontsize=10)


def draw_belief(episode: RecordedEpisode) -> None:
    """Four moments of an episode."""
    figure, places = parts(4)
    for axes, time in zip(places, (0, 6, 9, episode.steps - 1), strict=True):
        situation(axes, episode, time, episode.particles[time], f"step {time}")
    save(figure, "belief")


def draw_scenarios(task: LightDark, episode: RecordedEpisode, belief: mp.Belief) -> None:
    """One macro-action in one scenario, and in many."""
    figure, places = parts(2)
    chosen = episode.plans[0]
    actions = chosen.macro_actions[chosen.choice][: chosen.lengths[chosen.choice]]
    for axes, count in zip(places, (1, SCENARIOS), strict=True):
        situation(axes, episode, 0, belief.particles, "one scenario" if count == 1 else f"{count} scenarios")
        for number in range(count):
            way = simulate(task, belief, belief.particles[number * len(belief.particles) // count], actions, number)
            axes.plot(way[:, 0], way[:, 1], color=COLOURS["high"], lw=1.2, alpha=0.8, zorder=5)
            axes.plot(*way[-1], "o", ms=3, color=COLOURS["chosen"], zorder=6)
    save(figure, "scenario")


def simulate(task: LightDark, belief: mp.Belief, start: np.ndarray, actions: np.ndarray, number: int) -> np.ndarray:
    """Where a macro-action leads in a scenario, shape (length + 1, 2)."""
    state, observation, random = start.copy(), np.zeros(task.observation_size), mp.random.new_stream(number)
    way = [state[[X, Y]]]
    for action in actions:
        task.step(belief.context, state, action, random, observation)
        way.append(state[[X, Y]])
    return np.array(way)


def draw_set(axes: Axes, task: LightDark, start: np.ndarray, macro_actions: mp.MacroActions, colour: str) -> None:
    """Where macro-actions would lead if nothing went wrong."""
    for actions, length in zip(macro_actions.actions, macro_actions.lengths, strict=True):
        way = np.vstack([start, start + task.speed * np.cumsum(actions[:length], axis=0)])
        axes.plot(way[:, 0], way[:, 1], color=colour, lw=1.6, zorder=5)
        axes.plot(*way[-1], "o", ms=3, color=colour, zorder=6)


def draw_contexts(task: LightDark, planner: mp.magic.MagicPlanner, episode: RecordedEpisode, belief: mp.Belief) -> None:
    """The same belief with the goal where it is, and on the other side."""
    figure, places = parts(2)
    middle = belief.particles[:, [X, Y]].mean(axis=0)
    for axes, sign, title in zip(places, (1.0, -1.0), ("one goal", "another goal"), strict=True):
        context = episode.context.copy()
        context[[GOAL_X, GOAL_Y]] *= sign
        draw_frame(axes, task.scene(context), [], np.zeros((0, task.state_size)), belief.particles, "light")
        draw_set(axes, task, middle, planner.generate(belief.particles, context), COLOURS["middle"])
        axes.set_title(title, fontsize=10)
    save(figure, "context")


def draw_trees(planner: mp.magic.MagicPlanner, belief: mp.Belief) -> None:
    """The top of the search tree after three budgets."""
    figure, places = parts(3)
    for axes, steps in zip(places, (STEPS // 10, STEPS, 10 * STEPS), strict=True):
        plan = planner.plan(belief, budget=mp.Budget(steps=steps), seed=SEED)
        draw_tree(axes, planner)
        axes.set_title(f"{plan.steps:,} steps, {plan.nodes} nodes", fontsize=9)
    save(figure, "tree")


def draw_tree(axes: Axes, planner: mp.magic.MagicPlanner) -> None:
    """Beliefs as dots, as large as the share of scenarios that come there; macro-actions as lines between them."""
    items = top_of_tree(planner.tree_view())
    inside: list[list[int]] = [[] for _ in items]
    for number, item in enumerate(items[1:], start=1):
        inside[item.parent].append(number)
    across, down = np.zeros(len(items)), np.zeros(len(items))
    free = 0.0
    for number in deepest_last(inside):
        if inside[number]:
            across[number] = np.mean(across[inside[number]])
        else:
            across[number], free = free, free + 1.0
    for number, item in enumerate(items[1:], start=1):
        down[number] = down[item.parent] - 1.0
        line = COLOURS["obstacle"] if item.macro >= 0 else COLOURS["low"]
        axes.plot(across[[item.parent, number]], down[[item.parent, number]], color=line, lw=0.7, zorder=1)
    beliefs = [number for number, item in enumerate(items) if item.macro < 0]
    sizes = [4.0 + 60.0 * items[number].share for number in beliefs]
    axes.scatter(across[beliefs], down[beliefs], s=sizes, color=COLOURS["belief"], linewidths=0, zorder=2)
    axes.set_axis_off()


def deepest_last(inside: Sequence[Sequence[int]]) -> list[int]:
    """The items of a tree, each after all that is below it."""
    order, waiting = [], [0]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting.extend(inside[number])
    return order[::-1]


def draw_bounds(planner: mp.magic.MagicPlanner, belief: mp.Belief) -> None:
    """The bounds at the root after more and more steps."""
    figure = Figure(figsize=(2 * _WIDE, _WIDE + 0.4), layout="constrained")
    axes = figure.subplots()
    budgets = np.geomspace(STEPS // 10, 100 * STEPS, 25).round().astype(int)
    plans = [planner.plan(belief, budget=mp.Budget(steps=int(steps)), seed=SEED) for steps in budgets]
    steps = [plan.steps for plan in plans]
    axes.fill_between(
        steps, [plan.lower for plan in plans], [plan.upper for plan in plans], color=COLOURS["belief"], alpha=0.15
    )
    axes.plot(steps, [plan.upper for plan in plans], color=COLOURS["belief"], label="upper bound")
    axes.plot(steps, [plan.lower for plan in plans], color=COLOURS["goal"], label="lower bound")
    axes.set(xscale="log", xlabel="simulated steps", ylabel="discounted return")
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save(figure, "bounds")


def draw_refining(task: LightDark, episode: RecordedEpisode, belief: mp.Belief) -> None:
    """A set, and what a search adds to it."""
    figure, places = parts(2)
    settings = mp.magic.MagicSettings.advised(task, refine=0.4)
    planner = mp.magic.MagicPlanner(task, settings, mp.Budget(steps=100 * STEPS))
    before = planner.generate(belief)
    plan = planner.plan(belief, seed=SEED)
    assert plan.macro_actions is not None
    known = {sequence.tobytes() for sequence in before.actions}
    added = [row for row, sequence in enumerate(plan.macro_actions.actions) if sequence.tobytes() not in known]
    middle = belief.particles[:, [X, Y]].mean(axis=0)
    for axes, title in zip(places, ("the set", "with variations of its best"), strict=True):
        situation(axes, episode, 0, belief.particles, title)
        if title != "the set":
            rows = mp.MacroActions(plan.macro_actions.actions[added], plan.macro_actions.lengths[added])
            draw_set(axes, task, middle, rows, COLOURS["high"])
        draw_set(axes, task, middle, before, COLOURS["middle"])
    save(figure, "refine")


def draw_roles() -> None:
    """The colours of what a scene is made of, on light and on dark ground."""
    roles = get_args(Role)
    figure, halves = parts(2, high=0.2 * len(roles))
    for axes, theme in zip(halves, ("light", "dark"), strict=True):
        colours = palette(theme)
        axes.set(xlim=(0.0, 4.0), ylim=(len(roles), 0.0), xticks=[], yticks=[], facecolor=colours["ground"])
        axes.set_title(f"on {theme} ground", fontsize=9)
        for row, role in enumerate(roles):
            axes.add_patch(Rectangle((0.2, row + 0.15), 1.2, 0.7, color=colours[role]))
            axes.text(1.7, row + 0.5, role, color=colours["text"], va="center", fontsize=8)
    save(figure, "roles")


if __name__ == "__main__":
    main()
