"""How long the shortest way around some rectangles is: over their corners, from every point of a grid."""

import numpy as np

Rectangles = np.ndarray
"""Shape (count, 4): left, bottom, right and top of each."""

_TOUCH = 1e-6
"""A way along a side, or past a corner, does not cross the rectangle."""


def grown(rectangles: Rectangles, by: float) -> Rectangles:
    """The same rectangles with all sides moved outwards."""
    return rectangles + by * np.array([-1.0, -1.0, 1.0, 1.0])


def free_corners(rectangles: Rectangles, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """The corners that lie in no other rectangle, nor beyond ± edge, and where is outside of each: −1 or 1 in x and in
    y; both of shape (count, 2)."""
    corners = rectangles[:, [[0, 1], [2, 1], [2, 3], [0, 3]]]
    outwards = np.broadcast_to([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], corners.shape)
    inside = _contains(grown(rectangles, _TOUCH), corners)
    inside[np.arange(len(rectangles)), :, np.arange(len(rectangles))] = False
    free = ~inside.any(axis=2) & (np.abs(corners) <= edge).all(axis=2)
    return corners[free], outwards[free]


def find_ways(rectangles: Rectangles, corners: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the shortest ways from the points (grid[i], grid[j]) to the corners, and the first corner on each;
    both of shape (points, points, corners). A point in a rectangle counts as the nearest one outside."""
    between = np.where(_visible(rectangles, corners, corners), _distances(corners, corners), np.inf)
    for via in range(len(corners)):
        between = np.minimum(between, between[:, via, None] + between[None, via])
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = _contains(grown(rectangles, -_TOUCH), points).any(axis=1)
    points[inside] = points[~inside][_distances(points[inside], points[~inside]).argmin(axis=1)]
    begin = np.where(_visible(rectangles, points, corners), _distances(points, corners), np.inf)
    lengths, first = np.full(begin.shape, np.inf), np.zeros(begin.shape, dtype=np.int64)
    for via in range(len(corners)):
        through = begin[:, via, None] + between[None, via]
        first[through < lengths] = via
        lengths = np.minimum(lengths, through)
    shape = (len(grid), len(grid), len(corners))
    return lengths.reshape(shape), first.reshape(shape)


def _contains(rectangles: Rectangles, points: np.ndarray) -> np.ndarray:
    """Which rectangles points (…, 2) lie inside of; shape (…, rectangles)."""
    x, y = points[..., 0, None], points[..., 1, None]
    left, bottom, right, top = rectangles.T
    return (left < x) & (x < right) & (bottom < y) & (y < top)


def _distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.hypot(*np.moveaxis(some[:, None] - others[None], -1, 0))


def _visible(rectangles: Rectangles, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Between which points a straight line crosses no rectangle; shape (some, others)."""
    begin, move = some[:, None, None], others[None, :, None] - some[:, None, None]
    move = np.where(move == 0.0, 1e-12, move)
    shrunk = grown(rectangles, -_TOUCH)
    first, second = (shrunk[:, :2] - begin) / move, (shrunk[:, 2:] - begin) / move
    enter, leave = np.minimum(first, second).max(axis=-1), np.maximum(first, second).min(axis=-1)
    crossed = (enter < leave) & (enter < 1.0) & (leave > 0.0)
    return ~crossed.any(axis=-1)
