"""Robots on disk for a fuzzer: a valid one, ways to change it without breaking its fingerprint, and what is tried with
each. A ValueError means that it was refused; all else that is raised is a bug."""

import random
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from mutations import damaged_json
from training_cases import parts, signed

from magic_pomdp import Belief, Budget, ImpossibleObservation, MacroDespot, make
from magic_pomdp.running import Robot

_CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
_DARK, _IMPOSSIBLE = np.zeros(3), np.array([1.0, 50.0, 50.0])
_NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e9, 2.0**63, 1e19, 1e99, 1.7e308)
"""What somebody would put into an array."""


@cache
def _planner() -> MacroDespot:
    return MacroDespot(make("light-dark"), budget=Budget(steps=200))


@cache
def valid_robots() -> list[bytes]:
    """A robot in the midst of a macro-action, with a past of all kinds, and one at its beginning."""
    with tempfile.TemporaryDirectory() as folder:
        path, found = Path(folder) / "robot.safetensors", []
        belief = Belief.initial(_planner().task, _CONTEXT, 10, seed=2)
        with Robot(_planner(), belief, seed=5, plans_ahead=True) as robot:
            robot.save(path)
            found.append(path.read_bytes())
            for observation in (_DARK, _IMPOSSIBLE, None):
                robot.next_action()
                robot.observe(observation)
            robot.change_context(_CONTEXT[::-1])
            robot.next_action()
            robot.save(path)
        return [*found, path.read_bytes()]


def try_robot(content: bytes, folder: Path) -> None:
    """Restore a robot, write it and restore it again: it must be the same. Then it goes on for a step."""
    path, again = folder / "robot.safetensors", folder / "again.safetensors"
    path.write_bytes(content)
    with Robot.restore(path, _planner()) as robot:
        robot.save(again)
    with Robot.restore(again, _planner()) as robot:
        robot.save(path)
        assert path.read_bytes() == again.read_bytes()
        read, stored = parts(content)[0], parts(again.read_bytes())[0]
        for name in ("belief.particles", "belief.actions", "rest", "awaited_actions", "awaited_times"):
            np.testing.assert_array_equal(stored[name], read[name])
        robot.budget = Budget(steps=200)
        assert np.isfinite(robot.next_action()).all()
        try:
            robot.observe(_DARK)
        except ImpossibleObservation as error:  # the belief was told to raise it
            raise ValueError(str(error)) from None
        assert np.isfinite(robot.belief.particles).all()


def damaged_robot(content: bytes, chance: random.Random) -> bytes:
    """A robot that tells something else, or has other numbers, with a fingerprint that is right."""
    arrays, about = parts(content)
    if chance.random() < 0.5:
        return signed(arrays, damaged_json(about.encode(), chance).decode())
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    match chance.randrange(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array[: chance.randrange(len(array) + 1)]
        case 2:
            arrays[name] = np.concatenate([array, array])
        case 3:
            arrays[name] = array.astype(chance.choice(("f4", "f8", "i8", "u1", "?")))
        case _ if array.size > 0:
            with np.errstate(invalid="ignore"):
                array.reshape(-1)[chance.randrange(array.size)] = np.array(chance.choice(_NUMBERS)).astype(array.dtype)
        case _:
            arrays[name] = array.T
    return signed(arrays, about)
