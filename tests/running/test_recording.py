import gzip
import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp import (
    Budget,
    MacroActions,
    MacroDespot,
    Plan,
    Task,
    __version__,
)
from magic_pomdp.core.registry import make
from magic_pomdp.planners.tree_top import _CHILDREN, _ITEMS, _NO_MACRO_ACTION, top_of_tree
from magic_pomdp.results.base import FORMAT
from magic_pomdp.results.recording import load_recording, pack, save_recording, to_text
from magic_pomdp.running.episode import run_episode
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.recording import Recorder, RecordingFailed, RecordingInterrupted, _mean_ways, record_episodes
from magic_pomdp.running.world import SimulatedWorld

BUDGET = Budget(steps=2_000)


def record(planner="macro-despot", episodes=2, **options):
    task = make("tiger", max_steps=5)
    return record_episodes(task, PlannerFactory(planner, BUDGET), episodes, seed=3, workers=0, **options)


def plain(recording):
    """What a recording's file holds, but for time."""
    content = json.loads(to_text(recording))
    for plan in (plan for episode in content["episodes"] for plan in episode["plans"]):
        del plan["seconds"]
    return content


@pytest.fixture(scope="module")
def recording():
    return record(particles=50)


@pytest.mark.jit_off
def test_all_is_recorded(recording):
    assert [episode.episode for episode in recording.episodes] == [0, 1]
    for episode in recording.episodes:
        frames = episode.steps + 1
        assert sum(episode.rewards) == pytest.approx(episode.total_return)
        assert episode.states.shape == (frames, 1)
        assert episode.particles.shape == (frames, 50, 1)
        assert (episode.actions.shape, episode.observations.shape) == ((frames - 1, 1), (frames - 1, 1))
        assert len(episode.sprites) == len(episode.belief_spreads) == len(episode.belief_errors) == frames
        for time, number in enumerate(episode.plan_of_frame[:-1]):
            plan = episode.plans[number]
            assert plan.time <= time
            assert (episode.actions[time] == plan.macro_actions[plan.choice, time - plan.time]).all()
            assert plan.values.max() <= plan.lower <= plan.upper
            assert plan.value <= plan.upper + 1.0  # at a second look it may be worth a little more or less
            assert (plan.values <= plan.uppers + 1e-9).all()


def test_recording_changes_nothing_and_repeats(recording):
    assert plain(record(particles=50)) == plain(recording)
    task = make("tiger", max_steps=5)
    lived = run_episode(task, PlannerFactory(budget=BUDGET)(task), seed=3, episode=1)
    recorded = recording.episodes[1]
    result = msgspec.structs.asdict(lived.result)
    del result["belief_error_least"]  # a recording has those of all moments
    assert result == {name: getattr(recorded, name) for name in result} | {"plans": len(recorded.plans)}


@pytest.mark.parametrize("planner", ["macro-despot", "pomcpow"])
def test_the_top_of_the_tree_fits_the_plan(planner):
    for plan in record(planner, 1).episodes[0].plans:
        tree = plan.tree
        parent, macro, share = np.array(tree.parent), np.array(tree.macro), np.array(tree.share)
        assert (parent[0], macro[0], share[0]) == (-1, _NO_MACRO_ACTION, pytest.approx(1.0))
        assert (parent[1:] < np.arange(1, len(parent))).all()
        assert len(parent) <= _ITEMS + len(plan.values) * (_CHILDREN + 1)
        first = np.flatnonzero((parent == 0) & (macro != _NO_MACRO_ACTION))
        assert sorted(macro[first]) == list(range(len(plan.values)))
        values = np.array([tree.value[item] for item in first])
        assert values == pytest.approx(plan.values[macro[first]], rel=1e-5)
        assert (np.diff(values) <= 0).all()
        for item in np.flatnonzero(macro != _NO_MACRO_ACTION):
            below = np.flatnonzero(parent == item)
            assert len(below) == min(_CHILDREN, tree.size[item])
            assert share[below].sum() <= share[item] + 1e-6


