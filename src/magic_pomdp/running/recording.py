"""Recorders: they watch episodes and take everything down."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import msgspec
import numpy as np

from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import seek, stream_key
from magic_pomdp.core.reading import MOST_BYTES, MOST_VALUES, count_values
from magic_pomdp.core.scene import Scene, Shape, plain_scene, plain_shapes, six_digits
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.plan import Plan, Planner
from magic_pomdp.planners.tree_top import top_of_tree
from magic_pomdp.results.evaluation import Question
from magic_pomdp.results.recording import (
    PlannerInfo,
    RecordedEpisode,
    RecordedPlan,
    Recording,
    TaskInfo,
    TreeTop,
    file_content,
)
from magic_pomdp.running.episode import NOT_PLANNED, EpisodeRecord, Moment, run_episode
from magic_pomdp.running.evaluating import MakePlanner, MakeWorld, check_numbers, describe, planner_maker, warm_up
from magic_pomdp.running.where import cores_at_hand
from magic_pomdp.running.workers import JobFailed, run_jobs
from magic_pomdp.running.world import SimulatedWorld

_PARTICLES = 500
"""Particles of each belief that are kept, unless told otherwise."""
_TRACED = 30
"""Particles whose ways are averaged to the way that a macro-action is drawn."""
_SPREAD_SAMPLE = 10
"""Particles whose distances from the others make up a belief's spread."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A moment, as it is recorded."""

    state: np.ndarray | None
    """The truth; None in a world that does not tell."""
    particles: np.ndarray
    """The belief, thinned; one particle a row."""
    sprites: tuple[Shape, ...]
    """What moves; nothing, if the truth is not known."""
    plan: int
    """Which of the episode's plans is being carried out; −1 before the first."""
    reward: float
    """Earned by the step that led here; 0 at the beginning."""
    action: np.ndarray | None
    """What was done in that step; None at the beginning."""
    observation: np.ndarray | None
    """What was observed in it; None at the beginning."""
    belief_error: float | None
    """Mean distance of particles to the true state, if that is known."""
    belief_spread: float
    """Mean distance of particles from each other."""
    picture: bytes | None = None
    """What the world's camera saw, as a JPEG; None in a world without one."""


