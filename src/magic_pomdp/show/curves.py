"""Return against minutes of training, a curve for each training."""

from pathlib import Path

from matplotlib.figure import Figure

from magic_pomdp.learning.curves import Curves
from magic_pomdp.running.compare import PUBLISHED
from magic_pomdp.show.picture import save_as


def draw_curves(curves: Curves, path: Path, title: str = "") -> list[Path]:
    """Save learning curves with standard errors, as SVG too; dotted lines are what the paper and the handcrafted set
    return."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    colours: dict[str, str] = {}
    for curve in curves.curves:
        minutes, returns, errors = (
            [point[name] for point in curve.points] for name in ("minutes", "return_mean", "return_stderr")
        )
        known = curve.label in colours
        colour = colours.setdefault(curve.label, f"C{len(colours)}")
        label = None if known or not curve.label else curve.label
        axes.errorbar(minutes, returns, errors, marker="o", ms=4, capsize=2, color=colour, label=label)
    published = PUBLISHED.get(curves.task, {}).get("magic")
    if published is not None:
        axes.axhline(published[0], color="black", ls=":", lw=1, label=f"the paper's MAGIC: {published[0]:g}")
    if curves.handcrafted is not None:
        text = f"handcrafted macro-actions: {curves.handcrafted:.1f}"
        axes.axhline(curves.handcrafted, color="grey", ls=":", lw=1, label=text)
    axes.set(
        title=title or f"Learning {curves.task}", xlabel="minutes of training", ylabel="return with the mean parameters"
    )
    axes.set_xlim(left=0.0)
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=8)
    return save_as(figure, path)