def test_what_is_for_the_first_choice_alone_is_at_the_top_of_the_tree_alone():
    task = make("tiger")
    macro_actions = replace(MacroActions.repeat(task.actions()[[1, 0, 2]], 1), first_only=1)
    planner = MacroDespot(task, macro_actions)
    planner.plan(np.array([[0.0], [1.0]] * 50), np.zeros(0), budget=Budget(steps=100_000))
    items = top_of_tree(planner.tree_view())
    branches = [item for item in items if item.macro != _NO_MACRO_ACTION]
    first = {item.macro for item in branches if item.parent == 0}
    below = {item.macro for item in branches if item.parent != 0}
    assert (first, below) == ({0, 1, 2}, {1, 2})
    assert {item.size for item in items[1:] if item.macro == _NO_MACRO_ACTION} == {0, 2}


def test_a_plan_made_ahead_keeps_its_own_tree():
    task = make("tiger", max_steps=5)
    planner = PlannerFactory(budget=BUDGET)(task)
    recorder = Recorder(task, planner)
    plans = recorder.result(run_episode(task, planner, 3, 0, recorder.watch, plans_ahead=True)).plans
    assert len(plans) > 2
    assert (plans[0].choice, plans[0].tree) == (0, None)  # it waits for the first plan
    for plan in plans[1:]:
        assert (plan.tree.value[0], plan.tree.upper[0]) == pytest.approx((plan.lower, plan.upper), rel=1e-5)


def test_macro_actions_are_traced():
    task = make("light-dark")
    context = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
    particles = np.array([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    macros = MacroActions(np.array([[[1.0, 0.0]] * 3, [[0.0, 0.0]] * 3]), np.array([2, 1]))
    paths = _mean_ways(task, context, particles, macros, (0, 1))
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
    recording = record_episodes(make("tiger", max_steps=3), Silent, 1, workers=0)
    plans = recording.episodes[0].plans
    assert [plan.time for plan in plans] == [0, 2]
    assert (plans[0].choice, plans[0].values, plans[0].tree) == (0, None, None)
    assert (recording.planner.name, recording.planner.label, recording.planner.budget) == ("Silent", "Silent", None)


class Outside:
    """A world that does not tell the truth."""

    state = None

    def __init__(self, task):
        self.inside = SimulatedWorld(task)
        self.begin, self.act = self.inside.begin, self.inside.act


def test_a_world_that_does_not_tell_the_truth_can_be_recorded(tmp_path):
    save_recording(tmp_path / "r.gz", record(episodes=1, world=Outside))
    episode = load_recording(tmp_path / "r.gz").episodes[0]
    assert np.isnan(episode.states).all()
    assert (set(episode.sprites), set(episode.belief_errors), episode.belief_error) == ({()}, {None}, None)
    assert min(episode.belief_spreads) >= 0.0


def test_an_interrupted_recording_keeps_what_was_finished():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(RecordingInterrupted) as caught:
        record(on_progress=interrupt, episodes=5)
    assert [episode.episode for episode in caught.value.recording.episodes] == [0]


def test_a_failed_recording_keeps_what_was_finished():
    @dataclass
    class Tired(Silent):
        """It gives up in its second episode."""

        plans: int = 0

        def plan(self, belief, context, *, budget=None, seed=0):
            self.plans += 1
            if self.plans > 3:  # one to warm up, two of the first episode
                raise RuntimeError("tired")
            return super().plan(belief, context, budget=budget, seed=seed)

    with pytest.raises(RecordingFailed, match="Episode 1 failed with RuntimeError: tired") as caught:
        record_episodes(make("tiger", max_steps=3), Tired, 3, workers=0)
    assert [episode.episode for episode in caught.value.recording.episodes] == [0]
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"particles": 0}, "at least one particle"),
    ({"episodes": 0}, "number of episodes must be at least 1"),
])  # fmt: skip
def test_bad_settings_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        record(**options)
    with pytest.raises(ValueError, match="at least one particle"):
        Recorder(make("tiger"), Silent(make("tiger")), 0)


