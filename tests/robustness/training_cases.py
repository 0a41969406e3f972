"""Models and training folders for a fuzzer: valid ones, ways to change what they tell without breaking their
fingerprint, and what is tried with each. A ValueError means that it was refused; all else that is raised is a bug."""

import tempfile
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import load

import magic_pomdp as mp
from magic_pomdp import Belief, Budget
from magic_pomdp.learning import TrainSettings
from magic_pomdp.learning.curves import read_curves
from magic_pomdp.learning.learner import Diverged
from magic_pomdp.learning.state import BEST, TrainingState
from magic_pomdp.learning.watching import MetricsFile
from magic_pomdp.magic import MagicPlanner, MagicSettings, load_model
from magic_pomdp.magic.arrays import signed
from magic_pomdp.magic.model import ModelCard, Score, read_model, save_model
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.results.metrics import EvaluationReport, Measured, Progress, read_metrics

torch.set_num_threads(1)  # of many small cases

__all__ = ["TINY", "parts", "signed", "try_model", "try_training", "valid_model", "valid_training"]

TINY = TrainSettings(
    minutes=None, updates=4, workers=0, plan_steps=1, warmup=6, batch=4, replay=20, particles=3, encoder_width=4,
    generator_width=4, critic_width=4, macro_length=2,
)  # fmt: skip
_SCORE = Score(return_mean=50.0, return_stderr=1.0, success_rate=0.5, episodes=10, plan_steps=1)
_CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])


@cache
def _task():
    return mp.make("light-dark")


@cache
def _belief():
    return Belief.initial(_task(), _CONTEXT, 20)


def parts(content: bytes) -> tuple[dict[str, np.ndarray], str]:
    """The arrays of a model or a checkpoint, and what it tells of them as JSON: what `signed` puts together."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        Path(file.name).write_bytes(content)
        with safe_open(file.name, framework="numpy") as opened:
            return load(content), opened.metadata()["magic-pomdp"]


@cache
def valid_model() -> bytes:
    """A tiny model for Light-Dark, of random weights."""
    space = _task().macro_space(2)
    sizes = {"particles": 3, "encoder": 4, "trunk": (4, 4)}
    shape, random = GeneratorShape.for_task(_task(), space, **sizes), np.random.default_rng(0)
    arrays = {name: random.uniform(0.5, 1.0, size) for name, size in shape.layout().items()}
    card = ModelCard(
        task="light-dark", task_parameters={"a": [1.0, "b"]}, space=space.describe(), settings=TINY.values(),
        command="magic-pomdp train light-dark", seed=3, minutes=1.0, updates=2, plans=1, score=_SCORE,
        chosen_by=_SCORE,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder) / BEST, shape, arrays, card)
        return (Path(folder) / BEST).read_bytes()


def try_model(content: bytes, folder: Path) -> None:
    """Load a model, plan with it, and write it again: what was accepted must come back as it was."""
    path = folder / "model.safetensors"
    path.write_bytes(content)
    model = load_model(path)
    arrays, about = read_model(path)
    path.write_bytes(signed(arrays, msgspec.json.encode(about).decode()))
    again = load_model(path)
    assert (again.shape, again.card) == (model.shape, model.card)
    np.testing.assert_array_equal(again.weights, model.weights)
    planner = MagicPlanner(_task(), MagicSettings(model=str(path), scenarios=5, search_depth=4), Budget(steps=20))
    assert np.isfinite(planner.plan(_belief(), _CONTEXT).macro_action).all()


def _learned_a_little(folder: Path) -> None:
    """A training folder as `train` fills it, of random experience instead of episodes."""
    random = np.random.default_rng(0)
    state, watch = TrainingState(_task(), TINY, folder), MetricsFile(folder)
    state.open(resume=False, say=watch.say)
    replay = state.replay
    for array in replay.arrays.values():
        array[:9] = random.uniform(-1.0, 1.0, array[:9].shape)
    replay.arrays["floor"][:] = -np.inf
    replay.added = state.episodes = 9
    state.learner.fit_scales(replay.all())
    state.warmed_up = True
    measured: list[Measured] = [state.learner.update(replay) for _ in range(2)]
    watch.progress(
        Progress(
            minutes=0.5,
            minutes_left=None,
            updates=2,
            plans=9,
            replay=9,
            episodes=9,
            warming_up=False,
            recent_return=1.5,
            evaluation=None,
            updates_per_second=1.0,
            plans_per_second=2.0,
            measured=measured[0],
        )
    )
    for updates, mean, final in ((1, 40.0, False), (2, 50.0, False), (2, 45.0, True)):
        report = EvaluationReport(
            minutes=0.1 * updates,
            updates=updates,
            return_mean=mean,
            return_stderr=1.0,
            success_rate=0.5,
            episodes=10,
            plan_steps=1,
            best=not final,
            final=final,
        )
        state.keep(report, state.learner.generator_arrays())
        watch.evaluated(report, state.curve)
    state.save()


@cache
def _training() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        _learned_a_little(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def valid_training() -> dict[str, bytes]:
    """The files of a tiny training folder by name: settings.json, metrics.jsonl, best.safetensors and a checkpoint."""
    return dict(_training())


@cache
def _state() -> TrainingState:
    """One for all cases, since networks take longer to make than files to read."""
    return TrainingState(_task(), TINY, Path(), "light-dark")


def try_training(files: dict[str, bytes], folder: Path) -> None:
    """Read the curves of a training, and take it up where it was, up to the next update. What was accepted must be
    there as it was written."""
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    refused: ValueError | None = None
    try:
        read_curves([folder])
        for line in read_metrics(folder):
            assert msgspec.json.decode(msgspec.json.encode(line), type=type(line)) == line
    except ValueError as error:
        refused = error
    said: list[str] = []
    state = _state()
    state.folder, state.history, state.best, state.warmed_up = folder, [], None, False
    state.learner.updates = state.replay.added = 0
    state.open(resume=True, say=said.append)
    assert all(sentence.isprintable() for sentence in said)
    if state.best is not None:
        state.shape.pack(state.best_arrays)
    if state.learner.updates > 0:
        written = load(max(content for name, content in files.items() if name.startswith("checkpoint-")))
        for name, array in (state.learner.state() | state.replay.state()).items():
            np.testing.assert_array_equal(array, written[name])
        try:
            state.learner.update(state.replay)
        except Diverged as error:  # of weights that are far too large
            raise ValueError(str(error)) from None
    if refused is not None:
        raise refused
