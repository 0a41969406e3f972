import json
import math
import re
from pathlib import Path

import msgspec
import pytest
from small_results import a_point, a_record, a_training, an_evaluation

from magic_pomdp import __version__
from magic_pomdp.results.base import FORMAT
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Evaluation, Mean
from magic_pomdp.results.files import Damaged, as_stored, read, read_as, read_if_result, write
from magic_pomdp.results.speed import Bench, Measurement
from magic_pomdp.results.training import Ablation, Curve, Curves

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("benchmarks/*.json"), *ROOT.glob("docs/*.json")])
NO_RESULTS = {"crowd-driving-driver.json", "crowd-driving-speed.json", "crowd-driving-traffic.json"}
RESULTS = [path for path in FILES if path.name not in NO_RESULTS]


def evaluation(**changes):
    told = {"statistics": {"distance": Mean(mean=1.5, stderr=0.1)}, "task_parameters": {"corners": [[0.0, 1.0]]}}
    records = tuple(a_record(episode, statistics={"distance": 1.5}) for episode in range(2))
    return an_evaluation(
        **{"label": "DESPOT", "settings": {"xi": 0.5, "way": None}, "records": records, **told, **changes}
    )


POINT = a_point()
EACH_KIND = [
    evaluation(),
    evaluation(budget=None, records=(), complete=False),
    Comparison(task="tiger", evaluations=(evaluation(),)),
    Curves(task="tiger", handcrafted=None, curves=(Curve(label="seed 0", points=(POINT,)),)),
    a_training(),
    Ablation.of("tiger", evaluation(), (a_training(), a_training(seed=1))),
    Bench(processor="some", repeats=3, measurements=(Measurement(name="step", value=1.0, unit="ms", ratio=2.0),)),
]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_every_stored_result_can_be_read_and_comes_back(path, tmp_path):
    found = read(path)
    write(tmp_path / "again.json", found)
    assert read(tmp_path / "again.json") == found
    old = json.loads(path.read_text(encoding="utf-8"))
    if "kind" in old:
        return
    assert (found.version, found.software) == (FORMAT, "0.1.0")
    new = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    same = old.keys() & new.keys() - {"version", "budget", "records", "statistics", "rows", "trainings", "handcrafted"}
    for name in same:
        assert new[name] == old[name]
    if isinstance(found, Evaluation):
        assert found.episodes == len(found.records)
        assert [one.total_return for one in found.records] == [one["return"] for one in old["records"]]
        assert all(one.keys() >= found.statistics.keys() for one in old["records"])
        assert {f"{name}_mean" for name in found.statistics} | new.keys() >= {
            name for name in old if name.endswith("_mean")
        }


def test_what_a_task_tells_of_its_episodes_has_its_own_place():
    path = ROOT / "benchmarks" / "crowd-driving_magic_0.5s.json"
    found, old = read_as(path, Evaluation), json.loads(path.read_text())
    if "kind" not in old:
        assert found.statistics["distance"] == Mean(mean=old["distance_mean"], stderr=old["distance_stderr"])
    assert found.records[0].statistics.keys() == found.statistics.keys()
    assert list(found.statistics) == ["distance", "stall_rate", "collision_rate", "off_road_rate", "backwards_rate"]


@pytest.mark.parametrize("name", sorted(NO_RESULTS))
def test_other_files_hold_no_result(name):
    path = ROOT / "benchmarks" / name
    assert read_if_result(path) is None
    with pytest.raises(ValueError, match=rf"{name} holds no result of magic-pomdp: evaluate, .* make some\.$"):
        read(path)


