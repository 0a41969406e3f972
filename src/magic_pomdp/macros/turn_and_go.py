"""Turn and go: macro-actions of a car, which holds a speed and steers for the first half of the time."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.macros.spaces import Kind, SpaceDescription, check_length


@dataclass(frozen=True)
class TurnAndGoSpace:
    """Two parameters a macro-action: speed, from −1 for standing to 1 for top speed, and steering, from −1 to 1."""

    length: int
    top_speed: float
    most_steer: float
    handcrafted: tuple[tuple[float, float], ...]
    """Speed and steering to set out from, for every macro-action."""

    kind: Kind = "box"
    size: int = 2

    def __post_init__(self) -> None:
        check_length(self.length)
        if not self.handcrafted:
            raise ValueError("A turn-and-go space needs at least one macro-action.")
        if self.top_speed <= 0.0 or self.most_steer <= 0.0:
            raise ValueError("The top speed and the largest steering angle of a turn-and-go space must be positive.")

    @property
    def count(self) -> int:
        return len(self.handcrafted)

    @cached_property
    def start(self) -> np.ndarray:
        speed, steer = np.array(self.handcrafted, dtype=np.float64).T
        return np.stack([2.0 * speed / self.top_speed - 1.0, steer / self.most_steer], axis=1).clip(-1.0, 1.0)

    def decode(self, parameters: np.ndarray) -> MacroActions:
        """It steers for one step more than half of those after the first, and then goes straight."""
        parameters = np.asarray(parameters, dtype=np.float64)
        if parameters.shape != (self.count, self.size):
            raise ValueError(
                f"The parameters of turn-and-go have shape ({self.count}, {self.size}), not {parameters.shape}."
            )
        actions = np.zeros((self.count, self.length, 2))
        actions[:, :, 0] = 0.5 * self.top_speed * (np.clip(parameters[:, :1], -1.0, 1.0) + 1.0)
        turning = 1 + (self.length - 1) // 2
        actions[:, :turning, 1] = self.most_steer * np.clip(parameters[:, 1:], -1.0, 1.0)
        return MacroActions(actions, np.full(self.count, self.length))

    def describe(self) -> SpaceDescription:
        size = {"count": self.count, "size": self.size, "length": self.length}
        return {"space": "turn and go", **size, "top speed": self.top_speed, "most steering": self.most_steer}
