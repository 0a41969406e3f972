"""Means with standard errors, drawn in rows or as curves, for files and for pages that can be light or dark."""

import io
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

from magic_pomdp.core.reading import printable
from magic_pomdp.show.words import number_words

_COLOURS = {
    "line-value": "#0f62c4",
    "line-return": "#0c7a3a",
    "line-error": "#b85c00",
    "line-spread": "#8a4bd0",
    "bad": "#b3261e",
    "soft": "#55616e",
    "text": "#1a222c",
    "edge": "#d7dee6",
}
"""By what the pages' style calls them; here as they are in the light theme, for files."""
_LINES = ("line-value", "line-return", "line-error", "line-spread", "bad", "soft")
_MARKERS = ("o", "s", "^", "D", "v", "X")
"""What tells curves apart without colour."""
_OURS = "this software"
_GROUND = "ground"
"""The mark of what is white, and not part of a page."""
_WIDTH = 4.4
"""Of a plot in inches: small enough for a phone."""
_LINE = 0.2
"""Height of a line of text."""
_LETTERS, _TITLE_LETTERS = 54, 42
"""That fit into the width."""
_LONGEST = 300
"""Letters of a name."""
_SIZE = 10
"""Of the text, in points."""
_STEPS = (1, 2, 5, 10)
"""Between marks at an axis."""
_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


@dataclass(frozen=True)
class _Named:
    """Something whose name can be written into a plot: XML has no place for what cannot be printed."""

    name: str

    def __post_init__(self) -> None:
        name = printable(self.name[:_LONGEST]) + ("…" if len(self.name) > _LONGEST else "")
        object.__setattr__(self, "name", name)


@dataclass(frozen=True)
class Series(_Named):
    """A curve: points, each at a place with a mean and its standard error. Those of one name look alike."""

    points: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Level(_Named):
    """A mean to compare curves with, in the colour of those that it is `like`."""

    value: float
    like: str = ""


@dataclass(frozen=True)
class Row(_Named):
    """A mean with its standard error, and what others have reached, by who they are."""

    mean: float
    stderr: float
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """A figure, and what it shows in words."""

    title: str
    figure: Figure
    """Without the title."""
    description: str
    hints: Mapping[str, Sequence[str]]
    """What there is to say of each point, by the marks of what is drawn."""

    def titled(self, title: str = "") -> Figure:
        """The figure with a title; for a file, which has none around it."""
        words = textwrap.fill(printable(title or self.title), _TITLE_LETTERS)
        if self.figure.legends:
            self.figure.legends[0].set_title(words)
            text = self.figure.legends[0].get_title()
        else:
            text = self.figure.suptitle(words)
        text.set(fontsize=_SIZE + 2, color=_COLOURS["text"], parse_math=False)
        return self.figure


def plot_rows(title: str, rows: Sequence[Row]) -> Plot:
    """A row for each mean, its name above it."""
    sources = list(dict.fromkeys(source for row in rows for source in row.others))
    names = [textwrap.wrap(row.name, _LETTERS) for row in rows]
    tops = [sum(len(lines) + 1.25 for lines in names[:number]) for number in range(len(rows))]
    places = [top + len(lines) + 0.5 for top, lines in zip(tops, names, strict=True)]
    height = places[-1] + 0.75
    figure, axes = _figure(height + 2.5 + 1.5 * bool(sources))
    axes.set_ylim(height, 0.0)
    axes.yaxis.set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.grid(axis="x", color=_COLOURS["edge"])
    for top, lines in zip(tops, names, strict=True):
        for number, line in enumerate(lines):
            words = axes.text(0.0, top + number + 0.6, line, transform=axes.get_yaxis_transform(), parse_math=False)
            words.set(color=_COLOURS["text"], fontsize=_SIZE, va="center")
    means, colour = [row.mean for row in rows], _COLOURS["line-value"]
    axes.errorbar(means, places, xerr=[row.stderr for row in rows], fmt="none", ecolor=colour, elinewidth=2)
    axes.plot(means, places, ls="", marker="o", ms=7, color=colour, label=_OURS, gid="ours", zorder=3)
    hints = {"ours": [_row_words(row) for row in rows]}
    for number, source in enumerate(sources):
        there = [(row.others[source], place) for row, place in zip(rows, places, strict=True) if source in row.others]
        look: dict[str, Any] = {"marker": "Ds^vX"[number % 5], "ms": 7, "mfc": "none", "mew": 1.5}
        hints[f"others-{number}"] = [f"{source}: {number_words(value)}" for value, _ in there]
        values, beside = zip(*there, strict=True)
        axes.plot(values, beside, ls="", color=_COLOURS["line-error"], label=source, gid=f"others-{number}", **look)
    if sources:
        _add_legend(figure, axes)
    said = "; ".join(f"{row.name} {number_words(row.mean)}" for row in rows)
    return Plot(title, figure, f"{title}: {said}", hints)


