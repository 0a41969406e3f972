import json
import re
import shlex
import shutil
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from test_trainer import TINY
from toy import Target

import magic_pomdp as mp
from magic_pomdp import Belief, Budget, run_episode
from magic_pomdp.core.extras import install_command
from magic_pomdp.macros import BezierSpace
from magic_pomdp.magic import MagicPlanner, MagicSettings, load_model
from magic_pomdp.magic import model as model_module
from magic_pomdp.magic.arrays import load_arrays, save_arrays
from magic_pomdp.magic.model import ModelCard, ModelFile, Score, save_model
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.planners.refining import EACH, VARIED
from magic_pomdp.running import PlannerFactory
from magic_pomdp.show import demo
from magic_pomdp.show.results import read_results
from magic_pomdp.testing import check_planner

TOY = f"{Path(__file__).parent / 'toy.py'}:Target"
CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
"""Of Light-Dark."""


def make_model(path, task, length, score=50.0, seed=0):
    """A model of random weights."""
    space = task.macro_space(length)
    shape, random = GeneratorShape.for_task(task, space, trunk=(16,)), np.random.default_rng(seed)
    arrays = {name: random.uniform(0.5, 1.0, size) for name, size in shape.layout().items()}
    known = Score(return_mean=score, return_stderr=1.0, success_rate=0.5, episodes=10, plan_steps=1)
    card = ModelCard(
        task=task.name, task_parameters={}, space=space.describe(), settings={}, command="magic-pomdp train …", seed=3,
        minutes=1.0, updates=2, plans=1, score=known, chosen_by=known,
    )  # fmt: skip
    save_model(path, shape, arrays, card)
    return str(path)


def make_planner(task, model="", budget=None, **changes):
    """MAGIC with a model."""
    return MagicPlanner(task, MagicSettings.advised(task, model=str(model), **changes), budget)


@pytest.fixture
def light_dark_model(tmp_path):
    return make_model(tmp_path / "some.safetensors", mp.make("light-dark"), 4)


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder of models that ship."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr(model_module, "_FOLDER", folder)
    return folder


# --------------------------------------------------------------------------------------------------------- in Python


def test_the_planner_plans(light_dark_model):
    task = mp.make("light-dark")
    planner = make_planner(task, light_dark_model, Budget(steps=20_000))
    belief = Belief.initial(task, CONTEXT)
    plan = planner.plan(belief, CONTEXT, seed=1)
    assert len(plan.values) == 9
    assert (np.linalg.norm(plan.macro_action, axis=1) <= 1.0 + 1e-9).all()
    again = planner.plan(belief.particles, CONTEXT, seed=1)
    np.testing.assert_array_equal(plan.macro_action, again.macro_action)
    assert plan.value == again.value
    assert len(planner.generate(belief, CONTEXT)) == 9
    assert run_episode(task, planner).steps > 0
    timed = planner.plan(belief, CONTEXT, budget=Budget(seconds=0.02))
    assert 0.015 < timed.seconds < 0.2


def test_what_refining_tries_is_near_the_learned_macro_actions(light_dark_model):
    task = mp.make("light-dark")
    belief = Belief.initial(task, CONTEXT)
    planner = make_planner(task, light_dark_model, Budget(steps=4_000_000), refine=0.4)
    plan, learned = planner.plan(belief, CONTEXT, seed=1), planner.generate(belief, CONTEXT)
    count = VARIED * EACH
    assert len(plan.macro_actions) == count + len(learned)
    np.testing.assert_array_equal(plan.macro_actions.actions[count:], learned.actions)
    for beginning in plan.macro_actions.actions[:count, 0]:
        distances = np.linalg.norm(learned.actions[:-1, 0] - beginning, axis=1)  # but for the stop, always there
        assert 0.0 < distances.min() < 0.7


@pytest.mark.parametrize("refine", [0.0, 0.4])
def test_a_search_with_learned_macro_actions_goes_on(light_dark_model, refine):
    task = mp.make("light-dark")
    belief = Belief.initial(task, CONTEXT)
    planner = make_planner(task, light_dark_model, Budget(steps=20_000), refine=refine)
    with pytest.raises(ValueError, match="no search to go on with"):
        planner.go_on(Budget(steps=100))
    plan = planner.plan(belief, CONTEXT, seed=4)
    belief.update([1.0, 0.0], None)  # the search is still for what was believed before
    more = planner.go_on(Budget(steps=20_000))
    assert more.value >= plan.value
    assert more.steps >= plan.steps + 20_000
    assert planner.go_on(Budget(seconds=0.01)).steps > more.steps
    assert planner.last_tree().nodes[0]["lower"] >= plan.lower


def test_a_planner_that_refines_keeps_its_time(light_dark_model):
    task = mp.make("light-dark")
    belief = Belief.initial(task, CONTEXT)
    planner = make_planner(task, light_dark_model, Budget(seconds=0.05), refine=0.4)
    planner.plan(belief, CONTEXT)
    assert 0.04 < min(planner.plan(belief, CONTEXT, seed=seed).seconds for seed in range(3)) < 0.1


