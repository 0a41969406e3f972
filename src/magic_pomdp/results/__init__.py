"""Results: what evaluations, comparisons, trainings and measurements give, as values and as files."""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.results.comparison import Comparison as Comparison
    from magic_pomdp.results.evaluation import EpisodeResult as EpisodeResult
    from magic_pomdp.results.evaluation import Evaluation as Evaluation
    from magic_pomdp.results.files import read as read
    from magic_pomdp.results.files import read_as as read_as
    from magic_pomdp.results.files import write as write
    from magic_pomdp.results.identification import Identification as Identification
    from magic_pomdp.results.recording import Recording as Recording
    from magic_pomdp.results.recording import load_recording as load_recording
    from magic_pomdp.results.recording import save_recording as save_recording
    from magic_pomdp.results.speed import Bench as Bench
    from magic_pomdp.results.training import Ablation as Ablation
    from magic_pomdp.results.training import Curves as Curves
    from magic_pomdp.results.tuning import Tuning as Tuning

__all__ = [
    "Ablation",
    "Bench",
    "Comparison",
    "Curves",
    "EpisodeResult",
    "Evaluation",
    "Identification",
    "Recording",
    "Tuning",
    "load_recording",
    "read",
    "read_as",
    "save_recording",
    "write",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "results.comparison": ("Comparison",),
        "results.evaluation": (
            "EpisodeResult",
            "Evaluation",
        ),
        "results.files": (
            "read",
            "read_as",
            "write",
        ),
        "results.identification": ("Identification",),
        "results.recording": (
            "Recording",
            "load_recording",
            "save_recording",
        ),
        "results.speed": ("Bench",),
        "results.training": (
            "Ablation",
            "Curves",
        ),
        "results.tuning": ("Tuning",),
    },
)
