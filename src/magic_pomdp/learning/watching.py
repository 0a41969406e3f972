"""What a person sees of a training: a live table or plain lines, a file of metrics, TensorBoard, a learning curve."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from socket import gethostname
from types import TracebackType
from typing import Any

import msgspec

from magic_pomdp.core.saving import in_one_step, naming
from magic_pomdp.core.statistics import error_words
from magic_pomdp.results.metrics import METRICS, EvaluationReport, MetricsLine, Note, Progress

CURVE = "learning-curve.png"
_BEGINNING = "compiling or loading the planner …"
_OPTIONAL = {"matplotlib": CURVE, "tensorboard": "folder for TensorBoard"}
"""What a folder holds only if a library is there."""
"""What a person sees before the first report."""
_LINE_SECONDS = 30.0
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

    def progress(self, report: Progress) -> None:
        """How the training stands, every few seconds."""

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        """The result of an evaluation, and of all evaluations so far."""


class MetricsFile(Watch):
    """Every report as a line of JSON."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS
        if self.path.is_file() and not self.path.read_bytes().endswith(b"\n"):
            with self.path.open("ab") as file:
                file.write(b"\n")  # a training that was killed may have left half a line

    def say(self, sentence: str) -> None:
        self._write(Note(text=sentence))

    def progress(self, report: Progress) -> None:
        self._write(report)

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        self._write(report)

    def _write(self, line: MetricsLine) -> None:
        with naming(self.path), self.path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


class CurvePicture(Watch):
    """The learning curve, drawn anew after every evaluation."""

    def __init__(self, folder: Path, title: str) -> None:
        self.path, self.title = folder / CURVE, title

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        with suppress(OSError):  # where there is no room, the next checkpoint says so; the next picture has it all
            draw_curve(self.path, self.title, history)


def draw_curve(path: Path, title: str, history: Sequence[EvaluationReport]) -> None:
    """Save a picture of the evaluations of a training: mean return against minutes, with standard errors."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.subplots()
    columns = {
        name: [getattr(report, name) for report in history] for name in ("minutes", "return_mean", "return_stderr")
    }
    axes.errorbar(columns["minutes"], columns["return_mean"], columns["return_stderr"], marker="o", ms=4, capsize=2)
    axes.set(title=title, xlabel="minutes of training", ylabel="return with the mean parameters")
    axes.grid(alpha=0.3)
    FigureCanvasAgg(figure)
    with in_one_step(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")


class TensorBoard(Watch):
    """The same numbers for TensorBoard. Its own writer has a thread, which ends with a traceback where there is no room
    for its file."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._writer = Event, Summary, RecordWriter
        self.path = folder / "tensorboard" / f"events.out.tfevents.{time.time():.6f}.{gethostname()}.{os.getpid()}"
        with naming(self.path):
            self.path.parent.mkdir(exist_ok=True)
        self._add(file_version="brain.Event:2")

    def progress(self, report: Progress) -> None:
        self._tell("training", report, report.updates)
        if report.measured is not None:
            self._tell("training", report.measured, report.updates)

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        self._tell("evaluation", report, report.updates)

    def _tell(self, group: str, numbers: msgspec.Struct, updates: int) -> None:
        values = [
            self._summary.Value(tag=f"{group}/{name}", simple_value=value)
            for name, value in msgspec.structs.asdict(numbers).items()
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "updates"
        ]
        self._add(step=updates, summary=self._summary(value=values))

    def _add(self, **content: Any) -> None:
        event = self._event(wall_time=time.time(), **content)
        with naming(self.path), self.path.open("ab") as file:
            self._writer(file).write(event.SerializeToString())


