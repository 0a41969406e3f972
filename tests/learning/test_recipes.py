import dataclasses
import json
from itertools import pairwise

import numpy as np
import pytest
from test_ablation import SHORT, ask
from test_model import SMALL, TOY
from test_trainer import TINY, settings
from toy import Target

import magic_pomdp as mp
from magic_pomdp.learning import TrainSettings, ladder, recipe, train
from magic_pomdp.learning.ablation import parse_change
from magic_pomdp.learning.recipes import paper_budget
from magic_pomdp.learning.state import TrainingState
from magic_pomdp.magic import MagicSettings, load_model
from magic_pomdp.results.files import read
from magic_pomdp.running import PlannerFactory
from magic_pomdp.show.report import write_report
from magic_pomdp.show.results import read_results
from magic_pomdp.show.tables import ablation_table

LENGTHS = {"light-dark": 8, "puck-push": 5, "crowd-driving": 3}
SMALL_PAPER = settings(
    updates=20, critic="flat", inputs="plain", start="random", default_policy="random", second_look=0, mirror=False,
    learn_lengths=False,
)  # fmt: skip
"""Much of the paper's recipe, in a moment."""


@pytest.mark.parametrize("name", LENGTHS)
def test_the_papers_recipe_is_known_for_its_tasks(name):
    task = mp.make(name)
    paper = recipe("paper", task)
    assert (paper.length_in(task), paper.lengths_in(task)) == (LENGTHS[name], ())
    assert (paper.critic, paper.start, paper.inputs, paper.batch, paper.critic_rate) == (
        "flat", "random", "plain", 256, 1e-4,
    )  # fmt: skip
    assert not paper.mirrored
    assert paper_budget(task) == mp.Budget(steps=paper.training_budget)
    searched = MagicSettings.advised(task, **paper.searching())
    assert (searched.default_policy, searched.second_look, searched.refine) == ("random", 0, 0.0)
    assert searched.discount == task.discount == 0.98


def test_what_is_given_wins():
    task = mp.make("light-dark")
    assert recipe("paper", task, batch=64, macro_length=6).values() == {
        **recipe("paper", task).values(), "batch": 64, "macro_length": 6,
    }  # fmt: skip
    assert recipe("ours", task) == TrainSettings()
    assert recipe("ours", task, seed=3) == TrainSettings(seed=3)
    with pytest.raises(ValueError, match="std must lie between std_min"):
        recipe("paper", task, std_min=0.5)


def test_in_other_tasks_lengths_and_budgets_are_ours():
    paper = recipe("paper", Target())
    assert (paper.critic, paper.start, paper.discount) == ("flat", "random", 0.98)
    assert (paper.macro_length, paper.plan_steps, paper.scenarios, paper.search_depth) == (None,) * 4
    assert paper_budget(Target()) is None


@pytest.mark.parametrize("name", LENGTHS)
def test_a_ladder_leads_from_the_paper_to_ours(name):
    task, ours = mp.make(name), TrainSettings(minutes=3.0, seed=7)
    rungs = ladder(task, ours)
    assert (len(rungs), rungs[0].name, rungs[-1].name) == (10, "paper", "our budget")
    first, *_, last = (dataclasses.replace(ours, **rung.changes) for rung in rungs)
    assert first == recipe("paper", task, minutes=3.0, seed=7)
    assert last == ours
    for below, above in pairwise(rungs):
        assert above.changes.items() < below.changes.items()
        dataclasses.replace(ours, **above.changes).length_in(task)


def test_what_is_fixed_has_no_rung():
    rungs = ladder(Target(), TrainSettings(start="random"), {"start", "warmup", "mirror"})
    names = [rung.name for rung in rungs]
    assert not {"handcrafted start", "mirror images", "our budget"} & set(names)
    assert all(not {"start", "warmup"} & rung.changes.keys() for rung in rungs)
    assert names[:2] == ["paper", "set critic"]


def test_a_model_is_searched_with_as_it_was_trained(tmp_path):
    trained = train(Target(), SMALL_PAPER, tmp_path)
    model = load_model(trained.model)
    assert model.searching == {"default_policy": "random", "second_look": 0}
    assert (model.shape.inputs, model.shape.encoder_inputs) == ("plain", 1)
    assert "--default-policy random" in model.card.command
    assert "--start random" in model.card.command

    def searched(**changes):
        return PlannerFactory("magic", None, {"model": str(trained.model), **changes})(Target()).settings

    assert (searched().default_policy, searched().second_look, searched().scenarios) == ("random", 0, 4)
    assert (searched(default_policy="greedy").default_policy, searched(second_look=9).second_look) == ("greedy", 9)
    assert mp.evaluate(Target(), PlannerFactory("magic", None, {"model": str(trained.model)}), 3, workers=0).complete