@pytest.mark.parametrize("refine", [0.0, 0.4])
def test_the_planner_keeps_what_planners_promise(light_dark_model, refine):
    task = mp.make("light-dark")
    planner = make_planner(task, light_dark_model, Budget(steps=5_000), refine=refine)
    assert check_planner(planner) == []


def test_a_model_for_something_else_is_refused(light_dark_model):
    with pytest.raises(ValueError, match="was trained for light-dark, not for puck-push"):
        make_planner(mp.make("puck-push"), light_dark_model)

    class Wider(mp.make("light-dark").__class__):
        name = "light-dark"
        particle_features_size = 5

    with pytest.raises(ValueError, match="trained with 4 features of a particle and 3 of the context, but"):
        make_planner(Wider(), light_dark_model)

    class Fewer(mp.make("light-dark").__class__):
        name = "light-dark"

        def macro_space(self, length):
            return BezierSpace(length, curves=5)

    with pytest.raises(ValueError, match=r"space bezier, count 8, .* is space bezier, count 5"):
        make_planner(Fewer(), light_dark_model)


def test_a_model_of_a_later_format_is_refused(light_dark_model, tmp_path):
    arrays, about = load_arrays(Path(light_dark_model), ModelFile)
    path = tmp_path / "later.safetensors"
    save_arrays(path, arrays, msgspec.structs.replace(about, version=99))
    with pytest.raises(ValueError, match=r"is of format 99, and this version reads formats up to 2: update"):
        load_model(path)


def test_models_are_found_by_name_or_file(shipped, tmp_path):
    task = mp.make("light-dark")
    with pytest.raises(ValueError, match="No trained generator ships for light-dark"):
        MagicPlanner(task)
    with pytest.raises(ValueError, match="There is no model 'light-dark': none ships yet"):
        load_model("light-dark")
    make_model(shipped / "light-dark-4.safetensors", task, 4, score=70.0)
    make_model(shipped / "light-dark-8.safetensors", task, 8, score=80.0)
    assert MagicPlanner(task).source.model.name == "light-dark-8"
    assert make_planner(task, "light-dark-4").macro_length == 4
    with pytest.raises(ValueError, match="did you mean 'light-dark-8'"):
        load_model("lightdark-8")
    with pytest.raises(ValueError, match="There is no file"):
        load_model(tmp_path / "missing.safetensors")


def test_only_who_uses_a_model_can_be_given_one(light_dark_model):
    with pytest.raises(ValueError, match="The setting model does not belong to despot, which has scenarios"):
        PlannerFactory("despot", overrides={"model": light_dark_model})
    factory = PlannerFactory("magic", overrides={"model": light_dark_model})
    assert factory.length_in(mp.make("light-dark")) == 4


# -------------------------------------------------------------------------------------------------- command line


def test_evaluate_with_two_models_of_the_same_name(run, tmp_path):
    for number, folder in enumerate("ab"):
        (tmp_path / folder).mkdir()
        make_model(tmp_path / folder / "best.safetensors", mp.make("light-dark"), 4, seed=number)
        options = ("--model", f"{folder}/best.safetensors", "--episodes", 2, "--steps", 2000, "--workers", 0)
        assert run("evaluate", "light-dark", "--planner", "magic", *options)[0] == 0
    paths = sorted((tmp_path / "results").iterdir())
    names = [f"light-dark_magic_L4_2000steps_seed0_2episodes_{folder}-best.safetensors.json" for folder in "ab"]
    assert [path.name for path in paths] == names
    report = json.loads(paths[0].read_text())
    assert (report["planner"], report["macro_length"], report["episodes"]) == ("magic", 4, 2)
    assert report["settings"]["model"].startswith("a/best ")
    assert len(read_results([tmp_path / "results"]).evaluations) == 2


def test_a_label_tells_models_apart(tmp_path):
    def label(seed):
        return load_model(make_model(tmp_path / "best.safetensors", mp.make("light-dark"), 4, seed=seed)).label

    first = label(0)
    assert first.startswith(f"{tmp_path.name}/best ")
    assert label(1) != first == label(0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("light-dark --planner magic --model nothing", "There is no model 'nothing'"),
        ("light-dark --planner magic --model no.safetensors", "There is no file no.safetensors."),
        ("tiger --planner magic --model some.safetensors", "was trained for light-dark, not for tiger."),
        ("light-dark --planner magic --model broken.safetensors", "is damaged"),
        ("tiger --planner magic", "No trained generator ships for tiger"),
    ],
)
def test_bad_models_are_answered_with_a_sentence(run, light_dark_model, tmp_path, arguments, sentence):
    (tmp_path / "broken.safetensors").write_bytes(Path(light_dark_model).read_bytes()[:-9])
    code, out, err = run("evaluate", *arguments.split())
    assert (code, out) == (2, "")
    assert err.startswith("magic-pomdp: ")
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("light-dark --planner magic --model some.safetensors --macro-length 3", "macro.length"),
        ("light-dark --model some.safetensors", "model"),
    ],
)
def test_settings_of_another_planner_are_refused(run, light_dark_model, arguments, named):
    code, out, err = run("evaluate", *arguments.split())
    assert (code, out, "Traceback" in err) == (2, "", False)
    assert re.search(named, err)


