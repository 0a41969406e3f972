"""From the camera's image to where robot and puck are: by colour and shape, calibrated by the marks at the corners.

It knows what somebody who has built the table knows: where the marks and the strips are, how high robot and puck are,
and the camera's field of view. It does not know how the camera hangs.
"""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from magic_pomdp.transfer.table.scene import (
    BOARD,
    FIELD_OF_VIEW,
    HEIGHT,
    MARK_RADIUS,
    MARKS,
    PUCK_TOP,
    ROBOT_TOP,
    STRIPS,
    WIDTH,
)

_HUES = {"yellow": (19, 36), "blue": (102, 130), "green": (48, 78), "magenta": (138, 166)}
"""Ranges of OpenCV's hues; red is what lies beyond both ends."""
_RED = 8
_COLOURFUL, _BRIGHT = 95, 45
"""Saturation and value of what counts as coloured."""
_YELLOW_ENOUGH = 140
"""Saturation of the puck, more than half of which its rim shares with the table."""
_EDGE = 1
"""Pixels around a strip that are left out: there colours run into each other."""
_WHOLE, _PART = 0.85, 0.35
"""Shares of the puck's disc: of one that is wholly seen, and the least from which its middle can be told."""
_FEWEST_RIM = 8
"""Pixels of the puck's rim from which its middle can be told, if a strip cuts off the rest."""
_LARGEST = 1.6
"""A blob that is so many times as large is something else."""
_SEEN_AT = 0.5
"""Share of its height at which the middle of what is seen of a thing lies: the camera sees its top, and one side."""
_ROBOT_SEEN = 0.6
"""Share of the robot's disc that must be seen."""
_SPOT_PIXELS = 5
"""The fewest pixels of a spot on the robot."""


@dataclass(frozen=True)
class Seen:
    """What was recognised; None of what was not. Millimetres and radians."""

    robot: tuple[float, float] | None = None
    heading: float | None = None
    puck: tuple[float, float] | None = None


NOTHING = Seen()


class MarksNotFound(ValueError):
    """The image does not tell how the camera hangs."""


