"""Return against planning budget, a curve for each planner, as a file."""

from pathlib import Path

from magic_pomdp.results.comparison import Comparison
from magic_pomdp.show.picture import save_as
from magic_pomdp.show.plots import plot_anytime
from magic_pomdp.show.published import PAPER, published_task


def draw_anytime(comparison: Comparison, path: Path) -> list[Path]:
    """Save the anytime curves of a comparison, as SVG too, with standard errors; dashed lines are published returns."""
    first, conditions = comparison.evaluations[0], published_task(comparison.task).conditions
    title = f"{comparison.task}: {first.episodes} episodes, seed {first.seed}"
    if conditions:
        title += f" ({PAPER}: {conditions})"
    plots = plot_anytime(comparison.evaluations)  # one for each unit of budgets
    paths = [path, path.with_stem(f"{path.stem}-steps")]
    return [saved for plot, where in zip(plots, paths, strict=False) for saved in save_as(plot.titled(title), where)]