class Lines(Watch):
    """A line every half minute, for logs."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self._write = write or (lambda line: print(line, file=sys.stderr, flush=True))
        self._last = 0.0

    def __enter__(self) -> "Lines":
        self._write(_BEGINNING.capitalize())
        return self

    def say(self, sentence: str) -> None:
        self._write(sentence)

    def progress(self, report: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= _LINE_SECONDS:
            self._last = now
            self._write(progress_line(report))

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        self._write(evaluation_line(report))


class Screen(Watch):
    """A live table on a terminal; sentences and evaluations scroll by above it."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._title = title
        self._console = Console(stderr=True)
        self._live = Live(f"{title}: {_BEGINNING}", console=self._console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._live.stop()

    def say(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, highlight=False)

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        self.say(evaluation_line(report))

    def progress(self, report: Progress) -> None:
        from magic_pomdp.show.terminal import PlainTable

        table = PlainTable(show_header=False, title=self._title)
        for name, value in progress_rows(report).items():
            table.add_texts(name, value)
        self._live.update(table)


def progress_rows(report: Progress) -> dict[str, str]:
    """A report in words, by name."""
    left = "" if report.minutes_left is None else f", {report.minutes_left:.1f} left"
    more = "" if report.updates_left is None else f", {report.updates_left:,} left"
    rows = {
        "time": f"{report.minutes:.1f} minutes{left}",
        "updates": f"{report.updates:,}{more}; {report.updates_per_second:.1f} a second",
        "plans": f"{report.plans:,}; {report.plans_per_second:.1f} a second; {report.replay:,} in the replay",
    }
    if report.recent_return is not None:
        rows["return"] = f"{report.recent_return:.1f} lately, in {report.episodes:,} episodes with sampled parameters"
    if report.measured is not None:
        measured = report.measured
        target = "" if report.target_entropy is None else f" (target {report.target_entropy:.2f})"
        rows["critic"] = f"loss {measured.critic_loss:.3f}, error {measured.critic_error:.2f} of discounted return"
        rows["generator"] = (
            f"expects {measured.expected_value:.2f}; entropy {measured.entropy:.2f}{target}, std {measured.std:.3f}, "
            f"α {measured.alpha:.4f}"
        )
    if report.warming_up:
        done = "" if report.warmup is None else f"{report.plans:,} of {report.warmup:,} plans; "
        rows["warm-up"] = f"{done}nothing is learned yet"
    if report.evaluation is not None:
        rows["evaluation"] = report.evaluation
    if report.best is not None:
        rows["best"] = f"{report.best:.1f} in an evaluation"
    return rows


def progress_line(report: Progress) -> str:
    """A report in one line."""
    return " | ".join(f"{name}: {text}" for name, text in progress_rows(report).items())


def evaluation_line(report: EvaluationReport) -> str:
    """An evaluation in one line."""
    if report.final:
        beginning = f"The best generator, of {report.updates:,} updates, on other episodes: return "
    else:
        beginning = f"Evaluation after {report.minutes:.1f} minutes, {report.updates:,} updates: return "
    if report.updates == 0:
        beginning = beginning.replace(", 0 updates", ", of the starting set").replace(
            ", of 0 updates", ", the starting set"
        )
    error = error_words(report.return_stderr, report.episodes)
    lead = ""
    if report.lead is not None and report.lead_stderr is not None:
        lead = f"; {report.lead:+.1f} ± {error_words(report.lead_stderr, report.episodes)} against the set to beat"
    return (
        f"{beginning}{report.return_mean:.1f} ± {error}, success "
        f"{report.success_rate:.0%} in {report.episodes} episodes{lead}" + (" (the best so far)" if report.best else "")
    )


class Everyone(Watch):
    """Tells several watches."""

    def __init__(self, *watches: Watch, beginning: Sequence[str] = ()) -> None:
        self.watches, self._beginning = watches, beginning

    def __enter__(self) -> "Everyone":
        for watch in self.watches:
            watch.__enter__()
        for sentence in self._beginning:
            self.say(sentence)
        return self

    def __exit__(self, *arguments: Any) -> None:
        for watch in self.watches:
            watch.__exit__(*arguments)

    def say(self, sentence: str) -> None:
        for watch in self.watches:
            watch.say(sentence)

    def progress(self, report: Progress) -> None:
        for watch in self.watches:
            watch.progress(report)

    def evaluated(self, report: EvaluationReport, history: Sequence[EvaluationReport]) -> None:
        for watch in self.watches:
            watch.evaluated(report, history)


def watch_all(folder: Path, title: str) -> Everyone:
    """Everything that can be shown here: metrics always, the rest if it is installed. What is not, it says."""
    watches: list[Watch] = [MetricsFile(folder), Screen(title) if sys.stderr.isatty() else Lines()]
    missing = [module for module in _OPTIONAL if find_spec(module) is None]
    if "matplotlib" not in missing:
        watches.append(CurvePicture(folder, title))
    if "tensorboard" not in missing:
        watches.append(TensorBoard(folder))
    return Everyone(*watches, beginning=[f"No {_OPTIONAL[module]}: {module} is missing." for module in missing])
