"""MAGIC at run time: what a robot needs to plan with learned macro-actions (Lee, Cai, Hsu 2021), without torch.

A generator maps belief and context to the parameters of a macro-action set; Macro-DESPOT plans with that set. How
generators are trained is `magic_pomdp.learning`.
"""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.magic.model import Model as Model
    from magic_pomdp.magic.model import ModelCard as ModelCard
    from magic_pomdp.magic.model import find_model as find_model
    from magic_pomdp.magic.model import load_model as load_model
    from magic_pomdp.magic.planner import MagicPlanner as MagicPlanner
    from magic_pomdp.magic.planner import MagicSettings as MagicSettings
    from magic_pomdp.magic.planner import MeanParameters as MeanParameters
    from magic_pomdp.magic.planner import ParameterSource as ParameterSource

__all__ = [
    "MagicPlanner",
    "MagicSettings",
    "MeanParameters",
    "Model",
    "ModelCard",
    "ParameterSource",
    "find_model",
    "load_model",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "magic.model": (
            "Model",
            "ModelCard",
            "find_model",
            "load_model",
        ),
        "magic.planner": (
            "MagicPlanner",
            "MagicSettings",
            "MeanParameters",
            "ParameterSource",
        ),
    },
)
