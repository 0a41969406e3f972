"""The plots of results: mean returns, returns against budgets, and learning curves."""

from collections.abc import Sequence

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.training import Curves
from magic_pomdp.show.naming import full_name
from magic_pomdp.show.plotting import Level, Plot, Row, Series, plot_curves, plot_rows
from magic_pomdp.show.published import PAPER, SUCCESSOR, published, published_beside, published_learned
from magic_pomdp.show.words import label_of


def plot_returns(evaluations: Sequence[Evaluation]) -> Plot:
    """A row for each evaluation: our mean with its standard error, and the published ones."""
    rows = []
    for one in evaluations:
        found = published_beside(one)
        others = {} if found is None else {PAPER: found.paper.mean}
        if found is not None and found.successor is not None:
            others[SUCCESSOR] = found.successor
        rows.append(Row(full_name(one, evaluations), one.return_mean, one.return_stderr, others))
    return plot_rows("Mean return and standard error", rows)


def plot_anytime(evaluations: Sequence[Evaluation], shortest: int = 1, with_published: bool = True) -> list[Plot]:
    """Return against budget, for budgets in seconds and in steps: a curve for all that differs in its budget alone, if
    it has enough points."""
    plots = []
    for unit, words in (("seconds", "seconds a plan"), ("steps", "primitive steps a plan")):
        curves: dict[str, list[tuple[float, float, float]]] = {}
        levels: dict[str, Level] = {}
        for one in evaluations:
            spent = None if one.budget is None else getattr(one.budget, unit)
            if spent is None:
                continue
            name = full_name(one, evaluations, with_budget=False)
            curves.setdefault(name, []).append((spent, one.return_mean, one.return_stderr))
            found = published(one.task, one.planner) if with_published else None
            if found is not None:
                levels.setdefault(one.planner, Level(f"{label_of(one)}, {PAPER}", found.paper.mean, name))
        series = [Series(name, tuple(sorted(points))) for name, points in curves.items() if len(points) >= shortest]
        if series:
            title = "Return against budget"
            plots.append(plot_curves(title, words, "mean return", series, [*levels.values()], logarithmic=True))
    return plots


def plot_learning(curves: Curves) -> Plot | None:
    """Return against minutes of training, and what the handcrafted set and the paper's planner return; None if there
    is no point."""
    series = [
        Series(curve.label, tuple((point.minutes, point.return_mean, point.return_stderr) for point in curve.points))
        for curve in curves.curves
        if curve.points
    ]
    levels = [] if curves.handcrafted is None else [Level("handcrafted set", curves.handcrafted)]
    learned = published_learned(curves.task)
    if learned is not None:
        levels.append(Level(f"the {PAPER}'s {learned[0]}", learned[1]))
    title, y = "Learning: return with the mean parameters", "mean return"
    return plot_curves(title, "minutes of training", y, series, levels) if series else None
