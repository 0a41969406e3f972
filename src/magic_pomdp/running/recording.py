"""Episodes as they were lived: what was true, believed, considered and done, in one file. docs/recordings.md has its
format."""

import base64
import dataclasses
import gzip
import json
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from magic_pomdp import __version__
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import seek, stream_key
from magic_pomdp.core.scene import Scene, shapes_to_json
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.plan import Plan, Planner
from magic_pomdp.planners.tree_top import top_of_tree
from magic_pomdp.running.episode import NOT_PLANNED, EpisodeRecord, Moment, run_episode
from magic_pomdp.running.evaluate import Evaluation, check_numbers, describe, warm_up
from magic_pomdp.running.saving import save_bytes
from magic_pomdp.running.workers import JobFailed, available_cores, run_jobs

FORMAT = "magic-pomdp recording"
VERSION = 1
PARTICLES = 500
"""Particles of each belief that are kept, unless told otherwise."""
TRACED = 30
"""Particles whose ways are averaged to the way that a macro-action is drawn."""
SPREAD_SAMPLE = 10
"""Particles whose distances from the others make up a belief's spread."""

Recording = dict[str, Any]
"""A file's content; arrays are numpy arrays."""


class Recorder:
    """Watches one episode: give `watch` to `run_episode`, then ask for what it has seen."""

    def __init__(self, task: Task, planner: Planner, particles: int = PARTICLES) -> None:
        self.task, self.planner, self.particle_count = task, planner, _check_particles(particles)
        self._scene: Scene | None = None
        self._plan: Plan | None = None
        self._next_plan: Plan | None = None
        self._next_tree: dict[str, list] | None = None
        self._plans: list[dict[str, Any]] = []
        self._frames: list[dict[str, Any]] = []

    def watch(self, moment: Moment) -> None:
        """Take down a moment."""
        if not self._frames:
            self.look_at(moment.context)
        if moment.plan is not self._plan:
            self._plan = moment.plan
            self._plans.append(self.describe_plan(moment))
            if moment.next_plan is not None:  # by the time it is carried out, the planner will have made another
                self._next_plan, self._next_tree = moment.next_plan, self._describe_tree(moment.next_plan)
        self._frames.append(self.describe_moment(moment))

    def look_at(self, context: np.ndarray) -> Scene | None:
        """Take down what the task looks like in a context."""
        self._context, self._scene = context.copy(), self.task.scene(context)
        return self._scene

    def describe_moment(self, moment: Moment) -> dict[str, Any]:
        """A frame: the truth, the belief thinned, what moves, and what led here."""
        particles = moment.belief.particles
        kept = particles[np.linspace(0, len(particles) - 1, min(self.particle_count, len(particles))).astype(int)]
        picked = particles[:: max(1, len(particles) // SPREAD_SAMPLE)][:SPREAD_SAMPLE]
        sprites = self.task.sprites(moment.context, moment.state, particles) if self._scene else ()
        return {
            "state": moment.state.copy(),
            "particles": kept.astype(np.float32),
            "sprites": shapes_to_json(sprites),
            "plan": len(self._plans) - 1,
            "reward": moment.reward,
            "action": moment.action,
            "observation": moment.observation,
            "belief_error": moment.belief.error(moment.state),
            "belief_spread": float(np.mean([moment.belief.error(state.copy()) for state in picked])),
        }

    def describe_plan(self, moment: Moment) -> dict[str, Any]:
        """The moment's plan, which is about to be carried out."""
        plan = moment.plan
        simple = ("choice", "value", "lower", "upper", "trials", "nodes", "depth", "steps", "seconds", "stopped_by")
        described = {"time": len(self._frames), **{name: getattr(plan, name) for name in simple}}
        described["values"], described["uppers"] = plan.values, plan.uppers
        chosen = _considered(plan)
        described["macro_actions"], described["lengths"] = chosen.actions.astype(np.float32), chosen.lengths
        if plan.macro_actions is None:
            described["choice"] = 0
        robot = self._scene.robot if self._scene else None
        if robot is not None:
            described["paths"] = trace(self.task, moment.context, moment.belief.particles, chosen, robot)
        tree = self._next_tree if plan is self._next_plan else None
        if moment.next_plan is None and tree is None:
            tree = self._describe_tree(plan)
        if tree is not None:
            described["tree"] = tree
        return described

    def _describe_tree(self, plan: Plan) -> dict[str, list] | None:
        """The top of the planner's tree, if it keeps one; the plan must be the last that it has made."""
        last_tree = getattr(self.planner, "last_tree", None)
        if last_tree is None or plan.choice == NOT_PLANNED:
            return None
        items = top_of_tree(last_tree(), _considered(plan))
        return {name: [_short(item[i]) for item in items] for i, name in enumerate(items[0]._fields)}

    def result(self, record: EpisodeRecord) -> dict[str, Any]:
        """The episode, with its record, as a recording keeps it."""
        frames, later = self._frames, self._frames[1:]

        def column(name: str, rows: list[dict[str, Any]], size: int) -> np.ndarray:
            return np.array([row[name] for row in rows], dtype=np.float64).reshape(len(rows), size)

        return {
            **record.to_json(),
            "context": self._context,
            "scene": self._scene.to_json() if self._scene else None,
            "states": column("state", frames, self.task.state_size),
            "particles": np.array([frame["particles"] for frame in frames]),
            "sprites": [frame["sprites"] for frame in frames],
            "plan_of_frame": [frame["plan"] for frame in frames],
            "rewards": [frame["reward"] for frame in later],
            "actions": column("action", later, self.task.action_size),
            "observations": column("observation", later, self.task.observation_size),
            "belief_errors": [_short(frame["belief_error"]) for frame in frames],
            "belief_spreads": [_short(frame["belief_spread"]) for frame in frames],
            "plans": self._plans,
        }


def _considered(plan: Plan) -> MacroActions:
    """The set that a plan has chosen from: at least what it has chosen."""
    return plan.macro_actions or MacroActions(plan.macro_action[None], np.array([len(plan.macro_action)]))


def _check_particles(count: int) -> int:
    if count < 1:
        raise ValueError(f"A recording needs at least one particle of each belief, not {count}.")
    return count


def trace(
    task: Task, context: np.ndarray, particles: np.ndarray, macro_actions: MacroActions, robot: tuple[int, int]
) -> np.ndarray:
    """Where each macro-action would lead the robot: the mean way of some particles; shape (count, longest + 1, 2)."""
    states = particles[:: max(1, len(particles) // TRACED)][:TRACED].copy()
    count, longest, _ = macro_actions.actions.shape
    paths = np.zeros((count, longest + 1, 2))
    _trace(
        task, context, states, macro_actions.actions, macro_actions.lengths, *robot, stream_key(0),
        np.empty_like(states), np.empty(1, np.uint64), np.empty(task.observation_size), paths,
    )  # fmt: skip
    return paths.astype(np.float32)


@kernel
def _trace(task, context, states, actions, lengths, x, y, key, moved, random, observation, paths):
    context, states, actions, lengths = borrow(context), borrow(states), borrow(actions), borrow(lengths)
    moved, random, observation, paths = borrow(moved), borrow(random), borrow(observation), borrow(paths)
    for macro in range(len(lengths)):
        for row in range(len(states)):
            for i in range(len(states[row])):
                moved[row, i] = states[row, i]
        for time in range(len(actions[macro]) + 1):
            for row in range(len(states)):
                paths[macro, time, 0] += moved[row, x] / len(states)
                paths[macro, time, 1] += moved[row, y] / len(states)
                if time < lengths[macro]:
                    seek(random, key, time * len(states) + row)
                    task.step(context, moved[row], actions[macro, time], random, observation)


# ------------------------------------------------------------------------------------------------------- many episodes


class RecordingFailed(JobFailed):
    """An episode failed; holds those that were finished."""

    def __init__(self, sentence: str, recording: Recording) -> None:
        super().__init__(sentence)
        self.recording = recording


class RecordingInterrupted(KeyboardInterrupt):
    """Ctrl-C while episodes were recorded; holds those that were finished."""

    def __init__(self, recording: Recording) -> None:
        super().__init__("The recording was interrupted.")
        self.recording = recording


def record_episodes(
    task: Task,
    make_planner: Callable[[Task], Planner],
    episodes: int = 10,
    seed: int = 0,
    particles: int = PARTICLES,
    workers: int | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
) -> Recording:
    """Run episodes 0 … episodes − 1 and take everything down; see `evaluate` for the arguments that it has, too."""
    check_numbers(episodes, seed)
    job = _RecordingJob(task, make_planner, seed, particles)
    _check_particles(particles)
    about = describe(task, make_planner, seed)  # what is wrong is found here, before a worker starts
    found: dict[int, dict[str, Any]] = {}
    workers = available_cores() if workers is None else workers
    try:
        with closing(run_jobs(job, range(episodes), workers, "Episode")) as results:
            for number, (record, recorded) in results:
                found[number] = recorded
                if on_progress is not None:
                    on_progress(record)
    except KeyboardInterrupt:
        raise RecordingInterrupted(_recording(task, about, found)) from None
    except JobFailed as failure:
        raise RecordingFailed(str(failure), _recording(task, about, found)) from failure.__cause__
    return _recording(task, about, found)


@dataclass(frozen=True)
class _RecordingJob:
    """What is sent to a worker; called there, it gives the function that records an episode by its number."""

    task: Task
    make_planner: Callable[[Task], Planner]
    seed: int
    particles: int

    def __call__(self) -> Callable[[int], tuple[EpisodeRecord, dict[str, Any]]]:
        planner = self.make_planner(self.task)
        warm_up(self.task, planner)

        def record_one(episode: int) -> tuple[EpisodeRecord, dict[str, Any]]:
            recorder = Recorder(self.task, planner, self.particles)
            record = run_episode(self.task, planner, self.seed, episode, recorder.watch)
            return record, recorder.result(record)

        return record_one


def _recording(task: Task, about: Evaluation, found: dict[int, dict[str, Any]]) -> Recording:
    budget = dataclasses.asdict(about.budget) if about.budget else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "software": __version__,
        "task": {"name": about.task, "discount": task.discount, "parameters": about.task_parameters},
        "planner": {
            "name": about.planner,
            "macro_length": about.macro_length,
            "budget": budget,
            "settings": about.settings,
        },
        "seed": about.seed,
        "episodes": [found[number] for number in sorted(found)],
    }


# -------------------------------------------------------------------------------------------------------------- files


def save_recording(path: Path, recording: Recording) -> None:
    """Write a recording in one step."""
    save_bytes(path, pack(recording))


def load_recording(path: Path) -> Recording:
    """Read a recording, or a ValueError that says why it is none."""
    try:
        content = json.loads(gzip.decompress(path.read_bytes()), object_hook=_decode)
    except FileNotFoundError:
        raise ValueError(f"There is no file {path}.") from None
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise ValueError(f"{path} is not a recording, or is damaged.") from None
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None
    except (EOFError, zlib.error, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        raise ValueError(f"{path} is not a recording, or is damaged.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a recording: `magic-pomdp record` makes one.")
    if not isinstance(content.get("version"), int) or content["version"] > VERSION:
        raise ValueError(
            f"{path} is a recording of version {content.get('version')}, newer than this program knows ({VERSION}): "
            "update magic-pomdp."
        )
    if not _is_whole(content):
        raise ValueError(f"{path} is a recording, but parts of it are missing.")
    return content


def pack(content: Any) -> bytes:
    """Plain data with arrays as bytes: gzip of JSON, in which an array is {"dtype", "shape", "data": base64}."""
    return gzip.compress(to_text(content).encode(), compresslevel=6, mtime=0)


def to_text(content: Any) -> str:
    """The JSON of plain data with arrays."""
    return json.dumps(content, default=_encode, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        little = value.astype(value.dtype.newbyteorder("<"))
        data = base64.b64encode(little.tobytes()).decode()
        return {"dtype": little.dtype.str, "shape": list(value.shape), "data": data}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a recording.")


DTYPES = ("<f8", "<f4", "<i8", "<u2")


def _decode(value: dict[str, Any]) -> Any:
    if value.keys() != {"dtype", "shape", "data"}:
        return value
    if value["dtype"] not in DTYPES:
        raise ValueError("an array of an unknown kind")
    flat = np.frombuffer(base64.b64decode(value["data"], validate=True), dtype=value["dtype"])
    return flat.reshape([int(length) for length in value["shape"]])


OF_EPISODE = {"episode", "outcome", "return", "steps", "context", "scene"}
"""What every episode has, besides what is checked for its length."""
OF_PLAN = {
    *("time", "macro_actions", "lengths", "choice", "values", "uppers", "value", "lower", "upper"),
    *("trials", "nodes", "depth", "steps", "seconds", "stopped_by"),
}
"""What every plan has."""


def _is_whole(content: dict[str, Any]) -> bool:
    """Whether all is there, and of the right lengths, that a reader relies on."""
    try:
        for episode in content["episodes"]:
            frames = len(episode["states"])
            per_frame = ("particles", "sprites", "plan_of_frame", "belief_errors", "belief_spreads")
            right = episode.keys() >= OF_EPISODE and all(plan.keys() >= OF_PLAN for plan in episode["plans"])
            right = right and all(len(episode[name]) == frames for name in per_frame)
            right = right and all(len(episode[name]) == frames - 1 for name in ("rewards", "actions", "observations"))
            right = right and all(0 <= number < len(episode["plans"]) for number in episode["plan_of_frame"])
            right = right and all(0 <= plan["choice"] < len(plan["macro_actions"]) for plan in episode["plans"])
            if not right or episode["particles"].ndim != 3:
                return False
        names = content["task"]["name"] and content["planner"]["name"]
        return bool(names and content["episodes"] and "seed" in content)
    except (KeyError, TypeError, AttributeError, ValueError):
        return False


def _short(number: Any) -> Any:
    """A float with six digits."""
    return float(f"{number:.6g}") if isinstance(number, float) else number
