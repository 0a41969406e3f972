"""A rover among rocks: which of them are worth a sample? A discrete task.

The rover knows where it is and where the rocks lie, but not which of them are good. Its camera can look at a rock from
anywhere and is the less reliable the further away the rock is. A good rock earns 10, a bad one costs 10, and leaving
by the east side earns 10. Every move and every look takes a little energy, and time is discounted.

    python rock_sample.py
    magic-pomdp check rock_sample.py:RockSample
    magic-pomdp evaluate rock_sample.py:RockSample --set size=7
"""

import math

import numpy as np

import magic_pomdp as mp
from magic_pomdp import Outcome
from magic_pomdp.random import integer, uniform

ROCKS = 3
NORTH, EAST, SOUTH, WEST, SAMPLE, LOOK = range(6)
"""Actions: four moves, a sample of the rock underneath, and LOOK + i to look at rock i."""
NOTHING, GOOD, BAD = range(3)
"""Observations: GOOD or BAD after a look, else NOTHING."""
X, Y, OUTCOME, FIRST_ROCK = range(4)
"""State: where the rover is, whether it has left, and for each rock 1 if it is good."""


class RockSample(mp.Task):
    """The context holds the rocks' places: x and y of each."""

    name = "rock-sample"
    state_size = FIRST_ROCK + ROCKS
    action_size = 1
    observation_size = 1
    context_size = 2 * ROCKS
    advice = (
        mp.tasks.BeliefSettings(particles=2000),
        mp.planners.MacroDespotSettings(scenarios=1000, search_depth=40),
        mp.planners.PomcpowSettings(search_depth=40),
    )

    discount: float = 0.95
    max_steps: int = 40
    size: int = 5
    """Squares on each side of the field."""
    energy: float = 0.1
    """Cost of a move or a look."""
    half_distance: float = 3.0
    """Distance at which the camera tells only half of what it tells at the rock."""

    def draw_context(self, random, context):
        for i in range(2 * ROCKS):
            context[i] = integer(random, self.size)

    def draw_state(self, context, random, state):
        state[X], state[Y], state[OUTCOME] = 0.0, self.size // 2, Outcome.RUNNING
        for rock in range(ROCKS):
            state[FIRST_ROCK + rock] = integer(random, 2)

    def step(self, context, state, action, random, observation):
        observation[0] = NOTHING
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, Outcome.SUCCESS
        if action[0] >= LOOK:
            rock = int(action[0]) - LOOK
            sees_right = uniform(random) < self.reliability(context, state, rock)
            observation[0] = GOOD if (state[FIRST_ROCK + rock] == 1.0) == sees_right else BAD
        elif action[0] == SAMPLE:
            for rock in range(ROCKS):
                if self.distance(context, state, rock) == 0.0:
                    was_good = state[FIRST_ROCK + rock] == 1.0
                    state[FIRST_ROCK + rock] = 0.0
                    return (10.0 if was_good else -10.0), Outcome.RUNNING
        elif action[0] == EAST and state[X] == self.size - 1:
            state[OUTCOME] = Outcome.SUCCESS
            return 10.0, Outcome.SUCCESS
        elif action[0] == EAST:
            state[X] += 1.0
        elif action[0] == WEST:
            state[X] = max(0.0, state[X] - 1.0)
        elif action[0] == NORTH:
            state[Y] = min(self.size - 1.0, state[Y] + 1.0)
        else:
            state[Y] = max(0.0, state[Y] - 1.0)
        return -self.energy, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        if action[0] < LOOK:
            return 0.0  # nothing to see, whatever the state
        rock = int(action[0]) - LOOK
        reliability = self.reliability(context, state, rock)
        is_right = (observation[0] == GOOD) == (state[FIRST_ROCK + rock] == 1.0)
        return math.log(reliability if is_right else 1.0 - reliability + 1e-12)

    def upper_bound(self, context, state):
        """As if it sampled each good rock as soon as it could get there, and left at once as well."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        bound = 10.0 * self.discount ** (self.size - 1.0 - state[X])
        for rock in range(ROCKS):
            bound += 10.0 * state[FIRST_ROCK + rock] * self.discount ** self.distance(context, state, rock)
        return bound

    def distance(self, context, state, rock):
        """Moves to a rock."""
        return abs(context[2 * rock] - state[X]) + abs(context[2 * rock + 1] - state[Y])

    def reliability(self, context, state, rock):
        """Probability that a look at a rock tells the truth: 1 at the rock, 1/2 far away."""
        return 0.5 + 0.5 * 2.0 ** (-self.distance(context, state, rock) / self.half_distance)

    def state_distance(self, state, other):
        """How many rocks one of two states has wrong."""
        wrong = 0.0
        for rock in range(FIRST_ROCK, FIRST_ROCK + ROCKS):
            wrong += abs(state[rock] - other[rock])
        return wrong

    def actions(self):
        return np.arange(LOOK + ROCKS, dtype=np.float64)[:, None]


if __name__ == "__main__":
    task = RockSample()
    planner = mp.MacroDespot(task, budget=mp.Budget(seconds=0.1))
    for episode in range(5):
        record = mp.run_episode(task, planner, seed=0, episode=episode)
        print(
            f"episode {episode}: return {record.total_return:.1f} in {record.steps} steps (driving straight out: 9.6)"
        )