def plot_curves(
    title: str, x: str, y: str, series: Sequence[Series], levels: Sequence[Level] = (), logarithmic: bool = False
) -> Plot:
    """Curves with error bars, and dashed lines across at some levels."""
    names = list(dict.fromkeys(one.name for one in series))
    figure, axes = _figure(15.5 + 1.1 * (len(names) + len(levels)))
    axes.set(xlabel=x, ylabel=y, xscale="log" if logarithmic else "linear")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.margins(x=0.05, y=0.08)
    axes.grid(axis="y", color=_COLOURS["edge"])
    places = {place for one in series for place, _, _ in one.points}
    if logarithmic and len(places) == 1:
        axes.set_xlim(min(places) / 2.0, 2.0 * min(places))  # else the axis would have no length
    hints: dict[str, list[str]] = {}
    for number, one in enumerate(series):
        look = names.index(one.name)
        colour, marker = _line_colour(look), _MARKERS[look % len(_MARKERS)]
        label = one.name if one.name not in [other.name for other in series[:number]] else ""
        at, means, errors = zip(*one.points, strict=True)
        axes.errorbar(at, means, errors, fmt="none", ecolor=colour, elinewidth=1.5)
        axes.plot(at, means, color=colour, marker=marker, ms=6, lw=1.8, label=label, gid=f"curve-{number}")
        hints[f"curve-{number}"] = [
            "\n".join(filter(None, (one.name, f"{place:g} {x}", f"{number_words(mean)} ± {number_words(error)}")))
            for place, mean, error in one.points
        ]
    for number, level in enumerate(levels):
        colour = _line_colour(names.index(level.like)) if level.like in names else _COLOURS["soft"]
        words, dashes = f"{level.name}: {number_words(level.value, 1)}", (0, (2 + 3 * (number % 3), 2))
        axes.axhline(level.value, color=colour, ls=dashes, lw=1.3, label=words, zorder=1)
    if logarithmic:
        _mark_places(axes, places)
    else:
        axes.set_xlim(left=0.0)
    if any(names) or levels:
        _add_legend(figure, axes)
    ends = [(one.name, one.points[0][1], one.points[-1][1]) for one in series]
    said = "; ".join(f"{name} from {number_words(first)} to {number_words(last)}" for name, first, last in ends)
    return Plot(title, figure, f"{title}: {said}", hints)


def to_svg(plot: Plot) -> str:
    """A plot as an element of a page: with the page's font and the colours of its theme, as wide as there is room."""
    for space, address in (("", _SVG), ("xlink", _LINK)):
        ElementTree.register_namespace(space, address)
    file = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": plot.description}):
        plot.figure.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    used = set(re.findall(r"#([\w-]+)", file.getvalue().decode()))
    for parent in list(root.iter()):
        for child in list(parent):
            # a style would be the whole page's
            if child.get("id") == _GROUND or child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        hints = plot.hints.get(element.get("id", ""))
        if hints is not None:
            element.set("class", "points")
            for point, hint in zip(element.iter(f"{{{_SVG}}}use"), hints, strict=True):
                ElementTree.SubElement(point, f"{{{_SVG}}}title").text = hint
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        if "style" in element.attrib:
            element.set("style", _for_page(element.attrib["style"]))
    view = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": plot.description})
    return ElementTree.tostring(root, encoding="unicode")


def _for_page(style: str) -> str:
    """A style with the page's font and colours."""
    style = re.sub(r"font-family: [^;]*;", "", re.sub(r"font: ([\d.]+px)[^;]*", r"font-size: \1", style))
    for name, colour in _COLOURS.items():
        style = style.replace(colour, f"var(--{name})")
    return style


def _line_colour(number: int) -> str:
    return _COLOURS[_LINES[number % len(_LINES)]]


def _row_words(row: Row) -> str:
    others = [f"{source}: {number_words(value)}" for source, value in row.others.items()]
    return "\n".join([f"{row.name}: {number_words(row.mean)} ± {number_words(row.stderr)}", *others])


def _figure(lines: float) -> tuple[Figure, Axes]:
    """A figure as high as so many lines of text, with axes without a frame."""
    figure = Figure(figsize=(_WIDTH, _LINE * lines), layout="constrained")
    axes = figure.subplots()
    figure.patch.set_gid(_GROUND)
    axes.patch.set_gid(_GROUND)
    axes.set_frame_on(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=_COLOURS["soft"], labelsize=_SIZE)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=_COLOURS["soft"], fontsize=_SIZE)
    return figure, axes


def _add_legend(figure: Figure, axes: Axes) -> None:
    """Above the plot, in columns if all names are short."""
    labels = axes.get_legend_handles_labels()[1]
    columns = max(1, min(3, _LETTERS // (5 + max(map(len, labels)))))
    legend = figure.legend(
        loc="outside upper left", ncols=columns, alignment="left", frameon=False, fontsize=_SIZE,
        labelcolor=_COLOURS["soft"], handlelength=1.8, borderpad=0.0, labelspacing=0.3, columnspacing=1.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _mark_places(axes: Axes, places: set[float]) -> None:
    """Write the places of the points at the axis, as many as there is room for."""
    low, high = (math.log10(end) for end in axes.get_xlim())
    found: list[tuple[float, str]] = []
    free = -math.inf
    for place in sorted(places):
        name = f"{place:g}" if place < 1000 else f"{place:,.0f}"
        at, half = (math.log10(place) - low) / (high - low), 0.6 * len(name) / _LETTERS
        if at - half >= free:
            found.append((place, name))
            free = at + half + 0.02
    axes.xaxis.set_major_locator(FixedLocator([place for place, _ in found]))
    axes.xaxis.set_major_formatter(FixedFormatter([name for _, name in found]))
    axes.minorticks_off()