# -------------------------------------------------------------------------------------------------------------- files


def test_a_file_holds_it_all(recording, tmp_path):
    save_recording(tmp_path / "r.gz", recording)
    loaded = load_recording(tmp_path / "r.gz")
    assert to_text(loaded) == to_text(recording)
    assert (loaded.version, loaded.software, loaded.planner.budget) == (FORMAT, __version__, Budget(steps=2_000))
    assert loaded.episodes[0].particles.dtype == np.float32
    save_recording(tmp_path / "again.gz", loaded)
    assert (tmp_path / "again.gz").read_bytes() == (tmp_path / "r.gz").read_bytes()


def test_a_recording_of_version_1_can_be_read():
    path = Path(__file__).with_name("version-1.record.gz")
    old, new = json.loads(gzip.decompress(path.read_bytes())), json.loads(to_text(load_recording(path)))
    assert (old.pop("format"), old["version"]) == ("magic-pomdp recording", 1)
    old |= {"kind": "recording", "version": FORMAT, "world": ""}
    old["planner"]["label"] = "Macro-DESPOT"
    for episode in old["episodes"]:
        episode |= {"statistics": {"distance": episode.pop("distance")}, "pictures": []}
    assert new == old


def test_pages_are_given_arrays_and_plain_numbers():
    text = to_text({"a": np.array([1.0, 2.0], ">f4"), "b": [np.float64(0.5), np.int64(3)], "c": (None, True)})
    assert json.loads(text) == {
        "a": {"dtype": "<f4", "shape": [2], "data": "AACAPwAAAEA="},
        "b": [0.5, 3],
        "c": [None, True],
    }
    for bad, sentence in ((np.array(["x"]), "has no place"), ({1j}, "has no place"), ([math.nan], "Out of range")):
        with pytest.raises((TypeError, ValueError), match=sentence):
            to_text(bad)


def changed(recording, place, change):
    """A file of the recording with another value at a place; None removes it."""
    content = json.loads(to_text(recording))
    *path, last = place
    inner = content
    for step in path:
        inner = inner[step]
    if change is None:
        del inner[last]
    else:
        inner[last] = change
    return gzip.compress(json.dumps(content).encode())


def test_what_is_no_recording_is_refused(recording, tmp_path):
    path = tmp_path / "r.gz"
    damaged, foreign = (
        r"is not JSON, or is damaged( at byte \d+)?\.",
        "is not a recording: `magic-pomdp record` makes one",
    )
    newer = "is a recording of version 3, newer than this program knows"
    bad = {
        b"": damaged,
        b"hello": damaged,
        pack(recording)[:-20]: r"is damaged: it ends too early\.",
        gzip.compress(b'{"kind": 1'): damaged,
        gzip.compress(b"[" * 100_000): r"is damaged: its JSON is nested more than 40 deep\.",
        gzip.compress(b"[1, 2]"): foreign,
        gzip.compress(b'{"kind": "other"}'): foreign,
        gzip.compress(b'{"format": "other"}'): foreign,
        gzip.compress(b'{"kind": "recording", "version": 3}'): newer,
        gzip.compress(b'{"format": "magic-pomdp recording", "version": 3}'): newer,
        gzip.compress(
            b'{"format": "magic-pomdp recording", "version": 1}'
        ): r"is damaged at \$: the field task is missing",
        gzip.compress(
            b'{"format": "magic-pomdp recording", "version": 1, "planner": 5, "episodes": [5]}'
        ): "is damaged at",
    }
    for content, sentence in bad.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"r\.gz {sentence}"):
            load_recording(path)
    for place in (tmp_path / "none.gz", tmp_path):
        with pytest.raises(ValueError, match="There is no file"):
            load_recording(place)


EPISODE, PLAN = ("episodes", 1), ("episodes", 1, "plans", 0)


