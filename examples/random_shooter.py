"""A planner of one's own: it tries random sequences of actions, and keeps the one that earns most. To see it act:
`magic-pomdp evaluate tiger --planner examples/random_shooter.py:RandomShooter --sequence-length 3`."""

import time
from dataclasses import dataclass

import numpy as np

import magic_pomdp as mp
from magic_pomdp.planners import Range, borrow, check_situation, kernel, new_counters, register_planner, setting, spend


@dataclass(frozen=True)
class ShooterSettings(mp.planners.PlannerSettings):
    sequence_length: int = setting(6, "Actions of a sequence.", short="L", at_least=1, tuned=Range(1, 20))


@register_planner("random-shooter", "Random shooter", ShooterSettings)
class RandomShooter:
    def __init__(self, task, settings=None, budget=None):
        self.task, self.settings = task, settings or ShooterSettings.advised(task)
        self.budget = budget or mp.Budget(seconds=0.1)

    def plan(self, belief, context=None, *, budget=None, seed=0):
        started, task, length = time.perf_counter(), self.task, self.settings.sequence_length
        particles, context = check_situation(task, belief, context)
        tried, count, random = np.zeros((10_000, length, task.action_size)), new_counters(), mp.random.new_stream(seed)
        values, state, observation = (np.zeros(n) for n in (len(tried), task.state_size, task.observation_size))
        search = task, context, particles, task.actions(), tried, values, random, state, observation, count
        spend(budget or self.budget, started, count, lambda step_limit: shoot(*search, step_limit))
        trials, steps, best = int(count[0].trials), int(count[0].steps), int(values[: count[0].trials].argmax())
        return mp.Plan(
            macro_action=tried[best], choice=best, value=float(values[best]), lower=None, upper=None, trials=trials,
            nodes=trials, depth=length, steps=steps, seconds=time.perf_counter() - started, stopped_by="budget used",
            values=values[:trials], macro_actions=mp.MacroActions(tried[:trials], np.full(trials, length)),
        )  # fmt: skip


@kernel
def shoot(task, context, particles, actions, tried, values, random, state, observation, count, step_limit):
    """Try sequences, each on 20 particles, until so many steps are simulated; True if there is no room for more."""
    context, particles, actions, tried = borrow((context, particles, actions, tried), task)
    random, state, observation = borrow((random, state, observation), task)
    while count[0].trials < len(tried) and (count[0].trials == 0 or count[0].steps < step_limit):
        sequence = tried[count[0].trials]
        for i in range(len(sequence)):
            task.draw_action(actions, random, sequence[i])
        for _ in range(20):
            row, discount = mp.random.integer(random, len(particles)), 1.0
            for j in range(len(state)):
                state[j] = particles[row, j]
            for i in range(len(sequence)):  # a state that has ended earns nothing more
                reward, _ = task.step_unobserved(context, state, sequence[i], random, observation)
                values[count[0].trials] += discount * reward / 20
                discount *= task.discount
            count[0].steps += len(sequence)
        count[0].trials += 1
    return count[0].trials == len(tried)
