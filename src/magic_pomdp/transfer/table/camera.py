"""The camera above the table: what it sends is a JPEG, and no better than a cheap one."""

import math
import weakref

import cv2
import mujoco
import numpy as np

from magic_pomdp.transfer.table.scene import HEIGHT, WIDTH
from magic_pomdp.transfer.table.table import Table

EXPOSURE = 0.04
"""Seconds in which a frame gathers light."""
_ASKEW, _SHIFTED = 0.015, 0.01
"""Standard deviations of the camera's three angles, in radians, and of its place, in metres."""
_FLICKER, _TINT, _NOISE = 0.08, 0.02, 6.0
"""Of the light as a whole, of each colour, and of each pixel."""
_VIGNETTE = 0.25
"""Share of the light that is missing in the corners."""
_QUALITY = 80
"""Of the JPEG."""


class Camera:
    """Looks down at a table, a little askew, and anew so in each episode."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._renderer = mujoco.Renderer(table.model, HEIGHT, WIDTH)
        weakref.finalize(self, self._renderer.close)  # while Python still has all that this needs
        self._camera = table.model.camera("camera")
        self._middle = self._camera.pos.copy()
        across, down = np.meshgrid(np.linspace(-1.0, 1.0, WIDTH), np.linspace(-1.0, 1.0, HEIGHT))
        self._vignette = (1.0 - _VIGNETTE * (across**2 + down**2) / 2.0).astype(np.float32)[:, :, None]
        self._random = np.random.default_rng()

    def begin(self, random: np.random.Generator) -> None:
        """Hang somewhat otherwise; all further chance comes from `random`."""
        self._random = random
        self._camera.pos[:] = self._middle + _SHIFTED * _some(random)
        self._camera.quat[:] = _turn(_ASKEW * _some(random))
        mujoco.mj_forward(self._table.model, self._table.data)

    def take(self, left: float, right: float) -> bytes:
        """A frame, while the robot's motors go on at these speeds: a JPEG."""
        light = self._render().astype(np.float32)
        self._table.run(left, right, EXPOSURE)
        light += self._render()
        gain = 1.0 + _FLICKER * self._random.standard_normal() + _TINT * self._random.standard_normal(3)
        light *= self._vignette * (0.5 * gain).astype(np.float32)
        noise = self._random.standard_normal(light.shape, dtype=np.float32)
        noise *= _NOISE
        light += noise
        image = np.clip(light, 0.0, 255.0, out=light).astype(np.uint8)
        sent, jpeg = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        if not sent:
            raise ValueError("OpenCV cannot write a JPEG here.")
        return jpeg.tobytes()

    def _render(self) -> np.ndarray:
        self._renderer.update_scene(self._table.data, camera="camera")
        image: np.ndarray = self._renderer.render()
        return image


def _some(random: np.random.Generator) -> np.ndarray:
    """Three normal numbers, none of them so large that the table is out of the image."""
    return np.clip(random.standard_normal(3), -2.5, 2.5)


def _turn(angles: np.ndarray) -> np.ndarray:
    """A small turn about x, y and z as a quaternion."""
    size = float(np.linalg.norm(angles))
    axis = angles / max(size, 1e-12)
    return np.array([math.cos(size / 2.0), *(math.sin(size / 2.0) * axis)])
