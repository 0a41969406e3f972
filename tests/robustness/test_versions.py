"""What is declared of other software: bounds on both sides, and nothing that is known not to work."""

import pytest
from versions import EXTRAS, oldest, requirements

DECLARED = {requirement.name: requirement for requirement in requirements((*EXTRAS, "transfer"))}


@pytest.mark.parametrize("requirement", DECLARED.values(), ids=str)
def test_there_is_an_oldest_and_a_newest_version(requirement):
    operators = {one.operator for one in requirement.specifier}
    assert operators in ({">=", "<"}, {"=="})
    assert oldest(requirement).startswith(f"{requirement.name}==")


@pytest.mark.parametrize(
    ("name", "version"),
    [("tyro", "1.0.4"), ("shapely", "2.0.3"), ("matplotlib", "3.8.0"), ("tensorboard", "2.17.1"), ("rich", "14.2.0")],
)
def test_what_does_not_work_is_not_allowed(name, version):
    assert not DECLARED[name].specifier.contains(version)


def test_numba_of_which_the_insides_are_used_is_not_newer_than_what_was_tried():
    assert not DECLARED["numba"].specifier.contains("0.99.0")