class Recorder:
    """Watches one episode: give `watch` to `run_episode`, then ask for what it has seen."""

    def __init__(self, task: Task, planner: Planner, particles: int = _PARTICLES) -> None:
        self.task, self.planner, self.particle_count = task, planner, _check_particles(particles)
        self._context = np.zeros(task.context_size)
        self._scene: Scene | None = None
        self._plan: Plan | None = None
        self._next_plan: Plan | None = None
        self._next_tree: TreeTop | None = None
        self._plans: list[RecordedPlan] = []
        self._frames: list[Frame] = []

    def watch(self, moment: Moment) -> None:
        """Take down a moment."""
        if not self._frames:
            self.look_at(moment.context)
        if moment.plan is not self._plan:
            self._plan = moment.plan
            self._plans.append(self.describe_plan(moment, len(self._frames)))
        self._frames.append(self.describe_moment(moment))

    def look_at(self, context: np.ndarray) -> Scene | None:
        """Take down what the task looks like in a context."""
        scene = self.task.scene(context)
        self._context, self._scene = context.copy(), None if scene is None else plain_scene(scene)
        return self._scene

    def describe_moment(self, moment: Moment) -> Frame:
        """A frame: the truth, the belief thinned, what moves, and what led here."""
        belief, state, particles = moment.belief, moment.state, moment.belief.particles
        kept = particles[np.linspace(0, len(particles) - 1, min(self.particle_count, len(particles))).astype(int)]
        picked = particles[:: max(1, len(particles) // _SPREAD_SAMPLE)][:_SPREAD_SAMPLE]
        sprites: Sequence[Shape] = ()
        if self._scene is not None and state is not None:
            sprites = self.task.sprites(moment.context, state, particles)
        return Frame(
            state=None if state is None else state.copy(),
            particles=kept.astype(np.float32),
            sprites=plain_shapes(sprites),
            plan=len(self._plans) - 1,
            reward=float(moment.reward),
            action=moment.action,
            observation=moment.observation,
            belief_error=None if state is None else belief.error(state),
            belief_spread=float(np.mean([belief.error(particle.copy()) for particle in picked])),
            picture=moment.picture,
        )

    def describe_plan(self, moment: Moment, time: int = 0) -> RecordedPlan:
        """The moment's plan, which is about to be carried out from a step on."""
        plan = moment.plan
        if plan is None:
            raise ValueError("There is no plan yet that could be described.")
        considered = _considered(plan)
        tree = self._next_tree if plan is self._next_plan else None
        if moment.next_plan is not None:  # by the time it is carried out, the planner will have made another
            self._next_plan, self._next_tree = moment.next_plan, self._describe_tree(moment.next_plan)
        elif tree is None:
            tree = self._describe_tree(plan)
        robot = self._scene.robot if self._scene else None
        particles = moment.belief.particles
        return RecordedPlan(
            time=time,
            choice=0 if plan.macro_actions is None else int(plan.choice),
            value=float(plan.value),
            lower=None if plan.lower is None else float(plan.lower),
            upper=None if plan.upper is None else float(plan.upper),
            trials=plan.trials,
            nodes=plan.nodes,
            depth=plan.depth,
            steps=plan.steps,
            seconds=plan.seconds,
            stopped_by=plan.stopped_by,
            values=None if plan.values is None else _finite_values(plan),
            uppers=None if plan.uppers is None else np.asarray(plan.uppers, dtype=np.float64),
            macro_actions=considered.actions.astype(np.float32),
            lengths=considered.lengths.astype(np.int64),
            paths=None if robot is None else _mean_ways(self.task, moment.context, particles, considered, robot),
            tree=tree,
        )

    def _describe_tree(self, plan: Plan) -> TreeTop | None:
        """The top of the planner's tree, if it shows one; the plan must be the last that it has made."""
        tree_view = getattr(self.planner, "tree_view", None)
        if tree_view is None or plan.choice == NOT_PLANNED:
            return None
        items = top_of_tree(tree_view())
        return TreeTop(
            parent=tuple(item.parent for item in items),
            macro=tuple(item.macro for item in items),
            value=tuple(_six_digits(item.value) for item in items),
            upper=tuple(_six_digits(item.upper) for item in items),
            share=tuple(six_digits(item.share) for item in items),
            size=tuple(item.size for item in items),
        )

    def result(self, record: EpisodeRecord) -> RecordedEpisode:
        """The episode, with its record, as a recording keeps it."""
        result, frames, later = record.result, self._frames, self._frames[1:]
        return RecordedEpisode(
            episode=result.episode,
            total_return=result.total_return,
            discounted_return=result.discounted_return,
            steps=result.steps,
            outcome=result.outcome,
            belief_error=result.belief_error,
            belief_error_final=result.belief_error_final,
            recoveries=result.recoveries,
            ignored=result.ignored,
            statistics=result.statistics,
            context=self._context,
            scene=self._scene,
            states=_rows([frame.state for frame in frames], self.task.state_size),
            particles=np.array([frame.particles for frame in frames]),
            sprites=tuple(frame.sprites for frame in frames),
            plan_of_frame=tuple(frame.plan for frame in frames),
            rewards=tuple(frame.reward for frame in later),
            actions=_rows([frame.action for frame in later], self.task.action_size),
            observations=_rows([frame.observation for frame in later], self.task.observation_size),
            belief_errors=tuple(_six_digits(frame.belief_error) for frame in frames),
            belief_spreads=tuple(six_digits(frame.belief_spread) for frame in frames),
            plans=tuple(self._plans),
            pictures=_pictures(frames),
        )


def _rows(rows: Sequence[np.ndarray | None], size: int) -> np.ndarray:
    """One row below the other; what is not known is NaN."""
    unknown = np.full(size, np.nan)
    return np.array([unknown if row is None else row for row in rows], dtype=np.float64).reshape(len(rows), size)


def _pictures(frames: Sequence[Frame]) -> tuple[bytes, ...]:
    """Those of all frames; none at all if one is missing."""
    found = tuple(frame.picture for frame in frames if frame.picture is not None)
    return found if len(found) == len(frames) else ()


def _six_digits(number: float | None) -> float | None:
    return None if number is None else six_digits(number)


def _considered(plan: Plan) -> MacroActions:
    """The set that a plan has chosen from: at least what it has chosen."""
    return plan.macro_actions or MacroActions(plan.macro_action[None], np.array([len(plan.macro_action)]))


def _check_particles(count: int) -> int:
    if count < 1:
        raise ValueError(f"A recording needs at least one particle of each belief, not {count}.")
    return count


def _finite_values(plan: Plan) -> np.ndarray:
    """A plan's values; what the search had no time to look at counts as the worst of what it has looked at."""
    values = np.asarray(plan.values, dtype=np.float64)
    return np.maximum(values, values.min(initial=plan.value, where=np.isfinite(values)))


def _mean_ways(
    task: Task, context: np.ndarray, particles: np.ndarray, macro_actions: MacroActions, robot: tuple[int, int]
) -> np.ndarray:
    """Where each macro-action would lead the robot: the mean way of some particles; shape (count, longest + 1, 2)."""
    states = particles[:: max(1, len(particles) // _TRACED)][:_TRACED].copy()
    count, longest, _ = macro_actions.actions.shape
    paths = np.zeros((count, longest + 1, 2))
    _trace(
        task, context, states, macro_actions.actions, macro_actions.lengths, *robot, stream_key(0),
        np.empty_like(states), np.empty(1, np.uint64), np.empty(task.observation_size), paths,
    )  # fmt: skip
    return paths.astype(np.float32)


@kernel
def _trace(task, context, states, actions, lengths, x, y, key, moved, random, observation, paths):
    context, states, actions, lengths = borrow((context, states, actions, lengths), task)
    moved, random, observation, paths = borrow((moved, random, observation, paths), task)
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
    planner: str | MakePlanner | None = None,
    episodes: int = 10,
    seed: int = 0,
    particles: int = _PARTICLES,
    workers: int | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
    world: MakeWorld = SimulatedWorld,
) -> Recording:
    """Run episodes 0 … episodes − 1 and take everything down: what was true, believed, considered and done.

    `task`, `planner`, `seed`, `workers`, `on_progress` and `world` are those of `evaluate`. So many `particles` of each
    belief are kept. More than a file may hold is not recorded.
    """
    check_numbers(episodes, seed)
    make_planner = planner_maker(planner)
    job = _RecordingJob(task, make_planner, world, seed, _check_particles(particles))
    about = describe(task, make_planner, seed, make_world=world)  # what is wrong is found here, before a worker starts
    found: dict[int, RecordedEpisode] = {}
    left = _Size(MOST_BYTES, MOST_VALUES).without(_Size.of(file_content(_recording(task, about, found), "It")))
    workers = cores_at_hand() if workers is None else workers
    try:
        with closing(run_jobs(job, range(episodes), workers, "Episode")) as results:
            for number, (record, recorded, size) in results:
                left = left.without(size)
                if left.length < 0 or left.values < 0:
                    raise JobFailed(
                        f"No file may hold more than the {len(found)} episodes recorded so far: record fewer, with "
                        f"fewer particles than {particles}, or in several files."
                    )
                found[number] = recorded
                if on_progress is not None:
                    on_progress(record)
    except KeyboardInterrupt:
        raise RecordingInterrupted(_recording(task, about, found)) from None
    except JobFailed as failure:
        raise RecordingFailed(str(failure), _recording(task, about, found)) from failure.__cause__
    return _recording(task, about, found)


@dataclass(frozen=True)
class _Size:
    """How much of a file something takes, or what is left of one."""

    length: int
    """In bytes."""
    values: int

    @staticmethod
    def of(content: bytes) -> "_Size":
        return _Size(len(content) + 1, count_values(content) + 1)  # with a comma

    def without(self, other: "_Size") -> "_Size":
        return _Size(self.length - other.length, self.values - other.values)


@dataclass(frozen=True)
class _RecordingJob:
    """What is sent to a worker; called there, it gives the function that records an episode by its number."""

    task: Task
    make_planner: MakePlanner
    make_world: MakeWorld
    seed: int
    particles: int

    def __call__(self) -> Callable[[int], tuple[EpisodeRecord, RecordedEpisode, _Size]]:
        planner, world = self.make_planner(self.task), self.make_world(self.task)
        warm_up(self.task, planner)

        def record_one(episode: int) -> tuple[EpisodeRecord, RecordedEpisode, _Size]:
            recorder = Recorder(self.task, planner, self.particles)
            record = run_episode(self.task, planner, self.seed, episode, recorder.watch, world=world)
            recorded = recorder.result(record)
            return record, recorded, _Size.of(file_content(recorded, "What was recorded"))

        return record_one


def _recording(task: Task, about: Question, found: dict[int, RecordedEpisode]) -> Recording:
    return Recording(
        task=TaskInfo(name=about.task, discount=task.discount, parameters=about.task_parameters),
        planner=PlannerInfo(
            name=about.planner,
            label=about.label or about.planner,
            macro_length=about.macro_length,
            budget=about.budget,
            settings=about.settings,
        ),
        world=about.world,
        seed=about.seed,
        episodes=tuple(found[number] for number in sorted(found)),
    )
