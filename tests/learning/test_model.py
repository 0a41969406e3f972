import json
import math
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from test_trainer import TINY
from toy import Target

import magic_pomdp as mp
from magic_pomdp import (
    Belief,
    Budget,
    MacroActions,
    MacroDespot,
    MagicPlanner,
    PlannerChoice,
    cli,
    load_model,
    make_task,
    run_episode,
)
from magic_pomdp.learning import model as model_module
from magic_pomdp.learning.generator import GeneratorShape
from magic_pomdp.learning.model import save_model
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
    known = {"return_mean": score, "return_stderr": 1.0, "success_rate": 0.5, "episodes": 10, "plan_steps": 1}
    card = {"task": task.name, "space": space.describe(), "score": known, "minutes": 1.0, "updates": 2, "seed": 3}
    save_model(path, shape, arrays, {**card, "command": "magic-pomdp train …"})
    return str(path)


@pytest.fixture
def light_dark_model(tmp_path):
    return make_model(tmp_path / "some.safetensors", make_task("light-dark"), 4)


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder of models that ship."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr(model_module, "SHIPPED", folder)
    return folder


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["magic-pomdp", *map(str, arguments)])
        try:
            code = cli.main()
        except SystemExit as end:
            code = end.code
        return code, *capfd.readouterr()

    return run_command


# --------------------------------------------------------------------------------------------------------- in Python


def test_the_planner_plans(light_dark_model):
    task = make_task("light-dark")
    planner = MagicPlanner(task, light_dark_model, budget=Budget(steps=20_000))
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


@pytest.mark.parametrize("seed", range(4))
def test_a_doubted_plan_is_compared_with_one_of_primitive_actions(light_dark_model, monkeypatch, seed):
    task = make_task("light-dark")
    belief = Belief.initial(task, CONTEXT)
    monkeypatch.setattr(type(task), "doubt", math.inf)
    planner = MagicPlanner(task, light_dark_model, budget=Budget(steps=20_000))
    plan = planner.plan(belief, CONTEXT, seed=seed)

    def search(macro_actions, steps):
        return MacroDespot(task, macro_actions).plan(belief, CONTEXT, budget=Budget(steps=steps), seed=seed)

    learned = search(planner.generate(belief, CONTEXT), 10_000)
    other = search(MacroActions.repeat(task.actions(), 1), 20_000 - learned.steps)
    best = max(learned, other, key=lambda found: found.value)
    assert (plan.value, plan.choice, plan.steps) == (best.value, best.choice, learned.steps + other.steps)
    np.testing.assert_array_equal(plan.macro_action, best.macro_action)
    assert planner.last_tree().nodes[0]["lower"] == best.lower

    monkeypatch.setattr(type(task), "doubt", learned.value)  # not less than that
    plan = planner.plan(belief, CONTEXT, seed=seed)
    assert plan.value >= learned.value
    assert len(plan.values) == len(learned.values)
    assert plan.steps >= 20_000 or plan.stopped_by == "gap closed"


def test_a_doubting_planner_keeps_its_time(light_dark_model, monkeypatch):
    task = make_task("light-dark")
    belief = Belief.initial(task, CONTEXT)
    monkeypatch.setattr(type(task), "doubt", math.inf)
    planner = MagicPlanner(task, light_dark_model, budget=Budget(seconds=0.05))
    planner.plan(belief, CONTEXT)
    assert 0.04 < min(planner.plan(belief, CONTEXT, seed=seed).seconds for seed in range(3)) < 0.1


@pytest.mark.parametrize("doubt", [-math.inf, math.inf])
def test_the_planner_keeps_what_planners_promise(light_dark_model, monkeypatch, doubt):
    task = make_task("light-dark")
    monkeypatch.setattr(type(task), "doubt", doubt)
    planner = MagicPlanner(task, light_dark_model, budget=Budget(steps=5_000))
    assert check_planner(planner) == []


def test_a_model_for_something_else_is_refused(tmp_path, light_dark_model, monkeypatch):
    with pytest.raises(ValueError, match="was trained for light-dark, not for puck-push"):
        MagicPlanner(make_task("puck-push"), light_dark_model)
    with pytest.raises(ValueError, match="makes macro-actions of length 4, not 6"):
        MagicPlanner(make_task("light-dark"), light_dark_model, macro_length=6)

    class Wider(mp.make_task("light-dark").__class__):
        name = "light-dark"
        particle_features_size = 5

    with pytest.raises(ValueError, match="trained with 4 features of a particle and 3 of the context, but"):
        MagicPlanner(Wider(), light_dark_model)

    class Fewer(mp.make_task("light-dark").__class__):
        name = "light-dark"

        def macro_space(self, length):
            return mp.BezierSpace(length, curves=5)

    with pytest.raises(ValueError, match=r"space bezier, count 8, .* is space bezier, count 5"):
        MagicPlanner(Fewer(), light_dark_model)


