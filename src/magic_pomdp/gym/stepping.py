"""Many episodes of a task at once, in compiled code."""

from magic_pomdp.core.compiling import inlined, kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import U64, derive, mix, seek
from magic_pomdp.core.views import borrow
from magic_pomdp.running.world import BEGINNING, HAPPENING


@kernel
def begin_some(task, which, seeds, episodes, times, contexts, states, random, observations):
    """Begin an episode in each row that is marked: its number and its seed are in the row."""
    contexts, states, observations, random = borrow((contexts, states, observations, random), task)
    for i in range(len(which)):
        if which[i]:
            _begin(task, U64(seeds[i]), episodes[i], contexts[i], states[i], random, observations[i])
            times[i] = 0


@kernel
def step_others(
    task, which, seeds, episodes, times, contexts, states, actions, random, observations, rewards, outcomes
):
    """One primitive step in each row that is not marked; those that are begin their next episode, and earn nothing."""
    contexts, states, actions = borrow((contexts, states, actions), task)
    observations, random = borrow((observations, random), task)
    for i in range(len(which)):
        if which[i]:
            episodes[i] += 1
            times[i] = 0
            rewards[i], outcomes[i] = 0.0, Outcome.RUNNING
            _begin(task, U64(seeds[i]), episodes[i], contexts[i], states[i], random, observations[i])
        else:
            seek(random, mix(derive(derive(U64(seeds[i]), episodes[i]), HAPPENING)), times[i])
            reward, outcome = task.step(contexts[i], states[i], actions[i], random, observations[i])
            rewards[i], outcomes[i] = reward, outcome
            times[i] += 1


@inlined
def _begin(task, seed, episode, context, state, random, observation):
    """Begin the episode of a seed and a number, as `SimulatedWorld` does. Nothing is observed yet."""
    random[0] = mix(derive(derive(seed, episode), BEGINNING))
    task.draw_context(random, context)
    task.draw_state(context, random, state)
    for k in range(len(observation)):
        observation[k] = 0.0
