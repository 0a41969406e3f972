"""Stored results as one page that needs nothing else: tables, plots, replays, settings and versions."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from magic_pomdp import __version__
from magic_pomdp.learning.curves import Curves
from magic_pomdp.running.compare import PUBLISHED, SUCCESSOR
from magic_pomdp.running.evaluate import PLANNERS
from magic_pomdp.running.saving import save_bytes
from magic_pomdp.show.replay import SCRIPTS, fill_page, pack_for_page, page_file
from magic_pomdp.show.results import Results
from magic_pomdp.show.words import budget_words, number_words, planner_name

PAPER, RMAG = "paper", "RMAG"
"""What the columns of published returns are called."""
COLOURS = 6
"""Colours that the page has for curves."""


def write_report(path: Path, results: Results, title: str = "") -> None:
    """Write the page."""
    save_bytes(path, report_page(results, title).encode())


def report_page(results: Results, title: str = "") -> str:
    """The page as text."""
    plots: list[dict[str, Any]] = []
    parts = [_task(task, results, plots) for task in results.tasks()]
    if results.recordings:
        parts.append(page_file("report-replay.html"))
    parts += [_bench(bench) for bench in results.benches]
    parts.append(_settings(results))
    names = list(dict.fromkeys([*results.tasks(), *(one["task"]["name"] for one in results.recordings)]))
    title = title or ("Report: " + ", ".join(names) if names else "Report")
    # "<" would end the script that holds the plots
    described = json.dumps(plots, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    parts.append(f'<script id="plots" type="application/json">{described}</script>')
    body = f'<p id="about">{escape(_summary(results))}</p>' + "\n".join(parts)
    scripts = SCRIPTS if results.recordings else ("charts.js",)
    data = pack_for_page(results.recordings) if results.recordings else ""
    return fill_page("report.html", title, (*scripts, "plots.js", "report.js"), data, body)


def _summary(results: Results) -> str:
    counts = {
        "evaluation": len(results.evaluations),
        "learning curve": sum(len(curves.curves) for curves in results.curves),
        "ablation": len(results.ablations),
        "speed measurement": len(results.benches),
        "recording": len(results.recordings),
    }
    found = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    return ", ".join(found) + f". Made by magic-pomdp {__version__}."


# ------------------------------------------------------------------------------------------------------------- a task


def _task(task: str, results: Results, plots: list[dict[str, Any]]) -> str:
    evaluations = sorted((one for one in results.evaluations if one["task"] == task), key=_order)
    parts = [f"<h2>{escape(task)}</h2>"]
    if evaluations:
        parts.append(_evaluation_table(task, evaluations))
    figures = [_figure(_returns_plot(task, evaluations), plots)] if len(evaluations) > 1 else []
    figures += [_figure(plot, plots) for plot in _anytime_plots(evaluations)]
    figures += [_figure(_curves_plot(curves), plots) for curves in results.curves if curves.task == task]
    if figures:
        parts.append(f'<div class="plots">{"".join(figures)}</div>')
    parts += [_ablation_table(one) for one in results.ablations if one["task"] == task]
    return f'<section class="part">{"".join(parts)}</section>'


def _order(evaluation: dict[str, Any]) -> tuple[Any, ...]:
    """Planners as the program lists them, the largest budget first."""
    names, budget = list(PLANNERS), evaluation["budget"] or {}
    place = names.index(evaluation["planner"]) if evaluation["planner"] in names else len(names)
    return place, evaluation["planner"], -max([0.0, *map(float, budget.values())]), evaluation["seed"]


def _evaluation_table(task: str, evaluations: Sequence[dict[str, Any]]) -> str:
    """Ours, with standard errors, and what others have published for the same planner in the same task."""
    published = any(one["planner"] in PUBLISHED.get(task, {}) for one in evaluations)
    names = ["planner", "return", "success", *([PAPER, RMAG] if published else []), "discounted", "length"]
    names += ["budget a plan", "episodes", "seed", "steps", "depth", "99 % within"]
    rows = []
    best = max(one["return_mean"] for one in evaluations)
    for one in evaluations:
        variant = escape(_variant(one, evaluations))
        others = [_cell(text, "others") for text in _published(task, one["planner"])] if published else []
        rows.append(
            [
                f"<th scope='row'>{escape(planner_name(one['planner']))} <small>{variant}</small></th>",
                _cell(_mean(one["return_mean"], one["return_stderr"]), "best" if one["return_mean"] == best else ""),
                _cell(f"{one['success_rate']:.1%}"),
                *others,
                _cell(_mean(one["discounted_return_mean"], one["discounted_return_stderr"])),
                _cell(one.get("macro_length") or "–"),
                _cell(budget_words(one["budget"])),
                _cell(f"{one['episodes']:,}{'' if one.get('complete', True) else ', interrupted'}"),
                _cell(one["seed"]),
                _cell(_number(one.get("steps_mean"), 1)),
                _cell(_number(one.get("search_depth_mean"), 1)),
                _cell(f"{one['plan_seconds_p99']:.3f} s" if "plan_seconds_p99" in one else "–"),
            ]
        )
    note = "Returns: mean ± standard error. Depth: how many primitive steps a search looks ahead on average."
    if published:
        note += (
            " Paper: Lee, Cai, Hsu, RSS 2021; RMAG: its successor, IROS 2023; both with 0.1 s a plan, in Crowd-Driving"
            " planned while driving, in the variant reference. They are not"
            " results of this software."
        )
    return _table("Mean return", names, rows, note)


def _variant(one: dict[str, Any], evaluations: Sequence[dict[str, Any]]) -> str:
    """The settings and parameters that tell an evaluation from others of the same planner, in words. One that another,
    of an older version, does not have is no difference."""
    found = []
    for kind in ("settings", "task_parameters"):
        values, others = one.get(kind) or {}, [other.get(kind) or {} for other in _like(one, evaluations)]
        names = [name for name in values if any(other.get(name, values[name]) != values[name] for other in others)]
        found += [f"{name.replace('_', ' ')} {values[name]}" for name in names]
    return ", ".join(found)


def _label(one: dict[str, Any], evaluations: Sequence[dict[str, Any]], with_budget: bool = True) -> str:
    """A planner's name, with what tells this evaluation from others of the same planner."""
    words = {
        **({"budget": budget_words(one["budget"])} if with_budget else {}),
        "macro_length": f"length {one.get('macro_length') or '–'}",
        "seed": f"seed {one['seed']}",
        "version": f"version {one.get('version', '?')}",
    }
    different = [name for name in words if any(other.get(name) != one.get(name) for other in _like(one, evaluations))]
    parts = [planner_name(one["planner"]), *(words[name] for name in different), _variant(one, evaluations)]
    return ", ".join(part for part in parts if part)


