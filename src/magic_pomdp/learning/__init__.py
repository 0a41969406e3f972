"""Learning macro-actions (Lee, Cai, Hsu 2021).

A generator maps belief and context to the parameters of a macro-action set; a critic learns what value the planner
finds with such a set, and the generator follows the critic uphill. This needs torch; planning with a trained generator
does not (`magic_pomdp.magic`).
"""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.core.learning_hints import Mirror as Mirror
    from magic_pomdp.learning.ablation import ablate as ablate
    from magic_pomdp.learning.recipes import Rung as Rung
    from magic_pomdp.learning.recipes import ladder as ladder
    from magic_pomdp.learning.recipes import recipe as recipe
    from magic_pomdp.learning.settings import TrainSettings as TrainSettings
    from magic_pomdp.learning.trainer import Trained as Trained
    from magic_pomdp.learning.training import train as train

__all__ = [
    "Mirror",
    "Rung",
    "TrainSettings",
    "Trained",
    "ablate",
    "ladder",
    "recipe",
    "train",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "core.learning_hints": ("Mirror",),
        "learning.ablation": ("ablate",),
        "learning.recipes": (
            "Rung",
            "ladder",
            "recipe",
        ),
        "learning.settings": ("TrainSettings",),
        "learning.trainer": ("Trained",),
        "learning.training": ("train",),
    },
)
