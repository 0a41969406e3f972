"""What a task looks like, for pictures and pages."""

from collections.abc import Sequence

import numpy as np

from magic_pomdp.core.scene import Scene, Shape


class Look:
    """Functions of a task that say what there is to see. They are ordinary Python."""

    def scene(self, context: np.ndarray) -> Scene | None:
        """What the task looks like in a context (`scene.py`). Default: nothing to see."""
        return None

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> Sequence[Shape]:
        """What moves: shapes for the true state now, and for the belief's particles (one a row) if they need more than
        the points that `scene` asks for."""
        return ()
