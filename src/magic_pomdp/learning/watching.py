"""What a person sees of a training: a live table or plain lines, a file of metrics, TensorBoard, a learning curve."""

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

METRICS = "metrics.jsonl"
CURVE = "learning-curve.png"
BEGINNING = "compiling or loading the planner …"
"""What a person sees before the first report."""
LINE_SECONDS = 30.0
"""Time between lines where there is no terminal."""


class Watch:
    """Is told of everything that happens, and shows it. A training without any is silent."""

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def say(self, sentence: str) -> None:
        """Something that happened once."""

    def progress(self, report: dict[str, Any]) -> None:
        """How the training stands, every few seconds."""

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        """The result of an evaluation, and of all evaluations so far."""


class MetricsFile(Watch):
    """Every report as a line of JSON."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS
        if self.path.is_file() and not self.path.read_bytes().endswith(b"\n"):
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")  # a training that was killed may have left half a line

    def say(self, sentence: str) -> None:
        self._write({"event": "note", "text": sentence})

    def progress(self, report: dict[str, Any]) -> None:
        self._write({"event": "progress", **report})

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        self._write({"event": "evaluation", **report})

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """All lines of a training's metrics that can be read."""
    lines = []
    for line in (folder / METRICS).read_text(encoding="utf-8").splitlines():
        with suppress(json.JSONDecodeError):  # half a line, of a training that was killed
            lines.append(json.loads(line))
    return [line for line in lines if isinstance(line, dict)]


class CurvePicture(Watch):
    """The learning curve, drawn anew after every evaluation."""

    def __init__(self, folder: Path, title: str) -> None:
        self.path, self.title = folder / CURVE, title

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        draw_curve(self.path, self.title, history)


def draw_curve(path: Path, title: str, history: list[dict[str, Any]]) -> None:
    """Save a picture of the evaluations of a training: mean return against minutes, with standard errors."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.subplots()
    columns = {name: [point[name] for point in history] for name in ("minutes", "return_mean", "return_stderr")}
    axes.errorbar(columns["minutes"], columns["return_mean"], columns["return_stderr"], marker="o", ms=4, capsize=2)
    axes.set(title=title, xlabel="minutes of training", ylabel="return with the mean parameters")
    axes.grid(alpha=0.3)
    FigureCanvasAgg(figure)
    temporary = path.with_name(f".{path.name}.part")
    figure.savefig(temporary, dpi=120, format="png")
    temporary.replace(path)


class TensorBoard(Watch):
    """The same numbers for TensorBoard."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"))

    def __exit__(self, *_: Any) -> None:
        self._writer.close()

    def progress(self, report: dict[str, Any]) -> None:
        self._add("training", report)

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        self._add("evaluation", report)

    def _add(self, group: str, report: dict[str, Any]) -> None:
        for name, value in report.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "updates":
                self._writer.add_scalar(f"{group}/{name}", value, report["updates"])


class Lines(Watch):
    """A line every half minute, for logs."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self._write = write or (lambda line: print(line, file=sys.stderr, flush=True))
        self._last = 0.0

    def say(self, sentence: str) -> None:
        self._write(sentence)

    def progress(self, report: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            self._write(progress_line(report))

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        self._write(evaluation_line(report))


class Screen(Watch):
    """A live table on a terminal; sentences and evaluations scroll by above it."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._title = title
        self._console = Console(stderr=True)
        self._live = Live(f"{title}: {BEGINNING}", console=self._console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._live.stop()

    def say(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, highlight=False)

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        self.say(evaluation_line(report))

    def progress(self, report: dict[str, Any]) -> None:
        from rich.table import Table

        table = Table(show_header=False, title=self._title)
        for name, value in progress_rows(report).items():
            table.add_row(name, value)
        self._live.update(table)


def progress_rows(report: dict[str, Any]) -> dict[str, str]:
    """A report in words, by name."""
    rows = {
        "time": f"{report['minutes']:.1f} minutes" + _left(report),
        "updates": f"{report['updates']:,}; {report['updates_per_second']:.1f} a second",
        "plans": f"{report['plans']:,}; {report['plans_per_second']:.1f} a second; {report['replay']:,} in the replay",
    }
    if report["recent_return"] is not None:
        rows["return"] = (
            f"{report['recent_return']:.1f} lately, in {report['episodes']:,} episodes with sampled parameters"
        )
    if "critic_loss" in report:
        rows["critic"] = f"loss {report['critic_loss']:.3f}, error {report['critic_error']:.2f}"
        rows["generator"] = (
            f"expects {report['expected_value']:.2f}; entropy {report['entropy']:.2f}, std {report['std']:.3f}, "
            f"α {report['alpha']:.4f}"
        )
    if report["warming_up"]:
        rows["warm-up"] = "noisy handcrafted macro-actions; nothing is learned yet"
    if report["evaluation"] is not None:
        rows["evaluation"] = report["evaluation"]
    if report.get("best") is not None:
        rows["best"] = f"{report['best']:.1f} in an evaluation"
    return rows


def _left(report: dict[str, Any]) -> str:
    return "" if report.get("minutes_left") is None else f", {report['minutes_left']:.1f} left"


def progress_line(report: dict[str, Any]) -> str:
    """A report in one line."""
    return " | ".join(f"{name}: {text}" for name, text in progress_rows(report).items())


def evaluation_line(report: dict[str, Any]) -> str:
    """An evaluation in one line."""
    if report["final"]:
        beginning = f"The best generator, of {report['updates']:,} updates, on other episodes: return "
    else:
        beginning = f"Evaluation after {report['minutes']:.1f} minutes, {report['updates']:,} updates: return "
    return (
        f"{beginning}{report['return_mean']:.1f} ± {report['return_stderr']:.1f}, success "
        f"{report['success_rate']:.0%} in {report['episodes']} episodes"
        + (" (the best so far)" if report["best"] else "")
    )


class Everyone(Watch):
    """Tells several watches."""

    def __init__(self, *watches: Watch) -> None:
        self.watches = watches

    def __enter__(self) -> "Everyone":
        for watch in self.watches:
            watch.__enter__()
        return self

    def __exit__(self, *arguments: Any) -> None:
        for watch in self.watches:
            watch.__exit__(*arguments)

    def say(self, sentence: str) -> None:
        for watch in self.watches:
            watch.say(sentence)

    def progress(self, report: dict[str, Any]) -> None:
        for watch in self.watches:
            watch.progress(report)

    def evaluated(self, report: dict[str, Any], history: list[dict[str, Any]]) -> None:
        for watch in self.watches:
            watch.evaluated(report, history)


def watch_all(folder: Path, title: str) -> Everyone:
    """Everything that can be shown here: metrics always, the rest if it is installed."""
    watches: list[Watch] = [MetricsFile(folder), Screen(title) if sys.stderr.isatty() else Lines()]
    if find_spec("matplotlib") is not None:
        watches.append(CurvePicture(folder, title))
    if find_spec("tensorboard") is not None:
        watches.append(TensorBoard(folder))
    return Everyone(*watches)