@pytest.mark.parametrize(("place", "change", "sentence"), [
    (("episodes",), [], "$.episodes: expected array of length >= 1."),
    (("task",), 5, "$.task: expected object, got int."),
    (("task", "name"), "", "$.task.name: expected str of length >= 1."),
    (("planner", "budget"), {"seconds": -1}, "$.planner.budget: a budget in seconds must be positive, not -1"),
    ((*EPISODE, "rewards"), None, "$.episodes[1]: the field rewards is missing."),
    ((*EPISODE, "return"), None, "$.episodes[1]: the field return is missing."),
    ((*EPISODE, "scene"), None, "$.episodes[1]: the field scene is missing."),
    ((*EPISODE, "scene"), {"view": [0, 0, 1]}, "$.episodes[1].scene.view: expected array of length 4, got 3."),
    ((*EPISODE, "sprites", 0, 0, "kind"), "cloud", "$.episodes[1].sprites[0][0].kind: invalid value 'cloud'."),
    ((*EPISODE, "outcome"), "great", "$.episodes[1].outcome: invalid enum value 'great'."),
    ((*EPISODE, "rewards", 0), None, "rewards must have 5 entries, one for each step between states, not 4."),
    ((*EPISODE, "belief_errors", 0), None, "belief_errors must have 6 entries, one for each of the states, not 5."),
    ((*EPISODE, "plan_of_frame", 2), 9, "plan_of_frame must name one of 5 plans, not 9."),
    ((*EPISODE, "states"), [0.0], "$.episodes[1].states: expected an array, with its dtype"),
    ((*EPISODE, "states", "dtype"), "<U1", "$.episodes[1].states: expected an array, with its dtype"),
    ((*EPISODE, "states", "data"), 5, "$.episodes[1].states: expected an array whose data are a text"),
    ((*EPISODE, "states", "data"), "ä", "$.episodes[1].states: expected an array whose data are base64."),
    ((*EPISODE, "states", "shape"), 1, "$.episodes[1].states: expected an array whose data"),
    ((*EPISODE, "states", "shape"), [10**30], "$.episodes[1].states: expected an array whose data fill its shape."),
    ((*EPISODE, "states", "shape"), ["one"], "$.episodes[1].states: expected an array whose data"),
    ((*EPISODE, "particles", "shape"), [6, 50], "$.episodes[1]: particles must have 3 dimensions, not 2."),
    ((*PLAN, "lengths"), None, "$.episodes[1].plans[0]: the field lengths is missing."),
    ((*PLAN, "lower"), None, "$.episodes[1].plans[0]: the field lower is missing."),
    ((*PLAN, "seconds"), "soon", "$.episodes[1].plans[0].seconds: expected float, got str."),
    ((*PLAN, "choice"), 3, "$.episodes[1].plans[0]: choice must be one of 3 macro-actions, not 3."),
    ((*PLAN, "tree", "size", 0), None, "$.episodes[1].plans[0].tree: size must have"),
    (("version",), 0, "$.version: expected int >= 1."),
    (("version",), True, "$.version: expected int, got bool."),
    (("seed",), -1, "$: the seed must be at least 0, not -1."),
    (("seed",), 2**64, "$: the seed must be below 2^64, not 18446744073709551616."),
    (("episodes", 1, "episode"), 0, "$: an episode comes twice in the recording."),
    ((*EPISODE, "episode"), -1, "$.episodes[1].episode: expected int >= 0."),
    ((*EPISODE, "steps"), 4, "$.episodes[1]: steps must be 1 or more, and 5 as there are rewards, not 4."),
    ((*EPISODE, "belief_spreads", 0), -1, "$.episodes[1].belief_spreads[0]: expected float >= 0.0."),
    ((*EPISODE, "particles", "shape"), [6, 25, 2], "particles must be of shape (6, any, 1), not (6, 25, 2)."),
    ((*EPISODE, "particles", "dtype"), "<u2", "data fill its shape."),
    ((*EPISODE, "states", "dtype"), "<i8", "$.episodes[1]: states must hold floats, not int64."),
    ((*EPISODE, "plans", 0, "time"), 1, "plan_of_frame 0 must name a plan whose time has come, not 0."),
    ((*EPISODE, "scene", "view"), [0, 0, 0, 1], "is left, bottom, right and top in this order, not (0.0, 0.0,"),
    ((*EPISODE, "scene", "robot"), [0, 1], "$.episodes[1]: the scene's robot must name one of 1 numbers, not 1."),
    ((*EPISODE, "scene", "trails"), [{"x": 7, "y": 0}], "scene's trails must name one of 1 numbers, not 7."),
    ((*EPISODE, "scene", "handles"), [{"name": "a", "x": 0, "y": None}], "handle a must name one of 0 numbers, not 0."),
    ((*EPISODE, "sprites", 0, 0, "role"), "reddish", "$.episodes[1].sprites[0][0].role: expected str matching regex"),
    ((*PLAN, "lengths", "dtype"), "<f8", "$.episodes[1].plans[0]: lengths must hold whole numbers, not float64."),
    ((*PLAN, "lengths", "data"), "AgAAAAAAAAABAAAAAAAAAAEAAAAAAAAA", "lengths must lie between 1 and 1"),
    ((*PLAN, "values", "data"), "AAAAAAAA+H8AAAAAAAAAAAAAAAAAAAAA", "values must be finite numbers below 1e+100"),
    ((*PLAN, "seconds"), -1.0, "$.episodes[1].plans[0].seconds: expected float >= 0.0."),
    ((*PLAN, "tree", "parent", 1), 1, "tree: parent of entry 1 must be an earlier entry, not 1."),
    ((*PLAN, "tree", "parent", 0), 0, "tree: the first entry of a tree must be its root"),
    ((*PLAN, "tree", "macro", 2), 1, "tree: parent of entry 2 must be a node if that is a branch"),
    ((*PLAN, "tree", "macro", 1), 3, "macro of the tree's first branches must be one of 3 macro-actions."),
    ((*PLAN, "tree", "share", 0), 1.5, "tree.share[0]: expected float <= 1.0."),
])  # fmt: skip
def test_a_damaged_part_is_named(recording, tmp_path, place, change, sentence):
    path = tmp_path / "r.gz"
    path.write_bytes(changed(recording, place, change))
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        load_recording(path)
    assert str(caught.value).startswith(f"{path} is damaged at $")
    assert "\n" not in str(caught.value)


