"""A task whose best macro-action is known: hit a target that the context tells and the belief knows more exactly."""

import numpy as np

import magic_pomdp as mp
from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.random import normal, uniform


class Target(mp.Task):
    """State: where the target is. Action: where to shoot, in [−1, 1]. The reward falls with the square of the miss."""

    name = "target"
    state_size = 1
    action_size = 1
    observation_size = 1
    context_size = 1
    discrete_actions = False  # it may shoot anywhere between
    advice = (BeliefSettings(particles=40), MacroDespotSettings(scenarios=4, search_depth=1))

    max_steps: int = 1
    blur: float = 0.05

    def draw_context(self, random, context):
        context[0] = 1.2 * uniform(random) - 0.6

    def draw_state(self, context, random, state):
        state[0] = context[0] + self.blur * normal(random)

    def step(self, context, state, action, random, observation):
        observation[0] = 0.0
        return 10.0 - 10.0 * (action[0] - state[0]) ** 2, mp.Outcome.SUCCESS

    def log_likelihood(self, context, state, action, observation):
        return 0.0

    def observation_key(self, observation):
        return 0

    def upper_bound(self, context, state):
        return 10.0

    def actions(self):
        return np.array([[-1.0], [1.0]])
