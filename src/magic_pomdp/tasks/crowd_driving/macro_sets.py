"""The robot's macro-actions: those made by hand, and what is learned."""

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.macros.spaces import HeldActionSpace
from magic_pomdp.macros.turn_and_go import TurnAndGoSpace
from magic_pomdp.tasks.crowd_driving.car import MOST_STEER

TOP_SPEED = 6.0
HANDCRAFTED = (
    (TOP_SPEED, -MOST_STEER), (TOP_SPEED, 0.0), (TOP_SPEED, MOST_STEER),
    (3.0, -0.5 * MOST_STEER), (3.0, 0.0), (3.0, 0.5 * MOST_STEER),
    (0.0, 0.0),
)  # fmt: skip
"""Speed and steering, as published."""
UNHURRIED = 3.5
"""Just fast enough not to stall traffic, whatever the noise."""
ALWAYS = (*HANDCRAFTED[:3], (UNHURRIED, -MOST_STEER), (UNHURRIED, 0.0), (UNHURRIED, MOST_STEER), HANDCRAFTED[-1])
"""What is there beside what is learned."""
BENDS = ((TOP_SPEED, -0.5 * MOST_STEER), (TOP_SPEED, 0.5 * MOST_STEER))
"""What learning sets out from."""


def turn_and_go(length: int) -> MacroActions:
    """The handcrafted set, as published: it steers, and straightens in between."""
    space = TurnAndGoSpace(length, TOP_SPEED, MOST_STEER, HANDCRAFTED)
    return space.decode(space.start)


def held_actions(length: int) -> HeldActionSpace:
    """Those that are learned hold their steering, for who straightens in between cannot take a sharp turn. They come on
    top of a set for everyday use: left to itself, learning gives up straight on or slow turns, which are seldom the
    best but many steps in a row indispensable, and then the robot zigzags, or stalls where the road ends. They are for
    the first choice alone: fitted to where the cars are now, they only cost the search time once these have moved."""
    always = tuple((action,) * length for action in ALWAYS)
    return HeldActionSpace(length, (0.0, -MOST_STEER), (TOP_SPEED, MOST_STEER), BENDS, always, first_only=True)