def test_models_are_found_by_name_or_file(shipped, tmp_path):
    task = make_task("light-dark")
    with pytest.raises(ValueError, match="No trained generator ships for light-dark"):
        MagicPlanner(task)
    with pytest.raises(ValueError, match="There is no model 'light-dark': none ships yet"):
        load_model("light-dark")
    make_model(shipped / "light-dark-4.safetensors", task, 4, score=70.0)
    make_model(shipped / "light-dark-8.safetensors", task, 8, score=80.0)
    assert MagicPlanner(task).model.name == "light-dark-8"
    assert MagicPlanner(task, macro_length=4).model.name == "light-dark-4"
    assert MagicPlanner(task, "light-dark-4").model.macro_length == 4
    with pytest.raises(ValueError, match="with macro length 5"):
        MagicPlanner(task, macro_length=5)
    with pytest.raises(ValueError, match="did you mean 'light-dark-8'"):
        load_model("lightdark-8")
    with pytest.raises(ValueError, match="There is no file"):
        load_model(tmp_path / "missing.safetensors")


def test_only_magic_has_a_model(light_dark_model):
    with pytest.raises(ValueError, match="Only the planner magic uses a model, not despot"):
        PlannerChoice("despot", model=light_dark_model)
    choice = PlannerChoice("magic", model=light_dark_model)
    assert choice.length(make_task("light-dark")) == 4


# -------------------------------------------------------------------------------------------------- command line


def test_evaluate_with_two_models_of_the_same_name(run, tmp_path):
    for number, folder in enumerate("ab"):
        (tmp_path / folder).mkdir()
        make_model(tmp_path / folder / "best.safetensors", make_task("light-dark"), 4, seed=number)
        options = ("--model", f"{folder}/best.safetensors", "--episodes", 2, "--steps", 2000, "--workers", 0)
        assert run("evaluate", "light-dark", "--planner", "magic", *options)[0] == 0
    paths = sorted((tmp_path / "results").iterdir())
    names = [f"light-dark_magic_L4_2000steps_seed0_2episodes_{folder}-best.json" for folder in "ab"]
    assert [path.name for path in paths] == names
    report = json.loads(paths[0].read_text())
    assert (report["planner"], report["macro_length"], report["episodes"]) == ("magic", 4, 2)
    assert report["settings"]["model"].startswith("a/best ")
    assert len(read_results([tmp_path / "results"]).evaluations) == 2


def test_a_label_tells_models_apart(tmp_path):
    def label(seed):
        return load_model(make_model(tmp_path / "best.safetensors", make_task("light-dark"), 4, seed=seed)).label

    first = label(0)
    assert first.startswith(f"{tmp_path.name}/best ")
    assert label(1) != first == label(0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("light-dark --planner magic --model nothing", "There is no model 'nothing'"),
        ("light-dark --planner magic --model no.safetensors", "There is no file no.safetensors."),
        ("tiger --planner magic --model some.safetensors", "was trained for light-dark, not for tiger."),
        ("light-dark --planner magic --model some.safetensors --macro-length 3", "of length 4, not 3"),
        ("light-dark --planner magic --model broken.safetensors", "is damaged"),
        ("light-dark --model some.safetensors", "Only the planner magic uses a model, not macro-despot."),
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


def test_models_lists_cards(run, shipped):
    code, out, _ = run("models")
    assert (code, out) == (0, "No trained generator ships yet: `magic-pomdp train TASK` makes one.\n")
    make_model(shipped / "light-dark.safetensors", make_task("light-dark"), 4)
    code, out, _ = run("models")
    assert code == 0
    for word in ("light-dark", "50.0 ± 1.0", "seed 3", "magic-pomdp train"):
        assert word in out


SMALL = [
    option
    for name, value in TINY.to_json().items()
    if value is not None and name not in ("updates", "conditioning", "critic", "mirror")
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
    assert load_model("mine.safetensors").task == Target.name


def test_a_training_without_time_to_learn_says_so(run):
    short = [*SMALL, "--minutes", "1e-6"]
    code, out, err = run("train", TOY, *short, "--out", "run")
    assert (code, out) == (1, "")
    assert "over before its warm-up, so there is no generator yet: give the same command more time" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tigr"], "There is no task 'tigr'"),
        (["tiger", "--batch", "0"], "batch must be at least 1"),
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
    assert "pip install 'magic-pomdp[learn]'" in err


# --------------------------------------------------------------------------------------------------------------- demo


def test_the_demo_needs_no_model(shipped):
    assert demo.demo_planners() == ["macro-despot", "despot"]


def test_the_demo_shows_learned_macro_actions_if_a_model_ships(run, shipped, tmp_path, monkeypatch):
    make_model(shipped / "light-dark.safetensors", make_task("light-dark"), 4)
    # worker processes would look for models where they really are
    for function in (demo.evaluate, demo.record_episodes):
        monkeypatch.setattr(demo, function.__name__, partial(function, workers=0))
    code, out, err = run("demo", "--episodes", 1, "--seconds", 0.002, "--folder", "shown")
    assert code == 0, err
    names = ("magic", "macro-despot", "despot")
    assert all(f"{name}, {length}" in out for name, length in zip(names, (4, 6, 1), strict=True))
    made = {path.name for path in (tmp_path / "shown").iterdir()}
    assert made == {f"{name}.{kind}" for name in names for kind in ("json", "record.gz")} | {"report.html"}
    assert str(tmp_path / "shown" / "report.html") in out
