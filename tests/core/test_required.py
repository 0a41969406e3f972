"""What makes a class a task."""

import math

import numpy as np
import pytest
from numba import njit

from magic_pomdp import Belief, Outcome, Task
from magic_pomdp.core.parameters import parameter_values
from magic_pomdp.core.task import REQUIRED, task_name
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.tasks.tiger import Tiger

pytestmark = pytest.mark.jit_off


class Part(Task, abstract=True):
    """What some tasks share, and no task itself."""

    state_size = action_size = observation_size = 1
    width: float = 4.0

    def draw_state(self, context, random, state):
        state[0] = self.width

    def log_likelihood(self, context, state, action, observation):
        return 0.0


class Whole(Part):
    name = "whole"

    def step(self, context, state, action, random, observation):
        observation[0] = state[0]
        return 0.0, Outcome.RUNNING

    def upper_bound(self, context, state):
        return 0.0

    def actions(self):
        return np.zeros((1, 1))


def test_a_class_that_lacks_a_function_is_refused_when_it_is_defined():
    with pytest.raises(
        ValueError,
        match=r"^Unfinished lacks draw_state and step and log_likelihood and upper_bound and actions: write them as "
        r"`help\(magic_pomdp\.Task\)` tells, or say `abstract=True` if it is only a part of tasks\.$",
    ):

        class Unfinished(Task):
            name = "unfinished"


@pytest.mark.parametrize("name", ["draw_state", "step", "log_likelihood", "upper_bound", "actions"])
def test_the_one_that_is_missing_is_named(name):
    functions = {key: vars(Tiger)[key] for key in ("draw_state", "step", "log_likelihood", "upper_bound", "actions")}
    del functions[name]
    with pytest.raises(ValueError, match=f"^Lacking lacks {name}: write it as "):
        type("Lacking", (Task,), functions)


def test_a_part_of_tasks_may_lack_functions_and_is_completed_by_a_task():
    belief = Belief.initial(Whole(width=2.5), np.zeros(0), 3)
    assert belief.particles.tolist() == [[2.5]] * 3
    assert Whole().width == 4.0


def test_who_completes_a_part_must_complete_it():
    with pytest.raises(ValueError, match=r"^Half lacks step and upper_bound and actions: write them"):

        class Half(Part):
            name = "half"


def test_a_new_default_of_an_inherited_parameter_needs_no_annotation():
    class Wide(Whole):
        width = 9.0

    assert (Wide().width, Wide(width=1.0).width, Whole().width) == (9.0, 1.0, 4.0)
    assert parameter_values(Wide()) == {"discount": 0.98, "max_steps": 100, "width": 9.0}


def test_a_task_without_a_name_is_called_by_its_class():
    class Anonymous(Whole):
        name = ""

    assert (task_name(Anonymous()), task_name(Whole())) == ("Anonymous", "whole")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discount": 0.0}, r"discount must lie in \(0, 1\], not at 0"),
        ({"discount": 1.01}, r"discount must lie in \(0, 1\], not at 1\.01"),
        ({"max_steps": 0}, "max_steps must be at least 1, not 0"),
        ({"max_steps": 2.5}, "max_steps of Whole must be of kind int, not 2.5"),
        ({"width": "wide"}, "width of Whole must be of kind float, not 'wide'"),
        ({"width": math.inf}, "width of Whole must be finite, not inf"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Whole(**parameters)


# ---------------------------------------------------------------------------------------------------------- outcomes


@njit
def keep_outcomes(state):
    """As a task does: outcomes are stored in a state, read from it, compared and returned."""
    state[0] = Outcome.FAILURE
    state[1] = Outcome.RUNNING if state[0] == Outcome.SUCCESS else Outcome.SUCCESS
    return Outcome.SUCCESS if int(state[1]) == Outcome.SUCCESS else Outcome.RUNNING


def test_compiled_code_uses_outcomes_as_whole_numbers():
    state = np.zeros(2)
    assert keep_outcomes(state) == Outcome.SUCCESS
    assert state.tolist() == [2.0, 1.0]


def test_outcomes_have_words():
    assert [(int(one), one.word) for one in Outcome] == [(0, "unfinished"), (1, "success"), (2, "failure")]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"advice": MacroDespotSettings()}, "The advice of Wrong must be a tuple of settings, not MacroDespotSettings"),
        ({"advice": ("be quick",)}, "The advice of Wrong must be a tuple of settings"),
    ],
)
def test_a_task_that_was_put_together_wrongly_cannot_be_made(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        type("Wrong", (Tiger,), wrong)()


def test_a_task_without_its_sizes_cannot_be_made():
    functions = {name: getattr(Tiger, name) for name in REQUIRED}
    with pytest.raises(ValueError, match="Sizeless has no state_size: write `state_size = …` in the class"):
        type("Sizeless", (Task,), functions)()
