"""Return against minutes of training, a curve for each training, as a file."""

from pathlib import Path

from magic_pomdp.results.training import Curves
from magic_pomdp.show.picture import save_as
from magic_pomdp.show.plots import plot_learning


def draw_curves(curves: Curves, path: Path, title: str = "") -> list[Path]:
    """Save learning curves with standard errors, as SVG too; dashed lines are what the paper and the handcrafted set
    return. Gives the files, none if there is nothing to draw yet."""
    plot = plot_learning(curves)
    return [] if plot is None else save_as(plot.titled(title or f"Learning {curves.task}"), path)
