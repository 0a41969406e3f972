"""Small valid results and recordings of every kind, and what must work with whatever is read of a damaged one.

`try_…` reads a file, writes it, reads it again and makes the terminal's tables; `show_…` makes pages, plots and videos,
which takes longer. Both raise the reader's ValueError if the file is refused, and anything else if something is wrong.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from small_results import a_point, a_record, a_training, an_evaluation

from magic_pomdp import Budget
from magic_pomdp.core.scene import Circle, Handle, Line, Scene, Text, Track, box
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Evaluation, Mean
from magic_pomdp.results.files import Result, read, write
from magic_pomdp.results.identification import FittedParameter, Identification
from magic_pomdp.results.recording import (
    PlannerInfo,
    RecordedEpisode,
    RecordedPlan,
    Recording,
    TaskInfo,
    TreeTop,
    load_recording,
    save_recording,
    to_text,
)
from magic_pomdp.results.speed import Bench, Measurement
from magic_pomdp.results.training import Ablation, AblationTraining, Curve, Curves
from magic_pomdp.running.difference import difference
from magic_pomdp.show.tables import (
    ablation_table,
    bench_table,
    comparison_table,
    difference_table,
    evaluation_table,
    identification_table,
)

_OLD = Path(__file__).parents[1] / "running" / "version-1.record.gz"


def valid_results() -> dict[str, bytes]:
    """A file of every kind of result, by the kind; one of software 0.1.0, too."""
    records = tuple(a_record(number, total_return=float(number), statistics={"distance": 1.5}) for number in range(3))
    told = {"statistics": {"distance": Mean(mean=1.5, stderr=0.1)}, "task_parameters": {"corners": [[0.0, 1.0]]}}
    evaluation = an_evaluation(label="DESPOT", records=records, macro_length=3, **told)
    other = an_evaluation(planner="magic", budget=Budget(seconds=0.5), records=records, **told)
    elsewhere = {"world": "a table", "world_settings": {"friction": 1.0}, "identified": "fitted.json"}
    curves = Curve(label="seed 0", points=(a_point(), a_point(minutes=2.0, updates=9)))
    measured = Measurement(name="step", value=1.0, median=1.5, unit="ms", ratio=2.0)
    trainings = a_training(evaluation=evaluation), a_training(seed=1, evaluation=evaluation)
    found = {
        "evaluation": evaluation,
        "evaluation in another world": an_evaluation(records=records, **elsewhere),
        "comparison": Comparison(task="tiger", evaluations=(evaluation, other)).without_records(),
        "curves": Curves(task="light-dark", handcrafted=0.5, curves=(curves, Curve(label="", points=(a_point(),)))),
        "training": a_training(),
        "ablation": Ablation.of("tiger", evaluation, trainings),
        "identification": Identification(
            task="puck-push",
            world="a table",
            world_settings={"friction": 1.0},
            seed=3,
            trials=40,
            parameters=(FittedParameter(name="creep", model=0.01, value=0.015, stderr=0.001, about="1/mm"),),
            measured={"ms a frame": 4.5},
        ),
        "bench": Bench(processor="some", python="3.11", repeats=3, measurements=(measured,)),
    }
    contents = {kind: msgspec.json.encode(result) for kind, result in found.items()}
    return {**contents, "evaluation of 0.1.0": _of_version_1(evaluation)}


def valid_recordings() -> dict[str, bytes]:
    """Recordings as JSON, with a look and without, and the packed file of one of software 0.1.0."""
    seen, unseen = _recording(_SCENE), _recording(None)
    return {
        "recording": to_text(seen).encode(),
        "recording without a look": to_text(unseen).encode(),
        "recording of 0.1.0": _OLD.read_bytes(),
    }


def try_result(content: bytes, folder: Path) -> None:
    """Read a result, write it and read it again, and make tables of it."""
    result = _read(content, folder)
    with accepted():
        again = folder / "again.json"
        write(again, result)
        assert read(again) == result
        _tables(result)


def show_result(content: bytes, folder: Path) -> None:
    """Read a result and show it on a page, and in plots."""
    from magic_pomdp.show.anytime import draw_anytime
    from magic_pomdp.show.curves import draw_curves
    from magic_pomdp.show.report import report_page
    from magic_pomdp.show.results import Results

    result = _read(content, folder)
    with accepted():
        results = Results()
        results.add(result)
        report_page(results).encode()
        if isinstance(result, Curves):
            draw_curves(result, folder / "curves.png")
        if isinstance(result, Comparison):
            draw_anytime(result, folder / "anytime.png")


def try_recording(content: bytes, folder: Path) -> None:
    """Read a recording, write it and read it again."""
    recording = _load(content, folder)
    with accepted():
        again = folder / "again.record.gz"
        save_recording(again, recording)
        assert to_text(load_recording(again)) == to_text(recording)


def show_recording(content: bytes, folder: Path) -> None:
    """Read a recording and show it on pages and as videos."""
    from magic_pomdp.show.replay import write_replay
    from magic_pomdp.show.report import report_page
    from magic_pomdp.show.results import Results
    from magic_pomdp.show.video import write_video

    recording = _load(content, folder)
    with accepted():
        write_replay(folder / "replay.html", [recording])
        results = Results()
        results.add(recording)
        report_page(results).encode()
        for episode in recording.episodes:
            if episode.scene is not None:
                write_video(folder / "a.gif", [recording], episode.episode, fps=1.0, speed=1.2, width=120)


@contextmanager
def accepted() -> Iterator[None]:
    """What was read must work: nothing is refused any more."""
    try:
        yield
    except ValueError as error:
        raise AssertionError(f"What was read is refused later: {error}") from error


def _read(content: bytes, folder: Path) -> Result:
    path = folder / "result.json"
    path.write_bytes(content)
    return read(path)


def _load(content: bytes, folder: Path) -> Recording:
    path = folder / "some.record.gz"
    path.write_bytes(content)
    return load_recording(path)


def _tables(result: Result) -> None:
    console = Console(width=200, file=io.StringIO())
    match result:
        case Evaluation():
            _evaluation_tables(console, result)
        case AblationTraining():
            _evaluation_tables(console, result.evaluation)
        case Comparison():
            console.print(comparison_table("Some", result.evaluations))
        case Ablation():
            console.print(ablation_table(result))
            result.curves()
        case Identification():
            console.print(identification_table(result))
        case Bench():
            console.print(bench_table(result))


def _evaluation_tables(console: Console, evaluation: Evaluation) -> None:
    console.print(evaluation_table(evaluation))
    console.print(comparison_table("Some", [evaluation]))
    if len(evaluation.records) >= 2:
        console.print(difference_table(evaluation, [(evaluation, difference(evaluation, evaluation))]))


def _of_version_1(evaluation: Evaluation) -> bytes:
    plain = msgspec.to_builtins(evaluation)
    for name in ("kind", "software", "label", "concurrent", "code", "task_parameters", "complete"):
        del plain[name]
    for name, told in plain.pop("statistics").items():
        plain |= {f"{name}_mean": told["mean"], f"{name}_stderr": told["stderr"]}
    for record in plain["records"]:
        del record["belief_error_least"]
    plain["records"] = [{**record.pop("statistics"), **record} for record in plain["records"]]
    return json.dumps(plain | {"version": "0.1.0"}).encode()


_SCENE = Scene(
    view=(-1.0, -1.0, 3.0, 2.0),
    shapes=(Circle(1.0, 1.0, 0.5, "#ff8800", filled=False), Line(((0.0, 0.0), (1.0, 1.0)), "goal", dashed=True)),
    robot=(0, 1),
    particles=(Track(0, 1),),
    trails=(Track(0, 1, "path"),),
    handles=(Handle("goal", 0, None), Handle("thing", 0, 1, "hidden", 0.2)),
)


def _recording(scene: Scene | None) -> Recording:
    sprites = (box(0.0, 0.0, 0.5, 0.4, 0.2), Text(1.0, 1.0, "here")) if scene else ()
    tree = TreeTop(
        parent=(-1, 0, 1, 0),
        macro=(-1, 0, -1, 1),
        value=(1.0, 0.5, None, 1.0),
        upper=(2.0, 1.5, None, 1.5),
        share=(1.0, 1.0, 0.5, 1.0),
        size=(2, 1, 0, 0),
    )
    plan = RecordedPlan(
        time=0, choice=1, value=1.0, lower=0.5, upper=2.0, trials=3, nodes=2, depth=1, steps=50, seconds=0.01,
        stopped_by="budget used", values=np.array([0.5, 1.0]), uppers=np.array([1.5, 2.0]),
        macro_actions=np.zeros((2, 2, 1), np.float32), lengths=np.array([1, 2]),
        paths=np.zeros((2, 3, 2), np.float32) if scene else None, tree=tree,
    )  # fmt: skip
    episode = RecordedEpisode(
        episode=0, total_return=3.0, discounted_return=2.5, steps=2, outcome="success", belief_error=0.5,
        belief_error_final=0.25, recoveries=0, ignored=0, statistics={"distance": 1.0}, context=np.zeros(1),
        scene=scene, states=np.arange(6.0).reshape(3, 2), particles=np.zeros((3, 4, 2), np.float32),
        sprites=(sprites,) * 3, plan_of_frame=(0, 0, 1), rewards=(1.0, 2.0), actions=np.zeros((2, 1)),
        observations=np.zeros((2, 1)), belief_errors=(0.5, 0.4, None), belief_spreads=(0.5, 0.4, 0.3),
        plans=(plan, msgspec.structs.replace(plan, time=2, lower=None, upper=None, uppers=None, tree=None)),
    )  # fmt: skip
    return Recording(
        task=TaskInfo(name="some", discount=0.98, parameters={"noise": 0.5}),
        planner=PlannerInfo(name="macro-despot", label="Macro-DESPOT", macro_length=2, budget=Budget(steps=50)),
        seed=3,
        episodes=(episode, msgspec.structs.replace(episode, episode=2)),
    )