@pytest.mark.parametrize("result", EACH_KIND, ids=lambda result: type(result).__name__)
def test_a_written_result_comes_back(result, tmp_path):
    path = tmp_path / "result.json"
    write(path, result)
    assert read(path) == result == as_stored(result)
    assert read_as(path, type(result)) == result
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{\n  "kind": ')
    assert text.endswith("}\n")
    assert (json.loads(text)["version"], json.loads(text)["software"]) == (FORMAT, __version__)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_what_json_can_hold():
    assert as_stored(evaluation(task_parameters={"size": (1, 2)})).task_parameters == {"size": [1, 2]}


def test_another_kind_is_refused(tmp_path):
    path = tmp_path / "result.json"
    write(path, EACH_KIND[2])
    with pytest.raises(ValueError, match=r"result\.json holds a comparison, but an evaluation is needed\.$"):
        read_as(path, Evaluation)


def changed(result, place, value):
    """A result as JSON, with something else in a place; without it if that is `...`."""
    plain = msgspec.to_builtins(result)
    *way, last = place
    part = plain
    for step in way:
        part = part[step]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return plain


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["return_mean"], "5", "is damaged at $.return_mean: expected float, got str."),
        (["return_mean"], None, "is damaged at $.return_mean: expected float, got null."),
        (["return_mean"], ..., "is damaged at $: the field return_mean is missing."),
        (["seed"], 1.5, "is damaged at $.seed: expected int, got float."),
        (["records", 1, "return"], ..., "is damaged at $.records[1]: the field return is missing."),
        (["records", 1, "return"], "x", "is damaged at $.records[1].return: expected float, got str."),
        (["records", 1, "outcome"], "lost", "is damaged at $.records[1].outcome: invalid enum value 'lost'."),
        (["records", 1, "statistics"], [], "is damaged at $.records[1].statistics: expected object, got array."),
        (["records", 1, "episode"], 0, "is damaged at $: an episode comes twice in the records."),
        (["records"], {}, "is damaged at $.records: expected array, got object."),
        (["budget"], {}, "is damaged at $.budget: a budget is either seconds or primitive steps, but neither were"),
        (["budget", "steps"], -1, "is damaged at $.budget: a budget in primitive steps must be positive, not -1."),
        (["settings", "xi"], [], "is damaged at $.settings[...]: expected bool | int | float | str | null, got array."),
        (["records", 1, "steps"], -1, "is damaged at $.records[1].steps: expected int >= 0."),
        (["records", 1, "steps"], True, "is damaged at $.records[1].steps: expected int, got bool."),
        (["records", 1, "belief_error"], -0.5, "is damaged at $.records[1].belief_error: expected float >= 0.0."),
        (["episodes"], 3, "is damaged at $: records must have 3 entries, one for each of the episodes, not 2."),
        (["episodes"], 10**90, "is damaged at $.episodes: expected int <= 9007199254740992."),
        (["success_rate"], 1.5, "is damaged at $.success_rate: expected float <= 1.0."),
        (
            ["success_rate"],
            0.5,
            "is damaged at $: success_rate, failure_rate and unfinished_rate must add up to 1, not",
        ),
        (["return_stderr"], -1, "is damaged at $.return_stderr: expected float >= 0.0."),
        (["return_mean"], 1e300, "is damaged at $.return_mean: expected a finite number below 1e+100."),
        (["statistics", "distance", "stderr"], -1, "is damaged at $.statistics[...].stderr: expected float >= 0.0."),
        (["seed"], -1, "is damaged at $: the seed must be at least 0, not -1."),
        (["seed"], 2**64, "is damaged at $: the seed must be below 2^64, not 18446744073709551616."),
        (["task"], "", "is damaged at $.task: expected str of length >= 1."),
        (["planner"], "", "is damaged at $.planner: expected str of length >= 1."),
        (["macro_length"], 0, "is damaged at $.macro_length: expected int >= 1."),
        (["records", 1, "outcome"], "a\x1b[2J", r"is damaged at $.records[1].outcome: invalid enum value 'a\x1b[2J'."),
        (["version"], 0, "is damaged at $.version: expected int >= 1."),
        (["version"], True, "is damaged at $.version: expected int, got bool."),
        (["version"], 99, f"is of format 99, made by magic-pomdp {__version__}, and this version reads formats up to"),
        (["version"], "0.1.0", "is damaged at $.version: expected int, got str."),
        (["kind"], "poem", "holds no result of magic-pomdp"),
        (["kind"], [], "holds no result of magic-pomdp"),
    ],
)
def test_damage_is_said_in_one_sentence(tmp_path, place, value, sentence):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(changed(evaluation(), place, value)))
    with pytest.raises(ValueError, match=re.escape(f"{path} {sentence}")) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert type(caught.value) in (ValueError, Damaged)


