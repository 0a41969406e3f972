"""What `reproduce` reads in its folder, for a fuzzer: the episodes of an unfinished evaluation, and what is finished.
A ValueError means that something was refused, so that it is made again; all else that is raised is a bug. Nothing may
count as a result that is none of what is asked for."""

import math
import random
import tempfile
from functools import cache
from pathlib import Path

import msgspec
from mutations import damaged_json
from results_cases import accepted, valid_recordings
from small_results import a_record
from training_cases import TINY, valid_training

from magic_pomdp import Budget
from magic_pomdp.learning.curves import read_curves
from magic_pomdp.reproducing.costs import time_words
from magic_pomdp.reproducing.doing import BEST, SITUATIONS, Workshop
from magic_pomdp.reproducing.episodes import EpisodeFile
from magic_pomdp.reproducing.measures import RETURN
from magic_pomdp.reproducing.plan import Figure, Grid, LearningCurve, Line, Row, Scenes, Table, Training, all_work
from magic_pomdp.results.evaluation import Evaluation, Question, add_up
from magic_pomdp.results.files import read_as, write
from magic_pomdp.results.recording import PlannerInfo, TaskInfo, load_recording, save_recording
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import describe
from magic_pomdp.show.reproduction import write_reproduction

EPISODES = 4


def _episode(number: int) -> EpisodeRecord:
    result = a_record(number, total_return=10.0 * number, belief_error_least=0.125, statistics={"distance": 1.5})
    return EpisodeRecord(result, (0.25, 0.5), (100, 200), (3, 4), (5, 6), 1, ("distance",))


_RECORDS = tuple(_episode(number) for number in range(EPISODES))
_ASKED = Question(task="tiger", planner="despot", budget=Budget(steps=9), seed=3000, settings={"xi": 0.5})


# ------------------------------------------------------------------------------------------------- unfinished episodes


def _file(folder: Path) -> EpisodeFile:
    return EpisodeFile(folder / "some.episodes", _ASKED, EPISODES)


@cache
def _lines() -> dict[bytes, EpisodeRecord]:
    """Each line as it is written."""
    return {_file(Path()).line(record).rstrip(b"\n"): record for record in _RECORDS}


def valid_episodes() -> list[bytes]:
    """A file with all episodes, and the same in another order."""
    lines = list(_lines())
    return [b"\n".join(lines) + b"\n", b"\n".join(lines[::-1])]


def try_episodes(content: bytes, folder: Path) -> None:
    """Read episodes: exactly those whose lines are whole. They add up to a result, and are found again."""
    file = _file(folder)
    file.path.write_bytes(content)
    found = file.read()
    numbers = [record.result.episode for record in found]
    assert numbers == sorted(set(numbers) & set(range(EPISODES)))
    written = [line for line in content.split(b"\n") if _is_sealed(line)]
    if set(written) <= _lines().keys():
        whole = {_lines()[line].result.episode: _lines()[line] for line in written}
        assert found == [whole[number] for number in sorted(whole)]
    with accepted():
        evaluation = add_up(_ASKED, found, len(found) == EPISODES)
        write(folder / "result.json", evaluation)
        assert read_as(folder / "result.json", Evaluation) == evaluation
        assert evaluation.follows_from_records
        with file.begin(found):
            assert file.read() == found
    if len(found) < EPISODES:
        raise ValueError(f"{EPISODES - len(found)} episodes are run again.")


def damaged_order(content: bytes, chance: random.Random) -> bytes:
    """Lines that are missing, doubled, joined, or of another question."""
    lines = content.splitlines(keepends=True)
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place] = lines[place].rstrip(b"\n")
        case 3:
            lines[place] = lines[place][: chance.randrange(len(lines[place]))] + lines[other]
        case _:
            elsewhere = EpisodeFile(Path(), msgspec.structs.replace(_ASKED, seed=3001), EPISODES)
            lines[place] = elsewhere.line(_RECORDS[other])
    return b"".join(lines)


def sealed_damage(content: bytes, chance: random.Random) -> bytes:
    """An episode that tells something else, under a seal that is right."""
    lines = content.splitlines()
    place = chance.randrange(len(lines))
    changed = damaged_json(lines[place].partition(b" ")[2], chance)
    lines[place] = _file(Path()).seal(changed) + b" " + changed
    return b"\n".join(lines)


