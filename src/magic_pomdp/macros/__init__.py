"""From parameters to primitive actions."""

from magic_pomdp.macros.bezier import decode_bezier
from magic_pomdp.macros.lengths import LearnedLengths
from magic_pomdp.macros.spaces import BezierSpace, HeldActionSpace, ListedActionSpace, MacroSpace
from magic_pomdp.macros.stairs import StairSpace
from magic_pomdp.macros.straight import compass, directions
from magic_pomdp.macros.turn_and_go import TurnAndGoSpace

__all__ = [
    "BezierSpace",
    "HeldActionSpace",
    "LearnedLengths",
    "ListedActionSpace",
    "MacroSpace",
    "StairSpace",
    "TurnAndGoSpace",
    "compass",
    "decode_bezier",
    "directions",
]
