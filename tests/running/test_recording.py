import gzip
import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp import (
    Budget,
    MacroActions,
    MacroDespot,
    Plan,
    PlannerChoice,
    Task,
    load_recording,
    make_task,
    run_episode,
)
from magic_pomdp.planners.tree_top import CHILDREN, ITEMS, NODE, top_of_tree
from magic_pomdp.running.recording import (
    VERSION,
    Recorder,
    RecordingFailed,
    RecordingInterrupted,
    pack,
    record_episodes,
    save_recording,
    trace,
)


def record(planner="macro-despot", episodes=2, **options):
    task = make_task("tiger", max_steps=5)
    choice = PlannerChoice(planner, budget=Budget(steps=2_000))
    return record_episodes(task, choice, episodes, seed=3, workers=0, **options)


def same(one, other):
    """Equal but for time."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one.keys() - {"seconds"})
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return one == other


@pytest.fixture(scope="module")
def recording():
    return record(particles=50)


@pytest.mark.jit_off
def test_all_is_recorded(recording):
    assert [episode["episode"] for episode in recording["episodes"]] == [0, 1]
    for episode in recording["episodes"]:
        frames = episode["steps"] + 1
        assert sum(episode["rewards"]) == pytest.approx(episode["return"])
        assert episode["states"].shape == (frames, 1)
        assert episode["particles"].shape == (frames, 50, 1)
        assert (episode["actions"].shape, episode["observations"].shape) == ((frames - 1, 1), (frames - 1, 1))
        assert len(episode["sprites"]) == len(episode["belief_spreads"]) == len(episode["belief_errors"]) == frames
        for time, number in enumerate(episode["plan_of_frame"][:-1]):
            plan = episode["plans"][number]
            assert plan["time"] <= time
            assert (episode["actions"][time] == plan["macro_actions"][plan["choice"], time - plan["time"]]).all()
            assert plan["values"].max() <= plan["value"] == plan["lower"] <= plan["upper"]
            assert (plan["values"] <= plan["uppers"] + 1e-9).all()


def test_recording_changes_nothing_and_repeats(recording):
    assert same(record(particles=50), recording)
    task = make_task("tiger", max_steps=5)
    plain = run_episode(task, PlannerChoice(budget=Budget(steps=2_000))(task), seed=3, episode=1)
    recorded = recording["episodes"][1]
    assert same({key: recorded[key] for key in plain.to_json()}, {**plain.to_json(), "plans": recorded["plans"]})
    assert len(recorded["plans"]) == plain.to_json()["plans"]


@pytest.mark.parametrize("planner", ["macro-despot", "pomcpow"])
def test_the_top_of_the_tree_fits_the_plan(planner):
    for plan in record(planner, 1)["episodes"][0]["plans"]:
        tree = plan["tree"]
        parent, macro, share = (np.array(tree[name]) for name in ("parent", "macro", "share"))
        assert (parent[0], macro[0], share[0]) == (-1, NODE, pytest.approx(1.0))
        assert (parent[1:] < np.arange(1, len(parent))).all()
        assert len(parent) <= ITEMS + len(plan["values"]) * (CHILDREN + 1)
        first = np.flatnonzero((parent == 0) & (macro != NODE))
        assert sorted(macro[first]) == list(range(len(plan["values"])))
        values = np.array([tree["value"][item] for item in first])
        assert values == pytest.approx(plan["values"][macro[first]], rel=1e-5)
        assert (np.diff(values) <= 0).all()
        for item in np.flatnonzero(macro != NODE):
            below = np.flatnonzero(parent == item)
            assert len(below) == min(CHILDREN, tree["size"][item])
            assert share[below].sum() <= share[item] + 1e-6


def test_what_is_for_the_first_choice_alone_is_at_the_top_of_the_tree_alone():
    task = make_task("tiger")
    macro_actions = replace(MacroActions.repeat(task.actions()[[1, 0, 2]], 1), first_only=1)
    plan = MacroDespot(task, macro_actions).plan(
        np.array([[0.0], [1.0]] * 50), np.zeros(0), budget=Budget(steps=100_000), keep_tree=True
    )
    items = top_of_tree(plan.tree, macro_actions)
    branches = [item for item in items if item.macro != NODE]
    first = {item.macro for item in branches if item.parent == 0}
    below = {item.macro for item in branches if item.parent != 0}
    assert (first, below) == ({0, 1, 2}, {1, 2})
    assert {item.size for item in items[1:] if item.macro == NODE} == {0, 2}


def test_a_plan_made_ahead_keeps_its_own_tree():
    task = make_task("tiger", max_steps=5)
    planner = PlannerChoice(budget=Budget(steps=2_000))(task)
    recorder = Recorder(task, planner)
    plans = recorder.result(run_episode(task, planner, 3, 0, recorder.watch, concurrent=True))["plans"]
    assert len(plans) > 2
    assert (plans[0]["choice"], "tree" in plans[0]) == (0, False)  # it waits for the first plan
    for plan in plans[1:]:
        bounds = plan["tree"]["value"][0], plan["tree"]["upper"][0]
        assert bounds == pytest.approx((plan["lower"], plan["upper"]), rel=1e-5)


def test_macro_actions_are_traced():
    task = make_task("light-dark")
    context = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
    particles = np.array([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    macros = MacroActions(np.array([[[1.0, 0.0]] * 3, [[0.0, 0.0]] * 3]), np.array([2, 1]))
    paths = trace(task, context, particles, macros, (0, 1))
    assert paths[0].tolist() == [[1.0, 0.0], [1.5, 0.0], [2.0, 0.0], [2.0, 0.0]]  # 0.5 a step; then it stays
    assert paths[1].tolist() == [[1.0, 0.0]] * 4
    assert particles[0].tolist() == [0.0, 0.0, 0.0, 0.0]


@dataclass
class Silent:
    """A planner that says only what to do."""

    task: Task

    def plan(self, belief, context, *, budget=None, seed=0):
        return Plan(np.zeros((2, 1)), 7, 0.0, None, None, 1, 1, 1, 1, 0.0, "")


def test_any_planner_can_be_recorded():
    plans = record_episodes(make_task("tiger", max_steps=3), Silent, 1, workers=0)["episodes"][0]["plans"]
    assert [plan["time"] for plan in plans] == [0, 2]
    assert (plans[0]["choice"], plans[0]["values"], "tree" in plans[0]) == (0, None, False)


def test_an_interrupted_recording_keeps_what_was_finished():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(RecordingInterrupted) as caught:
        record(on_progress=interrupt, episodes=5)
    assert [episode["episode"] for episode in caught.value.recording["episodes"]] == [0]


def test_a_failed_recording_keeps_what_was_finished():
    @dataclass
    class Tired(Silent):
        """It gives up in its second episode."""

        plans: int = 0

        def plan(self, belief, context, *, budget=None, seed=0):
            self.plans += 1
            if self.plans > 2:
                raise RuntimeError("tired")
            return super().plan(belief, context, budget=budget, seed=seed)

    with pytest.raises(RecordingFailed, match="Episode 1 failed with RuntimeError: tired") as caught:
        record_episodes(make_task("tiger", max_steps=3), Tired, 3, workers=0)
    assert [episode["episode"] for episode in caught.value.recording["episodes"]] == [0]
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"particles": 0}, "at least one particle"),
    ({"episodes": 0}, "number of episodes must be at least 1"),
])  # fmt: skip
def test_bad_settings_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        record(**options)
    with pytest.raises(ValueError, match="at least one particle"):
        Recorder(make_task("tiger"), Silent(make_task("tiger")), 0)


# -------------------------------------------------------------------------------------------------------------- files


def test_a_file_holds_it_all(recording, tmp_path):
    save_recording(tmp_path / "r.gz", recording)
    loaded = load_recording(tmp_path / "r.gz")
    assert same(
        json.loads(json.dumps(loaded, default=np.ndarray.tolist)),
        json.loads(json.dumps(recording, default=np.ndarray.tolist)),
    )
    assert loaded["episodes"][0]["particles"].dtype == np.float32


def without(recording, name):
    return {**recording, "episodes": [{key: one[key] for key in one.keys() - {name}} for one in recording["episodes"]]}


def without_of_plans(recording, name):
    def shortened(episode):
        return {**episode, "plans": [{key: plan[key] for key in plan.keys() - {name}} for plan in episode["plans"]]}

    return {**recording, "episodes": [shortened(episode) for episode in recording["episodes"]]}


def test_what_is_no_recording_is_refused(recording, tmp_path):
    path = tmp_path / "r.gz"
    whole = pack(recording)
    bad = {
        b"": "is not a recording, or is damaged",
        b"hello": "is not a recording, or is damaged",
        whole[:-20]: "is not a recording, or is damaged",
        gzip.compress(b'{"format": 1'): "is not a recording, or is damaged",
        gzip.compress(b"[1, 2]"): "is not a recording: `magic-pomdp record` makes one",
        gzip.compress(b'{"format": "other"}'): "is not a recording: `magic-pomdp record` makes one",
        pack({**recording, "version": VERSION + 1}): "newer than this program knows",
        pack({**recording, "episodes": []}): "parts of it are missing",
        pack(without(recording, "rewards")): "parts of it are missing",
        pack({**recording, "task": None}): "parts of it are missing",
        **{pack(without(recording, name)): "parts of it are missing" for name in ("outcome", "return", "scene")},
        **{
            pack(without_of_plans(recording, name)): "parts of it are missing"
            for name in ("lengths", "lower", "seconds")
        },
        **{
            gzip.compress(json.dumps({"a": {"dtype": "<f8", **array}}).encode()): "is not a recording, or is damaged"
            for array in (
                {"shape": [1], "data": 5},
                {"shape": 1, "data": ""},
                {"shape": [None], "data": ""},
                {"shape": [math.inf], "data": ""},
                {"shape": [10**30], "data": ""},
            )
        },
    }
    for content, sentence in bad.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=sentence):
            load_recording(path)
    for place in (tmp_path / "none.gz", tmp_path):
        with pytest.raises(ValueError, match=r"There is no file|cannot be read"):
            load_recording(place)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_gives_one_sentence(recording, tmp_path_factory, data):
    content = bytearray(pack(without(recording, "particles")))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"recording"):
        load_recording(path)