def _like(one: dict[str, Any], evaluations: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [other for other in evaluations if other["planner"] == one["planner"]]


def _published(task: str, planner: str) -> tuple[str, str]:
    paper, rmag = PUBLISHED.get(task, {}).get(planner), SUCCESSOR.get(task, {}).get(planner)
    return (
        "" if paper is None else _mean(*paper),
        "" if rmag is None else number_words(rmag, 1),
    )


def _ablation_table(ablation: dict[str, Any]) -> str:
    names = ["the generator is told", "critic", "return", "success", "by seed", "minutes", "updates", PAPER]
    rows = []
    for row in ablation["rows"]:
        by_seed = ", ".join(f"{seed}: {number_words(value, 1)}" for seed, value in row["by_seed"].items())
        published = row.get("published")
        rows.append(
            [
                f"<th scope='row'>{escape(', '.join(filter(None, (row['conditioning'], row.get('change')))))}</th>",
                _cell(row["critic"]),
                _cell(_mean(row["return_mean"], row["return_stderr"])),
                _cell(f"{row['success_rate']:.1%}"),
                _cell(by_seed),
                _cell(_number(row["minutes"], 1)),
                _cell(_number(row["updates"], 0)),
                _cell("" if published is None else number_words(published, 1), "others"),
            ]
        )
    start = ablation["handcrafted"]
    mean = _cell(_mean(start["return_mean"], start["return_stderr"]))
    rows.append(
        [
            "<th scope='row'>handcrafted set</th>",
            _cell("–"),
            mean,
            _cell(f"{start['success_rate']:.1%}"),
            *[_cell("")] * 4,
        ]
    )
    note = f"{start['episodes']} episodes of seed {start['seed']}, {budget_words(start['budget'])} a plan."
    return _table("What of the learning matters", names, rows, note)


# -------------------------------------------------------------------------------------------------------------- plots


def _returns_plot(task: str, evaluations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row for each evaluation: our mean with its standard error, and the published ones."""
    rows = []
    for one in evaluations:
        paper, rmag = PUBLISHED.get(task, {}).get(one["planner"]), SUCCESSOR.get(task, {}).get(one["planner"])
        rows.append(
            {
                "name": _label(one, evaluations),
                "value": one["return_mean"],
                "error": one["return_stderr"],
                "others": [
                    *([{"name": PAPER, "value": paper[0]}] if paper else []),
                    *([{"name": RMAG, "value": rmag}] if rmag is not None else []),
                ],
            }
        )
    return {"kind": "rows", "title": "Mean return and standard error", "rows": rows}


def _anytime_plots(evaluations: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return against budget, for budgets in seconds and in steps: a curve for all that differs in its budget alone."""
    plots = []
    for unit, words in (("seconds", "seconds a plan"), ("steps", "primitive steps a plan")):
        curves: dict[str, list[list[float]]] = {}
        for one in evaluations:
            if one["budget"] and one["budget"].get(unit):
                point = [one["budget"][unit], one["return_mean"], one["return_stderr"]]
                curves.setdefault(_label(one, evaluations, with_budget=False), []).append(point)
        found = {name: sorted(points) for name, points in curves.items() if len(points) > 1}
        series = [
            {"name": name, "colour": number % COLOURS, "points": points}
            for number, (name, points) in enumerate(found.items())
        ]
        if series:
            title = "Return against budget"
            plots.append({"kind": "curves", "title": title, "x": words, "log": True, "series": series, "lines": []})
    return plots


def _curves_plot(curves: Curves) -> dict[str, Any]:
    """Return against minutes of training, and what the handcrafted set and the paper's MAGIC return."""
    labels = list(dict.fromkeys(curve.label for curve in curves.curves))
    series = [
        {
            "name": curve.label or "mean parameters",
            "colour": labels.index(curve.label) % COLOURS,
            "points": [[point["minutes"], point["return_mean"], point["return_stderr"]] for point in curve.points],
        }
        for curve in curves.curves
    ]
    lines = []
    if curves.handcrafted is not None:
        lines.append({"name": "handcrafted set", "value": curves.handcrafted})
    published = PUBLISHED.get(curves.task, {}).get("magic")
    if published is not None:
        lines.append({"name": "paper's MAGIC", "value": published[0]})
    title, x = "Learning: return with the mean parameters", "minutes of training"
    return {"kind": "curves", "title": title, "x": x, "log": False, "series": series, "lines": lines}


def _figure(plot: dict[str, Any], plots: list[dict[str, Any]]) -> str:
    plots.append(plot)
    return f'<figure class="plot" data-plot="{len(plots) - 1}"></figure>'


# --------------------------------------------------------------------------------------------------------------- rest


def _bench(bench: dict[str, Any]) -> str:
    rows = []
    for one in bench["measurements"]:
        figures = [
            _cell("–" if figure is None else f"{number_words(figure, 0 if figure >= 1000 else 3)} {one['unit']}")
            for figure in (one["value"], one.get("median"))
        ]
        rows.append([f"<th scope='row'>{escape(one['name'])}</th>", *figures, _cell(f"{one['ratio']:.3g}")])
    about = [bench["processor"], *(f"{name} {bench[name]}" for name in ("python", "numba") if name in bench)]
    note = f"{', '.join(map(str, about))}, magic-pomdp {bench['version']}. Ratio: against 64-bit hashing."
    table = _table("", ["measured", "best", "median", "ratio"], rows, note)
    return f'<section class="part"><h2>Speed</h2>{table}</section>'


def _settings(results: Results) -> str:
    """Everything that a result depends on, folded away."""
    entries = []
    for one in sorted(results.evaluations, key=lambda one: (results.tasks().index(one["task"]), *_order(one))):
        about = {"episodes": one["episodes"], "seed": one["seed"], "version": one.get("version", "?")}
        head = f"{one['task']}: {planner_name(one['planner'])}, {budget_words(one['budget'])} a plan"
        entries.append((head, {**about, **one["settings"], **(one.get("task_parameters") or {})}))
    for one in results.recordings:
        planner, task = one["planner"], one["task"]
        about = {"episodes": len(one["episodes"]), "seed": one["seed"], "version": one.get("software", "?")}
        budget = budget_words(planner.get("budget"))
        head = f"{task['name']}: recording of {planner_name(planner['name'])}, {budget} a plan"
        entries.append((head, {**about, **planner.get("settings", {}), **task.get("parameters", {})}))
    for one in results.ablations:
        entries.append(
            (f"{one['task']}: ablation", {"version": one.get("version", "?"), **one["handcrafted"]["settings"]})
        )
    if not entries:
        return ""
    boxes = []
    for head, values in entries:
        pairs = "".join(
            f"<div><dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd></div>"
            for name, value in values.items()
        )
        boxes.append(f"<details><summary>{escape(head)}</summary><dl class='pairs'>{pairs}</dl></details>")
    return f'<section class="part"><h2>Settings and versions</h2>{"".join(boxes)}</section>'


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    label = escape(title or names[0])
    table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    region = f'<div class="table" role="region" aria-label="{label}" tabindex="0">{table}</div>'
    return f'{region}<p class="small">{escape(note)}</p>'


def _cell(content: Any, kind: str = "") -> str:
    return f"<td{f' class={kind}' if kind else ''}>{escape(str(content))}</td>"


def _mean(mean: float, error: float) -> str:
    return f"{number_words(mean, 1)} ± {number_words(error, 1)}"


def _number(number: float | None, digits: int) -> str:
    return "–" if number is None else number_words(number, digits)