def test_models_lists_cards(run, shipped):
    code, out, _ = run("models")
    assert (code, out) == (0, "No trained generator ships yet: `magic-pomdp train TASK` makes one.\n")
    make_model(shipped / "light-dark.safetensors", mp.make("light-dark"), 4)
    code, out, _ = run("models")
    assert code == 0
    for word in ("light-dark", "50.0 ± 1.0", "seed 3", "magic-pomdp train"):
        assert word in out


SMALL = [
    option
    for name, value in TINY.values().items()
    if value is not None and name not in ("updates", "conditioning", "critic", "mirror", "learn_lengths")
    for option in (f"--{name.replace('_', '-')}", str(value))
]


def test_train_and_resume(run, tmp_path):
    code, out, err = run("train", TOY, *SMALL, "--updates", 30, "--out", "run")
    assert code == 0, err
    assert "The best generator returns" in out
    assert {"best.safetensors", "metrics.jsonl", "settings.json"} <= {path.name for path in Path("run").iterdir()}
    code, _, err = run("train", TOY, *SMALL, "--updates", 40, "--out", "run", "--resume")
    assert code == 0
    assert "Resumed after 30 updates" in err
    shutil.copy("run/best.safetensors", "mine.safetensors")
    options = ("--planner", "magic", "--model", "mine.safetensors", "--episodes", 2, "--steps", 1, "--workers", 0)
    assert run("evaluate", TOY, *options)[0] == 0
    assert load_model("mine.safetensors").card.task == Target.name


def test_the_command_of_a_card_trains_the_same(run):
    options = ("--no-mirror", "--set", "blur=0.1", "--conditioning", "belief")
    assert run("train", TOY, *SMALL, "--updates", 30, *options, "--out", "first")[0] == 0
    first = load_model("first/best.safetensors")
    code, _, err = run(*shlex.split(first.card.command)[1:], "--out", "again")
    assert code == 0, err
    again = load_model("again/best.safetensors")
    np.testing.assert_array_equal(again.weights, first.weights)
    assert again.card.command == first.card.command


def test_a_training_without_time_to_learn_says_so(run):
    short = [*SMALL, "--minutes", "1e-6"]
    code, out, err = run("train", TOY, *short, "--out", "run")
    assert (code, out) == (1, "")
    assert "warm-up plans, so there is no generator yet: at this rate the warm-up takes" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tigr"], "There is no task 'tigr'"),
        (["tiger", "--batch", "0"], "batch must lie in [1, 100000], not 0."),
        (["tiger", "--out", "empty", "--resume"], "There is no training in empty to resume"),
        (["tiger", "--out", "file"], "cannot be made"),
    ],
)
def test_bad_input_to_train_is_answered_with_a_sentence(run, tmp_path, arguments, sentence):
    (tmp_path / "file").touch()
    code, out, err = run("train", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_without_torch_train_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = run("train", "tiger")
    assert code == 2
    assert err == f"magic-pomdp: Learning needs torch: {install_command('learn')}.\n"


# --------------------------------------------------------------------------------------------------------------- demo


def test_the_demo_needs_no_model(shipped):
    entrants = demo.demo_entrants()
    assert [one.planner for one in entrants] == ["macro-despot", "macro-despot", "despot", "pomcpow"]
    assert entrants[-1].who == "POMCPOW"


def test_the_demo_shows_learned_macro_actions_if_a_model_ships(run, shipped, tmp_path, monkeypatch):
    make_model(shipped / "light-dark.safetensors", mp.make("light-dark"), 4)
    # worker processes would look for models where they really are
    for function in (demo.evaluate, demo.record_episodes):
        monkeypatch.setattr(demo, function.__name__, partial(function, workers=0))
    code, out, err = run("demo", "--episodes", 1, "--seconds", 0.002, "--folder", "shown")
    assert code == 0, err
    names = ("magic", "macro-despot-best", "macro-despot", "despot")
    rows = ("MAGIC, 4", "Macro-DESPOT, 16/6/2", "Macro-DESPOT, 6 ", "DESPOT, 1")
    assert all(shown in out for shown in (*rows, "run more"))
    assert "6: the handcrafted set of the paper" in " ".join(out.split())
    assert "4 of 4 finished: DESPOT, 0.002s a plan" in err
    made = {path.name for path in (tmp_path / "shown").iterdir()}
    assert made == {f"{name}.{kind}" for name in names for kind in ("json", "record.gz")} | {"report.html"}
    assert str(tmp_path / "shown" / "report.html") in out