def _is_sealed(line: bytes) -> bool:
    seal, _, content = line.partition(b" ")
    return seal == _file(Path()).seal(content)


# ----------------------------------------------------------------------------------------------------- finished tables

_TRAINING = Training("tiny", "light-dark", TINY)
_SET = Row("light-dark", "macro-despot", EPISODES, 3000, budget=Budget(steps=20))
_LEARNED = Row(
    "light-dark", "magic", EPISODES, 3000, {"scenarios": 5, "search_depth": 4}, budget=Budget(steps=20),
    training=_TRAINING,
)  # fmt: skip
_GRID = Grid("", ("planner", "return"), tuple(Line(row.name, (Figure(row, RETURN),)) for row in (_SET, _LEARNED)))
_SHOWN = Table("shown", "Shown", (_GRID,))
_TABLE = Table("all", "All", (_GRID,), (LearningCurve("light-dark", _TRAINING, (_SET,)),), (Scenes("some", _SET),))


@cache
def _tables() -> dict[str, bytes]:
    """The files in a folder where all is done."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shop, training = Workshop(folder, 0), folder / "trainings" / _TRAINING.name
        for place in (folder / "rows", folder / "scenes", training):
            place.mkdir(parents=True)
        for file, content in valid_training().items():
            (training / file).write_bytes(content)
        write(training / "curve.json", read_curves([training]))
        for row in (_SET, _LEARNED):
            write(folder / "rows" / f"{row.name}.json", add_up(_question(shop, row), _RECORDS, True))
        _record(shop, folder / "scenes" / f"scenes_{_SET.name}.record.gz")
        times = shop.times()
        for piece in all_work((_TABLE,)):
            times.add(piece, 3.0)
        assert shop.look([_TABLE]).todo == []
        read = ("*.json", "rows/*", "scenes/*", "trainings/*/*.json", f"trainings/*/{BEST}")
        return {str(path.relative_to(folder)): path.read_bytes() for one in read for path in folder.glob(one)}


def _question(shop: Workshop, row: Row) -> Question:
    task, factory, world = shop.question(row)
    return describe(task, factory, row.seed, make_world=world)


def _record(shop: Workshop, path: Path) -> None:
    asked = _question(shop, _SET)
    path.write_bytes(valid_recordings()["recording without a look"])
    found = load_recording(path)
    task = TaskInfo(name=asked.task, discount=0.98, parameters=asked.task_parameters)
    planner = PlannerInfo(name=asked.planner, label=asked.label, budget=asked.budget, settings=asked.settings)
    first = found.episodes[0]
    episodes = tuple(msgspec.structs.replace(first, episode=number) for number in range(SITUATIONS))
    about = {"task": task, "planner": planner, "seed": asked.seed, "episodes": episodes}
    save_recording(path, msgspec.structs.replace(found, **about))


def valid_tables() -> list[bytes]:
    """Each file of a folder behind its name; the others are as they should be."""
    return [name.encode() + b"\n" + content for name, content in _tables().items()]


def try_tables(content: bytes, folder: Path) -> None:
    """Look at what is done in a folder, and show it. What counts as done is what is asked for."""
    damaged, _, file = content.partition(b"\n")
    for name, whole in _tables().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file if name.encode() == damaged else whole)
    shop = Workshop(folder, 0)
    found, times = shop.look([_TABLE]), shop.times()
    for row in (_SET, _LEARNED):
        if row.name in found.evaluations:
            one = found.evaluations[row.name]
            assert (one.task, one.planner, one.seed, one.budget) == (row.task, row.planner, row.seed, row.budget)
            assert one.complete
            assert [record.episode for record in one.records] == list(range(EPISODES))
            total = sum(record.total_return for record in one.records)
            assert math.isclose(one.return_mean, total / EPISODES, rel_tol=1e-5, abs_tol=1e-5)
    assert all([one.episode for one in seen.episodes] == list(range(SITUATIONS)) for seen in found.recordings.values())
    with accepted():
        assert times.left(all_work((_TABLE,))) >= 0.0
        time_words(times.left(all_work((_TABLE,))))
        if damaged.startswith(b"rows/"):
            write_reproduction(folder, [_SHOWN], found, "toy")
    if found.todo or times.measured == 0:
        raise ValueError("Something is made again.")
