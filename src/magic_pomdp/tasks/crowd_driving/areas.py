"""From polygons to the tables in which compiled code looks up which of them a place is in.

Cells are filled block by block of rows, all edges of a block at once: roads may reach for many thousands of metres.
"""

from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from magic_pomdp.tasks.crowd_driving.network import UnusableRoads
from magic_pomdp.tasks.crowd_driving.roads import AREAS

if TYPE_CHECKING:
    from shapely import Geometry

_CELL = 1.0
"""Metres of a cell."""
_MOST_CELLS, _MOST_LOOKS = 25_000_000, 2_000_000_000
"""There may be so many cells, and so many of them to the left and to the right of edges of areas."""
_BLOCK = 500_000
"""Cells of a block of rows, about."""
SHORTER = "split its long roads, or choose another junction"
"""What to do with roads that are too long."""


def build_areas(areas: "tuple[Geometry, ...]") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`area_grid`, `area_cells`, `area_rows` and `area_edges`."""
    import shapely

    found = []
    for number, area in enumerate(areas):
        for ring in shapely.get_rings(shapely.get_parts(area)):
            for side in pairwise(ring.coords):
                low, high = sorted(side, key=itemgetter(1))
                found.append((low[1], high[1], low[0], high[0], number))
    edges = np.array(found)
    west, south = np.floor([edges[:, 2:4].min(), edges[:, 0].min()]) - _CELL
    columns, rows = (
        int(np.ceil(extent / _CELL)) + 2 for extent in (edges[:, 2:4].max() - west, edges[:, 1].max() - south)
    )
    edge_rows = (np.floor(edges[:, 1]) - np.floor(edges[:, 0]) + 2.0).sum()
    if columns * rows > _MOST_CELLS or edge_rows * columns > _MOST_LOOKS:
        raise UnusableRoads(
            f"the roads around its junction reach {columns * _CELL / 1000:,.1f} km from west to east and "
            f"{rows * _CELL / 1000:,.1f} km from south to north, which is too far for their {len(edges):,} edges "
            f"to be looked up by the metre; {SHORTER}"
        )
    cells = np.zeros((rows, columns), dtype=np.int64)
    height = max(1, _BLOCK // columns)
    parts = [
        _fill(cells[first : first + height], edges, west, south + _CELL * np.arange(first, min(first + height, rows)))
        for first in range(0, rows, height)
    ]
    counts, row_edges = (np.concatenate(of_all) for of_all in zip(*parts, strict=True))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.array([west, south, _CELL, columns, rows]), cells, starts, np.ascontiguousarray(row_edges)


def _fill(cells: np.ndarray, edges: np.ndarray, west: float, bottoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fill a block of rows of cells, which begin at some heights; for each row, how many edges of areas rise through
    it, and these."""
    edges = edges[(edges[:, 0] <= bottoms[-1] + _CELL) & (edges[:, 1] >= bottoms[0])]
    first = np.searchsorted(bottoms + _CELL, edges[:, 0])
    counts = np.searchsorted(bottoms, edges[:, 1], side="right") - first
    pair = np.repeat(np.arange(len(edges)), counts)
    row = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts - first, counts)
    order = np.argsort(row, kind="stable")
    row, here = row[order], edges[pair[order]]
    low, high, low_x, high_x, number = here.T
    rises = high > low
    slope = (high_x - low_x) / np.where(rises, high - low, 1.0)
    at = [np.minimum(np.maximum(y, low), high) for y in (bottoms[row], bottoms[row] + _CELL)]
    ends = [np.where(rises, low_x + slope * (y - low), x) for y, x in zip(at, (low_x, high_x), strict=True)]
    begin = ((np.minimum(*ends) - west) / _CELL - 1e-6).astype(np.int64)
    end = ((np.maximum(*ends) - west) / _CELL + 1e-6).astype(np.int64) + 1
    for area in np.unique(number).astype(int):
        mine = number == area
        change = np.zeros((len(cells), cells.shape[1] + 1), dtype=np.int32)
        np.add.at(change, (row[mine], begin[mine]), 1)
        np.add.at(change, (row[mine], end[mine]), -1)
        cells[np.cumsum(change, axis=1)[:, :-1] > 0] |= 1 << (AREAS + area)
    row, rising = row[rises], np.column_stack([low, high, low_x, slope, number])[rises]
    cells |= _inside_bits(cells.shape, rising, row, west, bottoms) & ~(cells >> AREAS)
    return np.bincount(row, minlength=len(cells)), rising


def _inside_bits(
    shape: tuple[int, ...], rising: np.ndarray, row: np.ndarray, west: float, bottoms: np.ndarray
) -> np.ndarray:
    """The bits of the areas that the middles of cells are in: those whose edges they see an odd number of to their
    right."""
    low, high, low_x, slope, number = rising.T
    y = bottoms[row] + 0.5 * _CELL
    seen = (low <= y) & (y < high)
    middles = west + _CELL * (np.arange(shape[1]) + 0.5)
    left_of = np.searchsorted(middles, (low_x + (y - low) * slope)[seen])
    toggled = np.zeros((shape[0], shape[1] + 1), dtype=np.int64)
    np.bitwise_xor.at(toggled, (row[seen], left_of), 1 << number[seen].astype(np.int64))
    bits: np.ndarray = np.bitwise_xor.accumulate(toggled[:, :0:-1], axis=1)[:, ::-1]
    return bits
