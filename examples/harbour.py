"""A boat in the fog looks for the harbour by the bearing of a lighthouse. A continuous task.

The skipper is unsure where the boat is and how strong the current is that sets it north or south. All that is to be
seen of the coast is the direction in which the lighthouse flashes, so the distance must come from sailing past it.
Anchoring inside the harbour earns 100, anywhere else it costs 100, and every minute costs 1.

    python harbour.py
    magic-pomdp check harbour.py:Harbour
    magic-pomdp evaluate harbour.py:Harbour --set bearing_noise=0.2
"""

import math

import numpy as np

import magic_pomdp as mp
from magic_pomdp import Outcome
from magic_pomdp.random import normal, uniform

X, Y, CURRENT, OUTCOME = range(4)
"""State: position, northward drift in a minute, and how the journey has ended (RUNNING while it has not)."""


class Harbour(mp.Task):
    """An action is the unit vector of the course; the zero vector drops the anchor. The observation is a bearing."""

    name = "harbour"
    state_size = 4
    action_size = 2
    observation_size = 1
    continuous_state = (X, Y, CURRENT)
    advice = (
        mp.tasks.BeliefSettings(particles=5000),
        mp.planners.MacroDespotSettings(scenarios=200, search_depth=40, macro_length=3),
        mp.planners.PomcpowSettings(search_depth=40),
    )

    max_steps: int = 40
    harbour_x: float = 10.0
    """The harbour lies at (harbour_x, 0)."""
    harbour_radius: float = 1.0
    lighthouse_x: float = 6.0
    lighthouse_y: float = 3.0
    bearing_noise: float = 0.1
    """Standard deviation of the bearing, in radians."""
    start_noise: float = 1.5
    """Standard deviation of each coordinate of the start, around (0, 0)."""
    current_noise: float = 0.2
    """Standard deviation of the current."""
    swell: float = 0.1
    """Each minute moves the boat by up to this in either coordinate."""

    def draw_state(self, context, random, state):
        state[X] = self.start_noise * normal(random)
        state[Y] = self.start_noise * normal(random)
        state[CURRENT] = self.current_noise * normal(random)
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[0] = 0.0
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        if action[0] == 0.0 and action[1] == 0.0:
            inside = self.distance(state) <= self.harbour_radius
            state[OUTCOME] = Outcome.SUCCESS if inside else Outcome.FAILURE
            return (100.0 if inside else -100.0), int(state[OUTCOME])
        state[X] += action[0] + self.swell * (2.0 * uniform(random) - 1.0)
        state[Y] += action[1] + self.swell * (2.0 * uniform(random) - 1.0) + state[CURRENT]
        observation[0] = self.turn(self.bearing(state) + self.bearing_noise * normal(random))
        return -1.0, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        error = self.turn(observation[0] - self.bearing(state))
        return -0.5 * (error / self.bearing_noise) ** 2  # a factor common to all states may be left out

    def upper_bound(self, context, state):
        """Straight to the harbour's edge, with swell and current always from behind, and nothing to pay."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        fastest = 1.0 + abs(state[CURRENT]) + 1.5 * self.swell
        minutes = math.ceil(max(0.0, self.distance(state) - self.harbour_radius) / fastest)
        return 100.0 * self.discount**minutes

    def distance(self, state):
        """From the boat to the middle of the harbour."""
        return math.hypot(state[X] - self.harbour_x, state[Y])

    def bearing(self, state):
        """The direction of the lighthouse, in radians from east."""
        return math.atan2(self.lighthouse_y - state[Y], self.lighthouse_x - state[X])

    def turn(self, angle):
        """The same angle between −π and π."""
        return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))

    def state_distance(self, state, other):
        return math.hypot(state[X] - other[X], state[Y] - other[Y])

    def actions(self):
        headings = np.arange(8) * (math.pi / 4.0)
        return np.vstack([np.column_stack([np.cos(headings), np.sin(headings)]), np.zeros((1, 2))])

    def macro_actions(self, length):
        courses, anchor = self.actions()[:-1], self.actions()[-1:]
        return mp.MacroActions.repeat(courses, length).add(anchor)  # nobody drops the anchor three times

    def macro_space(self, length):
        return mp.macros.BezierSpace(length, extra=(((0.0, 0.0),),))  # what `magic-pomdp train` fills; the anchor stays

    def scene(self, context):
        harbour = mp.scene.Circle(self.harbour_x, 0.0, self.harbour_radius, "goal", filled=False)
        lighthouse = mp.scene.Circle(self.lighthouse_x, self.lighthouse_y, 0.4, "light")
        places = {"particles": [mp.scene.Track(X, Y)], "trails": [mp.scene.Track(X, Y, "path")]}
        return mp.scene.Scene((-6.0, -8.0, 13.0, 8.0), [harbour, lighthouse], robot=(X, Y), **places)

    def sprites(self, context, state, particles):
        return [mp.scene.Circle(state[X], state[Y], 0.35, "robot")]


if __name__ == "__main__":
    task = Harbour()
    planner = mp.MacroDespot(task, budget=mp.Budget(seconds=0.1))
    for episode in range(5):
        record = mp.run_episode(task, planner, seed=0, episode=episode)
        print(f"episode {episode}: {record.outcome} after {record.steps} minutes, return {record.total_return:.0f}")