@pytest.mark.parametrize("change", [{"records": 3}, {"records": [3]}, {"records": [[]]}, {"episodes": "x"}])
def test_damage_in_older_files_is_said_too(tmp_path, change):
    path = tmp_path / "result.json"
    old = {"task": "t", "planner": "p", "budget": None, "seed": 0, "settings": {}, "version": "0.1.0", "episodes": 1}
    figures = msgspec.to_builtins(evaluation(statistics={}, records=()))
    for name in ("kind", "version", "software", "statistics"):
        del figures[name]
    path.write_text(json.dumps(figures | old))
    assert read(path).software == "0.1.0"
    path.write_text(json.dumps(figures | old | change))
    (name,) = change
    with pytest.raises(ValueError, match=rf"result\.json is damaged at \$\.{name}"):
        read(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not JSON, or is damaged."),
        (b"{", "is not JSON, or is damaged."),
        (b"poem", "is not JSON, or is damaged at byte 0."),
        (b'"\xff"', "is not JSON, or is damaged."),
        (b"[" * 100_000, "is damaged: its JSON is nested more than 40 deep."),
        (b'{"kind": "evaluation", "return_mean": NaN}', "is damaged at byte 38: expected a finite number."),
        (b'{"kind": "evaluation", "return_mean": -Infinity}', "is damaged at byte 39: expected a finite number."),
        (b'{"kind": "evaluation", "return_mean": 1e999}', "is damaged at $[...]: number out of range."),
        (b"[]", "holds no result of magic-pomdp"),
        (b"{}", "holds no result of magic-pomdp"),
    ],
)
def test_files_that_are_none_are_refused_in_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "result.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"{path} {sentence}")) as caught:
        read(path)
    assert type(caught.value) in (ValueError, Damaged)


def test_parts_must_fit_together(tmp_path):
    path = tmp_path / "result.json"
    for result, place, value, sentence in (
        (EACH_KIND[2], ["task"], "other", "$: evaluations must all be of other, not of tiger."),
        (EACH_KIND[2], ["evaluations"], [], "$.evaluations: expected array of length >= 1."),
        (
            EACH_KIND[3],
            ["curves", 0, "points", 0, "minutes"],
            -1,
            "$.curves[0].points[0].minutes: expected float >= 0.0.",
        ),
        (EACH_KIND[4], ["seed"], -1, "$: the seed must be at least 0, not -1."),
        (EACH_KIND[5], ["rows", 0, "success_rate"], 2, "$.rows[0].success_rate: expected float <= 1.0."),
        (EACH_KIND[6], ["measurements", 0, "value"], -1, "$.measurements[0].value: expected float >= 0.0."),
        (EACH_KIND[6], ["repeats"], -1, "$.repeats: expected int >= 0."),
    ):
        path.write_text(json.dumps(changed(result, place, value)))
        with pytest.raises(Damaged, match=re.escape(f"{path} is damaged at {sentence}")):
            read(path)
    with pytest.raises(ValueError, match="must be evaluated on the same episodes"):
        Ablation.of("tiger", evaluation(), (a_training(), a_training(seed=1, evaluation=evaluation(records=()))))


def test_more_than_can_be_read_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    monkeypatch.setattr("magic_pomdp.core.reading.MOST_VALUES", 100)
    with pytest.raises(ValueError, match=r"result\.json holds more than the 100 values that are read\."):
        write(path, evaluation())
    assert not path.exists()


def test_a_missing_file_is_named(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ValueError, match=re.escape(f"There is no file {path}.")):
            read(path)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_never_written(tmp_path, number):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(
        ValueError, match=r"result\.json is not written, since \$\.records\[0\]\.statistics\.distance is"
    ):
        write(path, evaluation(records=(a_record(statistics={"distance": number}),)))
    assert path.read_text() == "old"


def test_a_path_may_be_text_and_what_is_no_result_is_said(tmp_path):
    path = str(tmp_path / "some.json")
    write(path, evaluation())
    assert read(path) == read(Path(path))
    with pytest.raises(ValueError, match=r"^best.safetensors is a model or a checkpoint and no result"):
        read("best.safetensors")
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match="holds no result of magic-pomdp"):
        read(str(tmp_path / "other.json"))
