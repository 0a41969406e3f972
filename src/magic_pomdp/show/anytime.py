"""Return against planning budget, a curve for each planner."""

from pathlib import Path

from matplotlib.figure import Figure

from magic_pomdp.running.compare import PUBLISHED, Comparison
from magic_pomdp.show.picture import save_as


def draw_anytime(comparison: Comparison, path: Path) -> list[Path]:
    """Save the anytime curves of a comparison, as SVG too, with standard errors; dotted lines are published returns."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    unit = "s"
    for planner, cells in comparison.by_planner().items():
        unit = next(iter(cells[0]["budget"]))
        spent = [next(iter(cell["budget"].values())) for cell in cells]
        returns, errors = ([cell[name] for cell in cells] for name in ("return_mean", "return_stderr"))
        lines = axes.errorbar(spent, returns, errors, marker="o", ms=4, capsize=3, label=planner)
        published = PUBLISHED.get(comparison.task, {}).get(planner)
        if published is not None:
            axes.axhline(published[0], color=lines[0].get_color(), ls=":", lw=1, label=f"{planner}, paper (0.1 s)")
    first = comparison.cells[0]
    axes.set(
        xscale="log",
        xlabel="seconds a plan" if unit == "seconds" else "primitive steps a plan",
        ylabel="mean return",
        title=f"{comparison.task}: {first['episodes']} episodes, seed {first['seed']}",
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return save_as(figure, path)