def test_a_random_start_is_nowhere_near_the_handcrafted_macro_actions(tmp_path):
    state = TrainingState(Target(), dataclasses.replace(SMALL_PAPER, warmup=200, updates=1), tmp_path)
    train(Target(), state.settings, tmp_path)
    state.open(True, lambda sentence: None)
    warmup = state.replay.all().parameters[:200]
    assert np.abs(warmup).mean() == pytest.approx(0.5, abs=0.06)  # the handcrafted ones are 1 in size


def test_a_training_of_the_recipe_goes_on(tmp_path):
    once = train(Target(), SMALL_PAPER, tmp_path / "once")
    train(Target(), dataclasses.replace(SMALL_PAPER, updates=9), tmp_path / "twice")
    twice = train(Target(), SMALL_PAPER, tmp_path / "twice", resume=True)
    np.testing.assert_array_equal(load_model(once.model).weights, load_model(twice.model).weights)
    with pytest.raises(ValueError, match="was begun with start random"):
        train(Target(), dataclasses.replace(SMALL_PAPER, start="handcrafted"), tmp_path / "twice", resume=True)


def test_words_can_be_compared():
    assert parse_change("default_policy=greedy") == ("default_policy", "greedy")
    assert parse_change("default_policy=None") == ("default_policy", None)
    assert parse_change("inputs=plain") == ("inputs", "plain")
    with pytest.raises(ValueError, match="The setting inputs cannot be 'raw'"):
        parse_change("inputs=raw")


def test_a_ladder_tells_what_each_rung_gains(tmp_path):
    fixed = TINY.values().keys() - {"critic", "start", "discount", "inputs"}
    rungs = ladder(Target(), SHORT, fixed)
    assert [rung.name for rung in rungs] == ["paper", "set critic", "our networks", "handcrafted start", "our search"]
    rungs = rungs[1:4]
    ablation, watch = ask(tmp_path, rungs=rungs)
    assert [row.name for row in ablation.rows] == [rung.name for rung in rungs]
    assert "Training target, handcrafted start, seed 1 (6 of 6)." in watch.sentences
    folders = [tmp_path / f"{rung.name.replace(' ', '-')}_seed{seed}" for rung in rungs for seed in (0, 1)]
    returns = [[one.total_return for one in read(folder / "result.json").evaluation.records] for folder in folders]
    means = np.mean(np.reshape(returns, (3, 2, -1)), axis=1)
    for row, gains in zip(ablation.rows[1:], np.diff(means, axis=0), strict=True):
        assert row.gain == pytest.approx(gains.mean())
        assert row.gain_stderr == pytest.approx(gains.std(ddof=1) / np.sqrt(gains.size))
    assert ablation.rows[0].gain is None
    trained = json.loads((folders[0] / "settings.json").read_text())["settings"]
    assert (trained["critic"], trained["inputs"], trained["start"]) == ("set", "plain", "random")
    assert [str(column.header) for column in ablation_table(ablation).columns][:3] == ["rung", "return", "gain"]
    assert [curve.label for curve in ablation.curves().curves[:3]] == [rung.name for rung in rungs]
    write_report(tmp_path / "report.html", read_results([tmp_path / "ablation.json"]))
    assert "handcrafted start" in (tmp_path / "report.html").read_text()

    again, watch = ask(tmp_path, rungs=rungs)
    assert (again, watch.count("Training")) == (ablation, 0)
    with pytest.raises(ValueError, match="was begun with ladder"):
        ask(tmp_path, rungs=rungs[1:])


# ------------------------------------------------------------------------------------------------------ command line


def test_train_by_the_papers_recipe(run, tmp_path):
    code, _, err = run("train", TOY, *SMALL, "--recipe", "paper", "--updates", 10, "--out", "run")
    assert code == 0, err
    made = json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]
    assert (made["critic"], made["default_policy"], made["mirror"], made["second_look"]) == ("flat", "random", False, 0)
    assert (made["start"], made["batch"], made["warmup"]) == ("handcrafted", TINY.batch, TINY.warmup)
    code, _, err = run("train", TOY, "--recipe", "papers")
    assert (code, "papers" in err) == (2, True)


def test_climb_a_ladder(run, tmp_path):
    options = [*SMALL, "--updates", 10, "--steps", 1, "--episodes", 4, "--out", "all", "--ladder", "--no-mirror"]
    options += ["--default-policy", "random", "--no-learn-lengths"]
    options += ["--discount=0.98", "--refine=0", "--second_look", 0]
    code, out, err = run("ablate", TOY, *options)
    assert code == 0, err
    assert "rung" in out
    assert "Training target, set critic, seed 0 (2 of 2)." in err
    rows = json.loads((tmp_path / "all" / "ablation.json").read_text())["rows"]
    assert [row["rung"] for row in rows] == ["paper", "set critic"]
    code, _, err = run("ablate", TOY, *options, "--critics", "set")
    assert (code, "A ladder has its own rungs to compare: leave out" in err) == (2, True)
