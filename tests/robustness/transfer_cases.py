"""What `identify` and `transfer` read, for a fuzzer: recorded trials as CSV, and parameters that were fitted to trials.
A ValueError means that it was refused; all else that is raised is a bug."""

import io
import math
import random
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from mutations import NUMBERS
from rich.console import Console

from magic_pomdp import make
from magic_pomdp.cli.shared import task_from
from magic_pomdp.cli.transferring import read_identified
from magic_pomdp.results.files import read_as, write
from magic_pomdp.results.identification import Identification
from magic_pomdp.show.tables import identification_table
from magic_pomdp.transfer.identifying import fit_trials, shipped_identification
from magic_pomdp.transfer.registry import find_other_world, other_worlds
from magic_pomdp.transfer.trials import TRIAL, read_trials, write_trials

_CELLS = (*NUMBERS, "", " ", '"', "2", "1e99", "-1e99", "1e308", "0x10", "1_0", "١")
"""What somebody would write into a cell."""

make_task = cache(make)


def valid_identifications() -> list[bytes]:
    """What ships as fitted to the other worlds."""
    return [msgspec.json.encode(shipped_identification(task)) for task in other_worlds()]


def try_identification(content: bytes, folder: Path) -> None:
    """Read what was fitted, write it and read it again, show it, and make the task that `transfer` plans with."""
    path, again = folder / "identified.json", folder / "again.json"
    path.write_bytes(content)
    found = read_as(path, Identification)
    write(again, found)
    assert read_as(again, Identification) == found
    Console(width=200, file=io.StringIO()).print(identification_table(found))
    asked = "puck-push" if b"puck" in content else "crowd-driving"
    task = task_from(asked, read_identified(asked, str(path))[1])
    assert all(getattr(task, name) == value for name, value in found.values().items())


# A file of trials does not tell which task it is for: as content, the task's name comes before it.


def valid_trials() -> list[bytes]:
    """Few trials, each as its task's model has it, after the name of the task."""
    return [f"{task}\n{rows}".encode() for task, rows in (("puck-push", _pushes()), ("crowd-driving", _drives()))]


def try_trials(content: bytes, folder: Path) -> None:
    """Read trials, write them and read them again; fit the task's parameters, and write and read those."""
    name, _, table = content.partition(b"\n")
    world, task = find_other_world(name.decode()), make_task(name.decode())
    path, again, fitted = folder / "trials.csv", folder / "again.csv", folder / "fitted.json"
    path.write_bytes(table)
    trials = read_trials(path, world.columns)
    write_trials(again, trials)
    np.testing.assert_allclose(read_trials(again, world.columns).rows, trials.rows, rtol=1e-8)
    found = fit_trials(world, task, trials)
    try:
        write(fitted, found)
    except ValueError as error:
        raise AssertionError(f"What was fitted cannot be written: {error}") from error
    assert read_as(fitted, Identification) == found


def damaged_trials(content: bytes, chance: random.Random) -> bytes:
    """Trials in which a cell, a row or a column is missing, doubled, or something else."""
    name, _, table = content.partition(b"\n")
    rows = [line.split(",") for line in table.decode().splitlines()]
    for _ in range(chance.choice((1, 1, 2, 5))):
        row = chance.choice(rows)
        place = chance.randrange(len(row)) if row else 0
        match chance.randrange(6):
            case 0:
                rows.remove(row)
            case 1:
                rows.insert(chance.randrange(len(rows) + 1), list(row))
            case 2:
                del row[place : place + 1]
            case 3:
                for other in rows[1:]:
                    other[place : place + 1] = [chance.choice(_CELLS) if chance.random() < 0.5 else "0"]
            case _:
                row[place : place + 1] = [chance.choice(_CELLS)]
        rows = rows or [[TRIAL]]
    return name + b"\n" + "\n".join(",".join(row) for row in rows).encode() + b"\n"


def in_trials(damage):
    """Damage to what follows the task's name."""

    def damaged(content: bytes, chance: random.Random) -> bytes:
        name, _, table = content.partition(b"\n")
        return name + b"\n" + damage(table, chance)

    return damaged


def _pushes() -> str:
    """Pushes of a puck that slides round the robot, six frames a step."""
    rows = []
    for trial in range(4):
        angle = 0.1 + 0.02 * trial
        for frame in range(6):
            driven = (18.0 + trial) * frame
            grown = angle * math.exp(0.012 * driven)
            puck = driven + 54.0 * math.cos(grown), 54.0 * math.sin(grown)
            rows.append((trial, 0.4 * frame, 1.0, 0.0, driven, 0.1 * trial, *puck))
    return _table("puck-push", rows)


def _drives() -> str:
    """Drives that turn a little, and speed up."""
    rows = []
    for trial in range(2):
        for step in range(8):
            speed, wheels = min(4.0, 0.6 * step), 0.1 * (step % 3)
            rows.append((trial, 2.0 + step % 3, 0.1 * ((step + 1) % 3), 0.1 * step, 0.0, 0.01 * step, speed, wheels))
    return _table("crowd-driving", rows)


def _table(task: str, rows: list) -> str:
    lines = [",".join(find_other_world(task).columns), *(",".join(f"{value:g}" for value in row) for row in rows)]
    return "\n".join(lines) + "\n"