def test_more_than_a_file_may_hold_is_not_recorded(monkeypatch, tmp_path):
    whole = record(episodes=5)
    one = len(to_text(whole.episodes[0]))
    monkeypatch.setattr("magic_pomdp.running.recording.MOST_BYTES", 3 * one)
    with pytest.raises(RecordingFailed, match=r"No file may hold more than the \d episodes .* record fewer,") as caught:
        record(episodes=10)
    kept = caught.value.recording.episodes
    assert 1 <= len(kept) < 10
    monkeypatch.setattr("magic_pomdp.core.reading.MOST_BYTES", 3 * one)
    save_recording(tmp_path / "r.gz", caught.value.recording)
    assert len(load_recording(tmp_path / "r.gz").episodes) == len(kept)
    with pytest.raises(ValueError, match=r"r\.gz is not written: it holds more than the [\d,]+ bytes that are read\."):
        save_recording(tmp_path / "r.gz", whole)
    assert len(load_recording(tmp_path / "r.gz").episodes) == len(kept)


def test_what_a_file_cannot_hold_is_refused_when_it_is_recorded():
    @dataclass
    class Endless(Silent):
        """It expects too much."""

        def plan(self, belief, context, *, budget=None, seed=0):
            return replace(super().plan(belief, context, budget=budget, seed=seed), value=math.inf)

    with pytest.raises(RecordingFailed, match=r"Episode 0 failed with .* at \$\.plans\[0\]\.value: expected a finite"):
        record_episodes(make("tiger", max_steps=3), Endless, 2, workers=0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_gives_one_sentence(recording, tmp_path_factory, data):
    content = bytearray(changed(recording, ("episodes", 0, "particles"), None))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.gz is (not|damaged)"):
        load_recording(path)