class Perception:
    """Recognises robot and puck of known radii. `calibrate` it with a first image, then let it `see` others."""

    def __init__(self, robot_radius: float, puck_radius: float) -> None:
        self._robot_radius, self._puck_radius = robot_radius, puck_radius
        focal = 0.5 * HEIGHT / math.tan(math.radians(0.5 * FIELD_OF_VIEW))
        self._lens = np.array([[focal, 0.0, 0.5 * (WIDTH - 1)], [0.0, focal, 0.5 * (HEIGHT - 1)], [0.0, 0.0, 1.0]])
        self._turn, self._shift = np.eye(3), np.zeros(3)
        self._scale = 1.0
        """Pixels of a millimetre on the table, about."""
        self._strips = np.zeros((HEIGHT, WIDTH), np.uint8)
        self._beside_strips = np.zeros((HEIGHT, WIDTH), np.uint8)
        self._board = np.zeros((HEIGHT, WIDTH), np.uint8)

    def calibrate(self, image: np.ndarray) -> None:
        """Find out how the camera hangs, from the marks at the corners; MarksNotFound if it does not see them."""
        hsv = _in_hsv(image)
        corners = self._find_marks(_red(hsv))
        places = np.array([(x, y, 0.0) for x, y in MARKS])
        found, turn, shift = cv2.solvePnP(places, corners, self._lens, None, flags=cv2.SOLVEPNP_IPPE)
        if not found:
            raise MarksNotFound("The marks at the table's corners do not lie as they should in the camera's image.")
        turn, shift = cv2.solvePnPRefineLM(places, corners, self._lens, None, turn, shift)
        self._turn, self._shift = cv2.Rodrigues(turn)[0], shift.ravel()
        width = np.linalg.norm(corners[1] - corners[0])
        self._scale = float(width / (MARKS[1][0] - MARKS[0][0]))
        left, bottom, right, top = BOARD
        self._board[:] = 0
        self._fill(self._board, left - 10.0, right + 10.0, bottom - 10.0, top + 10.0)
        self._strips[:] = 0
        for a, b in STRIPS:
            self._fill(self._strips, a, b, bottom - 10.0, top + 10.0)
        self._strips = cv2.dilate(self._strips, np.ones((2 * _EDGE + 1, 2 * _EDGE + 1), np.uint8))
        self._beside_strips = cv2.dilate(self._strips, np.ones((3, 3), np.uint8))

    def see(self, image: np.ndarray) -> Seen:
        """Where robot and puck are in an image."""
        hsv = _in_hsv(image)
        coloured = ((hsv[:, :, 1] > _COLOURFUL) & (hsv[:, :, 2] > _BRIGHT) & (self._board > 0)).astype(np.uint8)
        masks = {name: coloured & cv2.inRange(hsv[:, :, 0], *limits) for name, limits in _HUES.items()}
        robot, heading = self._see_robot(masks["blue"], masks["green"], masks["magenta"])
        return Seen(robot, heading, self._see_puck(masks["yellow"] & (hsv[:, :, 1] > _YELLOW_ENOUGH)))

    def _see_robot(
        self, shell: np.ndarray, front: np.ndarray, back: np.ndarray
    ) -> tuple[tuple[float, float] | None, float | None]:
        """Its shell is the largest blue thing, together with the spots in it, which tell its middle and its heading."""
        whole = cv2.morphologyEx(shell | front | back, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        count, labels, about, middles = cv2.connectedComponentsWithStats(whole)
        if count < 2:
            return None, None
        largest = 1 + int(np.argmax(about[1:, cv2.CC_STAT_AREA]))
        share = about[largest, cv2.CC_STAT_AREA] / (math.pi * (self._scale * self._robot_radius) ** 2)
        if not _ROBOT_SEEN <= share <= _LARGEST:
            return None, None
        inside = (labels == largest).astype(np.uint8)
        middle = self._place(middles[largest][0], middles[largest][1], _SEEN_AT * ROBOT_TOP)
        ahead, behind = (self._middle_of(mask & inside, ROBOT_TOP) for mask in (front, back))
        if ahead is not None and behind is not None:  # unlike its rim, they look the same on every ground
            middle = 0.5 * (ahead[0] + behind[0]), 0.5 * (ahead[1] + behind[1])
        elif ahead is None and behind is None:
            return middle, None
        ahead, behind = ahead or middle, behind or middle
        return middle, math.atan2(ahead[1] - behind[1], ahead[0] - behind[0])

    def _see_puck(self, yellow: np.ndarray) -> tuple[float, float] | None:
        """The yellow thing off the strips that is most like the puck's disc."""
        yellow[self._strips > 0] = 0
        radius = self._scale * self._puck_radius
        disc = math.pi * radius**2
        contours, _ = cv2.findContours(yellow, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        best, found = math.inf, None
        for contour in contours:
            (u, v), around = cv2.minEnclosingCircle(contour)
            round_area = math.pi * (around + 0.5) ** 2
            moments = cv2.moments(contour)
            share = (moments["m00"] + 0.5 * len(contour)) / disc  # a contour runs through its pixels' middles
            if not _PART <= share <= _LARGEST or not _PART <= round_area / disc <= _LARGEST:
                continue
            rim = contour[:, 0, :]
            uncut = self._beside_strips[rim[:, 1], rim[:, 0]] == 0
            if uncut.all():
                if share >= _WHOLE:
                    u, v = moments["m10"] / moments["m00"], moments["m01"] / moments["m00"]
            elif uncut.sum() >= _FEWEST_RIM:
                u, v = _middle_of_rim(rim[uncut], np.array([u, v]), radius - 0.5)
            if abs(share - 1.0) < best:
                best, found = abs(share - 1.0), self._place(u, v, _SEEN_AT * PUCK_TOP)
        if found is not None and any(a <= found[0] <= b for a, b in STRIPS):
            return None  # one that is cut in half can be off by as much as that
        return found

    def _find_marks(self, red: np.ndarray) -> np.ndarray:
        """The marks' middles in the image, in the order of MARKS. The smallest disc that they may be is that of a
        camera that is twice as far away."""
        count, _, about, middles = cv2.connectedComponentsWithStats(red)
        usual = math.pi * (MARK_RADIUS * WIDTH / 1580.0) ** 2
        fits = [i for i in range(1, count) if 0.25 * usual <= about[i, cv2.CC_STAT_AREA] <= 4.0 * usual]
        found = []
        for right, up in ((False, False), (True, False), (True, True), (False, True)):
            here = [i for i in fits if (middles[i][0] > WIDTH / 2) == right and (middles[i][1] < HEIGHT / 2) == up]
            if not here:
                where = f"{'upper' if up else 'lower'} {'right' if right else 'left'}"
                raise MarksNotFound(f"The camera does not see the red mark at the table's {where} corner.")
            found.append(middles[max(here, key=lambda i: about[i, cv2.CC_STAT_AREA])])
        return np.array(found)

    def _middle_of(self, mask: np.ndarray, height: float) -> tuple[float, float] | None:
        moments = cv2.moments(mask, binaryImage=True)
        if moments["m00"] < _SPOT_PIXELS:
            return None
        return self._place(moments["m10"] / moments["m00"], moments["m01"] / moments["m00"], height)

    def _place(self, u: float, v: float, height: float) -> tuple[float, float]:
        """Where on the table something is that has a height and is seen at a pixel."""
        camera = -self._turn.T @ self._shift
        ray = self._turn.T @ np.linalg.solve(self._lens, np.array([u, v, 1.0]))
        place = camera + (height - camera[2]) / ray[2] * ray
        return float(place[0]), float(place[1])

    def _fill(self, mask: np.ndarray, left: float, right: float, bottom: float, top: float) -> None:
        """Mark a rectangle of the table in the image."""
        corners = np.array([(left, bottom, 0.0), (right, bottom, 0.0), (right, top, 0.0), (left, top, 0.0)])
        seen = (corners @ self._turn.T + self._shift) @ self._lens.T
        cv2.fillConvexPoly(mask, np.rint(seen[:, :2] / seen[:, 2:]).astype(np.int32), 255)


def _middle_of_rim(rim: np.ndarray, middle: np.ndarray, radius: float) -> tuple[float, float]:
    """The middle of the circle of a known radius that fits part of its rim best, from a first guess."""
    for _ in range(10):
        away = middle - rim
        distance = np.maximum(np.hypot(*away.T), 1e-6)
        outwards = away / distance[:, None]
        middle = middle + np.linalg.lstsq(outwards, radius - distance, rcond=None)[0]
    return float(middle[0]), float(middle[1])


def decode(frame: bytes) -> np.ndarray:
    """The image in a JPEG."""
    image: np.ndarray | None = cv2.imdecode(np.frombuffer(frame, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise ValueError("What the camera has sent is no image.")
    return image


def _in_hsv(image: np.ndarray) -> np.ndarray:
    if image.shape != (HEIGHT, WIDTH, 3) or image.dtype != np.uint8:
        size = " × ".join(map(str, image.shape[1::-1])) if image.ndim >= 2 else str(image.shape)
        raise ValueError(f"The camera's image must be {WIDTH} × {HEIGHT} pixels in colour, not {size}.")
    hsv: np.ndarray = cv2.cvtColor(cv2.GaussianBlur(image, (3, 3), 0), cv2.COLOR_BGR2HSV)
    return hsv


def _red(hsv: np.ndarray) -> np.ndarray:
    hue = hsv[:, :, 0]
    red = ((hue < _RED) | (hue > 180 - _RED)) & (hsv[:, :, 1] > _COLOURFUL) & (hsv[:, :, 2] > _BRIGHT)
    return red.astype(np.uint8)
