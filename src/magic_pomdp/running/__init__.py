"""Running: episodes in any world, many of them at once, comparisons, recordings."""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.running.comparing import compare as compare
    from magic_pomdp.running.episode import Episode as Episode
    from magic_pomdp.running.episode import EpisodeRecord as EpisodeRecord
    from magic_pomdp.running.episode import Moment as Moment
    from magic_pomdp.running.episode import run_episode as run_episode
    from magic_pomdp.running.evaluating import EvaluationFailed as EvaluationFailed
    from magic_pomdp.running.evaluating import EvaluationInterrupted as EvaluationInterrupted
    from magic_pomdp.running.evaluating import evaluate as evaluate
    from magic_pomdp.running.evaluating import warm_up as warm_up
    from magic_pomdp.running.factory import PlannerFactory as PlannerFactory
    from magic_pomdp.running.factory import able_planners as able_planners
    from magic_pomdp.running.recording import record_episodes as record_episodes
    from magic_pomdp.running.robot import Latency as Latency
    from magic_pomdp.running.robot import Observed as Observed
    from magic_pomdp.running.robot import Robot as Robot
    from magic_pomdp.running.tuning import tune as tune
    from magic_pomdp.running.where import on_ray as on_ray
    from magic_pomdp.running.world import Beginning as Beginning
    from magic_pomdp.running.world import Happening as Happening
    from magic_pomdp.running.world import SimulatedWorld as SimulatedWorld
    from magic_pomdp.running.world import World as World
    from magic_pomdp.running.world import WorldFactory as WorldFactory

__all__ = [
    "Beginning",
    "Episode",
    "EpisodeRecord",
    "EvaluationFailed",
    "EvaluationInterrupted",
    "Happening",
    "Latency",
    "Moment",
    "Observed",
    "PlannerFactory",
    "Robot",
    "SimulatedWorld",
    "World",
    "WorldFactory",
    "able_planners",
    "compare",
    "evaluate",
    "on_ray",
    "record_episodes",
    "run_episode",
    "tune",
    "warm_up",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "running.comparing": ("compare",),
        "running.episode": (
            "Episode",
            "EpisodeRecord",
            "Moment",
            "run_episode",
        ),
        "running.evaluating": (
            "EvaluationFailed",
            "EvaluationInterrupted",
            "evaluate",
            "warm_up",
        ),
        "running.factory": (
            "PlannerFactory",
            "able_planners",
        ),
        "running.recording": ("record_episodes",),
        "running.robot": (
            "Latency",
            "Observed",
            "Robot",
        ),
        "running.tuning": ("tune",),
        "running.where": ("on_ray",),
        "running.world": (
            "Beginning",
            "Happening",
            "SimulatedWorld",
            "World",
            "WorldFactory",
        ),
    },
)
