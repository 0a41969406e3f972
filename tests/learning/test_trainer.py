import dataclasses
import os
import shutil
import signal
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from toy import Target

import magic_pomdp as mp
from magic_pomdp import Belief
from magic_pomdp.core.saving import claimed
from magic_pomdp.learning import TrainSettings, train
from magic_pomdp.learning import settings as settings_module
from magic_pomdp.learning import trainer as trainer_module
from magic_pomdp.learning.checkpoint import CheckpointFile, checkpoints, load_checkpoint
from magic_pomdp.learning.collecting import EVALUATION, TRAINING, Collecting, Collector
from magic_pomdp.learning.learner import Diverged, Learner
from magic_pomdp.learning.state import TrainingState
from magic_pomdp.learning.trainer import Trainer
from magic_pomdp.learning.watching import Lines, MetricsFile
from magic_pomdp.macros import HeldActionSpace
from magic_pomdp.magic import MagicPlanner, MagicSettings, load_model
from magic_pomdp.magic.arrays import load_arrays
from magic_pomdp.results.metrics import EvaluationReport, read_metrics
from magic_pomdp.running.workers import JobFailed

TINY = TrainSettings(
    minutes=None,
    updates=60,
    workers=0,
    plan_steps=1,
    warmup=40,
    batch=16,
    replay=500,
    particles=4,
    encoder_width=8,
    generator_width=16,
    critic_width=16,
    evaluate_minutes=60.0,
    evaluation_episodes=5,
    evaluation_steps=1,
)


def settings(**changes):
    return dataclasses.replace(TINY, **changes)


def test_a_training_of_a_task_that_has_got_more_parameters_since_can_be_resumed(tmp_path):
    state = TrainingState(Target(), TINY, tmp_path)

    def with_parameters(**parameters):
        return msgspec.structs.replace(state.question, task_parameters={"discount": 0.98, **parameters})

    state._check_same(with_parameters(max_steps=1, derived=[1.0, 2.0]))
    with pytest.raises(ValueError, match=r"has another task's parameters .*'max_steps': 2"):
        state._check_same(with_parameters(max_steps=2))


def test_another_content_of_a_file_that_the_task_reads_is_noticed(tmp_path):
    state = TrainingState(Target(), TINY, tmp_path)
    state._check_same(msgspec.structs.replace(state.question, derived=""))  # of a version that did not keep it
    with pytest.raises(ValueError, match="was begun with another content of a file"):
        state._check_same(msgspec.structs.replace(state.question, derived="0123456789abcdef"))


def test_what_a_task_derives_from_its_parameters_is_none_of_them(tmp_path):
    kept = TrainingState(mp.make("crowd-driving"), TINY, tmp_path).question.task_parameters
    assert kept["cars"] == 15
    assert "area_cells" not in kept


def state_of(folder):
    arrays, about = load_checkpoint(folder, print)
    return arrays, {name: getattr(about, name) for name in ("updates", "plans", "episodes", "warmed_up")}


def assert_same(one, other):
    assert one[1] == other[1]
    assert one[0].keys() == other[0].keys()
    for name, array in one[0].items():
        np.testing.assert_array_equal(array, other[0][name], err_msg=name)


# ----------------------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("critic", ["set", "flat"])
def test_the_best_macro_action_is_found(tmp_path, critic):
    """Its handcrafted shots are at −1 and 1; the target lies anywhere in between."""
    learning = settings(
        updates=500, warmup=300, batch=64, replay=5000, critic=critic, critic_width=64, generator_width=64, std_max=0.5,
        std=0.15, generator_rate=3e-3, evaluation_episodes=50,
    )  # fmt: skip
    trained = train(Target(), learning, tmp_path)
    assert (trained.updates, trained.stopped_by) == (500, "updates")
    planner = MagicPlanner(Target(), MagicSettings(model=str(trained.model)))
    misses = []
    for target in np.linspace(-0.6, 0.6, 13):
        context = np.array([target])
        shots = planner.generate(Belief.initial(Target(), context), context).actions[:, 0, 0]
        misses.append(np.abs(shots - target).min())
    assert np.mean(misses) < 0.1
    assert trained.score.lead > max(3.0, 10.0 * trained.score.lead_stderr)
    assert trained.score.return_mean > 9.8  # of 10, of which the blur takes 0.025; handcrafted shots earn 5.2


def test_a_discrete_task_learns_over_its_real_actions(tmp_path):
    task = mp.make("tiger", max_steps=6)
    trained = train(task, settings(plan_steps=300, updates=20, warmup=30, lengths="2", handcrafted="1"), tmp_path)
    planner = MagicPlanner(task, MagicSettings(model=str(trained.model)))
    assert set(planner.generate(Belief.initial(task, np.zeros(0)), np.zeros(0)).actions.ravel()) <= {0.0, 1.0, 2.0}


class Covered(Target):
    """One shot is always there, and one is learned."""

    name = "covered"

    def macro_space(self, length):
        return HeldActionSpace(length, (-1.0,), (1.0,), ((0.0,),), extra=(((0.3,),),))


@pytest.mark.slow
def test_what_is_learned_adds_to_what_is_always_there(tmp_path):
    """A shot that must be the same for all targets, which are anywhere from −0.6 to 0.6: alone it would best be in
    their middle; beside one at 0.3 it does best at −0.3, the middle of those that are nearer to it."""
    learning = settings(
        updates=600, warmup=300, batch=64, replay=5000, critic_width=64, generator_width=64, std_max=0.5, std=0.15,
        generator_rate=3e-3, conditioning="none",
    )  # fmt: skip
    trained = train(Covered(), learning, tmp_path)
    context = np.zeros(1)
    planner = MagicPlanner(Covered(), MagicSettings(model=str(trained.model)))
    shots = planner.generate(Belief.initial(Covered(), context), context)
    np.testing.assert_allclose(shots.actions[:, 0, 0], [-0.3, 0.3], atol=0.1)


@pytest.mark.parametrize("updates_per_plan", [0.3, 2.5])
def test_the_same_seed_gives_the_same_weights(tmp_path, updates_per_plan):
    learning = settings(updates_per_plan=updates_per_plan)
    for folder in ("one", "other"):
        train(Target(), learning, tmp_path / folder)
    assert_same(state_of(tmp_path / "one"), state_of(tmp_path / "other"))
    train(Target(), dataclasses.replace(learning, seed=1), tmp_path / "third")
    assert not np.array_equal(
        state_of(tmp_path / "one")[0]["generator.head.weight"], state_of(tmp_path / "third")[0]["generator.head.weight"]
    )
    plans = state_of(tmp_path / "one")[1]["plans"]
    assert plans == pytest.approx(40 + 60 / updates_per_plan, abs=2)


@pytest.mark.parametrize("interruption", [1, 27])
def test_a_resumed_training_is_the_same_as_an_uninterrupted_one(tmp_path, interruption):
    train(Target(), TINY, tmp_path / "whole")
    train(Target(), settings(updates=interruption), tmp_path / "parts")
    said = []
    train(Target(), TINY, tmp_path / "parts", resume=True, watch=Lines(said.append))
    assert said[0].startswith(f"Resumed after {interruption} updates")
    assert_same(state_of(tmp_path / "whole"), state_of(tmp_path / "parts"))


def test_a_counted_training_gives_the_same_file_whenever_it_is_run(tmp_path, monkeypatch):
    """The clock runs differently in each of them, and the last two are interrupted: in the first evaluation, and
    between two updates."""
    counted = settings(evaluate_updates=7, evaluate_minutes=1e-4, evaluation_episodes=4)

    def interrupted(number, purpose):
        def run(self, job, whole=Collector.run):
            if (job.purpose, job.number) == (purpose, number):
                os.kill(os.getpid(), signal.SIGINT)
            return whole(self, job)

        return run

    products, curves = [], []
    for name, at in (("one", None), ("two", None), ("three", (2, EVALUATION)), ("four", (63, TRAINING))):
        folder = tmp_path / name
        if at is not None:
            with monkeypatch.context() as patch:
                patch.setattr(Collector, "run", interrupted(*at))
                assert train(Target(), counted, folder).stopped_by == "interrupt"
        trained = train(Target(), counted, folder, resume=at is not None)
        products.append((folder / "best.safetensors").read_bytes())
        curves.append([(report.updates, report.return_mean) for report in trained.curve])
    assert [updates for updates, _ in curves[0]] == [0, 7, 14, 21, 28, 35, 42, 49, 56, 60]
    assert curves[1:] == curves[:1] * 3
    assert products[1:] == products[:1] * 3
    assert load_model(tmp_path / "one" / "best.safetensors").card.minutes is None


def test_the_curve_begins_with_the_starting_set(tmp_path):
    """A resumed training does not evaluate it again."""
    first = train(Target(), settings(evaluate_updates=20, updates=30), tmp_path)
    assert [report.updates for report in first.curve] == [0, 20, 30]
    again = train(Target(), settings(evaluate_updates=20, updates=40), tmp_path, resume=True)
    assert [report.updates for report in again.curve] == [0, 20, 30, 40]


def test_evaluations_of_a_short_training_are_short(tmp_path, monkeypatch):
    """The set to beat has as many episodes as fit, and what is compared with it has the same ones."""
    monkeypatch.setattr(trainer_module, "_EVALUATION_SHARE", 1e-9)
    short = settings(evaluation_episodes=None, minutes=60.0, workers=1)
    trained = train(Target(), short, tmp_path)
    assert {report.episodes for report in trained.curve} == {20}
    assert trained.score.lead is not None
    asked = train(Target(), dataclasses.replace(short, evaluation_episodes=30), tmp_path / "asked")
    assert {report.episodes for report in asked.curve} == {30}


def test_a_warm_up_that_would_take_too_long_ends_with_what_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(settings_module, "_WARMUP_SHARE", 1e-9)
    monkeypatch.setattr(settings_module, "_WARMUP", 400)
    short = settings(warmup=400, minutes=60.0, updates=None, patience=1, evaluate_minutes=1e-4)
    trained = train(Target(), short, tmp_path)
    assert 16 <= trained.warmup < 400
    assert trained.updates > 0
    again = train(Target(), dataclasses.replace(short, patience=2), tmp_path, resume=True)
    assert again.warmup == trained.warmup
    assert settings(minutes=60.0, updates=None, warmup=300).warmup_minutes is None  # what is asked for is done
    assert settings(minutes=60.0, warmup=400).warmup_minutes is None  # where nothing follows the clock, this neither


def test_a_training_that_is_over_before_its_warm_up_has_no_generator(tmp_path):
    trained = train(Target(), settings(minutes=1e-6, updates=None), tmp_path)
    assert (trained.model, trained.warmup) == (None, 40)


def test_what_a_training_does_is_said_at_its_start(tmp_path):
    said = []
    train(Target(), settings(batch=8), tmp_path, watch=Lines(said.append))
    rows = {line[:22].strip(): line[22:] for line in said[0].splitlines()[1:]}
    assert said[0].startswith("What this training does:")
    assert rows["batch"].split()[-2:] == ["asked", "for"]
    assert rows["set to beat"].endswith("chosen")
    assert rows["space"].strip().split("  ")[0] == "numbers between -1 and 1"
    assert rows["mirror images"].split()[0] == "none"


def test_another_budget_of_evaluations_needs_another_baseline(tmp_path):
    trained = train(Target(), settings(updates=10), tmp_path)
    assert TrainingState(Target(), settings(updates=10), tmp_path).baselines == {}
    other = train(Target(), settings(updates=20, evaluation_steps=3), tmp_path, resume=True)
    assert trained.curve[0].plan_steps == 1
    assert other.curve[-1].plan_steps == 3


def test_evaluations_are_counted_where_nothing_else_decides():
    assert settings(workers=0, updates=50).updates_to_evaluation == 1000
    assert settings(workers=0, updates=None, minutes=1.0).updates_to_evaluation is None
    assert settings(workers=2).updates_to_evaluation is None
    assert settings(workers=2, evaluate_updates=30).updates_to_evaluation == 30


def test_a_finished_training_has_nothing_to_resume(tmp_path):
    first = train(Target(), TINY, tmp_path)
    again = train(Target(), TINY, tmp_path, resume=True)
    assert (again.updates, again.score.return_mean) == (first.updates, first.score.return_mean)


def test_what_ends_a_training(tmp_path):
    assert train(Target(), settings(updates=None, minutes=0.02), tmp_path / "a").stopped_by == "minutes"
    patient = settings(updates=None, patience=2, evaluate_minutes=1e-4)
    trained = train(Target(), patient, tmp_path / "b")
    assert trained.stopped_by == "patience"
    assert trained.score.final


def test_the_card_tells_how_the_model_was_made(tmp_path):
    learning = settings(macro_length=2, seed=5, mirror=False, conditioning="belief")
    trained = train(Target(blur=0.1), learning, tmp_path, place="my tasks/toy.py:Target")
    card = load_model(trained.model).card
    assert (card.task, card.seed, card.updates) == ("target", 5, 60)
    assert card.command == (
        "magic-pomdp train 'my tasks/toy.py:Target' --set blur=0.1 --macro-length 2 --handcrafted 2 --lengths 2 "
        "--minutes None --updates 60 --workers 0 --plan-steps 1 --warmup 40 --replay 500 --batch 16 --no-mirror "
        "--particles 4 --encoder-width 8 --generator-width 16 --critic-width 16 --evaluate-minutes 60.0 "
        "--evaluation-episodes 5 --evaluation-steps 1 --seed 5 --conditioning belief"
    )
    size = {"count": 2, "size": 2, "length": 2, "lengths": [2.0]}
    assert card.space == {"space": "held action", **size, "least": [-1.0], "most": [1.0]}
    assert card.score.episodes == 5
    assert card.score.concurrent is card.chosen_by.concurrent is False
    assert trained.model.stat().st_size < 2_000_000


def test_a_training_of_software_0_1_0_goes_on(tmp_path):
    shutil.copytree(Path(__file__).parent / "training-0.1.0", tmp_path, dirs_exist_ok=True)
    reports = [line for line in read_metrics(tmp_path) if isinstance(line, EvaluationReport)]
    assert [report.final for report in reports] == [False, True]
    assert load_model(tmp_path / "best.safetensors").card.software == "0.1.0"
    said = []
    trained = train(Target(), TINY, tmp_path, resume=True, watch=Lines(said.append))
    assert said[0].startswith("Resumed after 27 updates, 67 plans")
    assert (trained.updates, trained.plans, trained.curve[0].return_mean) == (60, 100, reports[0].return_mean)


# ------------------------------------------------------------------------------------------------------------ workers


def test_worker_processes_learn_and_report(tmp_path):
    learning = settings(workers=1, evaluate_minutes=0.01, updates=150)
    trained = train(Target(), learning, tmp_path, watch=MetricsFile(tmp_path))
    assert trained.updates == 150
    assert any(isinstance(line, EvaluationReport) for line in read_metrics(tmp_path))
    assert not (tmp_path / ".weights").exists()


@dataclasses.dataclass(frozen=True)
class DyingOnce(Collecting):
    """Workers whose first one dies in its tenth episode."""

    def __call__(self):
        run, sign = super().__call__(), self.board.with_name("died")

        def run_or_die(job):
            if job.number >= 10 and not sign.exists():
                sign.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return run(job)

        return run_or_die


@dataclasses.dataclass(frozen=True)
class Infinite(Collecting):
    """Workers that find infinite values after a while."""

    def __call__(self):
        run = super().__call__()

        def spoil(job):
            collected = run(job)
            if job.number == 55 and collected.experience is not None:
                collected.experience.value[0] = np.inf
            return collected

        return spoil


def test_a_dead_worker_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer_module, "Collecting", DyingOnce)
    assert train(Target(), settings(workers=1), tmp_path).updates == 60
    assert (tmp_path / "died").exists()


def test_a_broken_task_is_named(tmp_path):
    class Broken(Target):
        def macro_space(self, length):
            return super().macro_space(length)

        def particle_features(self, context, state, features):
            raise RuntimeError("no features")

    with pytest.raises(JobFailed, match="Nothing could start because of RuntimeError: no features"):
        train(Broken(), TINY, tmp_path)


# --------------------------------------------------------------------------------------------------- what goes wrong


def test_an_infinite_value_ends_the_training(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer_module, "Collecting", Infinite)
    with pytest.raises(Diverged, match="not finite in episode 55 of the training"):
        train(Target(), TINY, tmp_path)
    arrays, about = load_arrays(checkpoints(tmp_path)[0], CheckpointFile)
    assert about.plans == 55
    assert (arrays.pop("replay.floor") == -np.inf).all()  # nothing is always in this task's set
    assert all(np.isfinite(array).all() for array in arrays.values())


def test_a_loss_that_is_not_finite_ends_the_training_before_any_weight_is_spoilt(tmp_path, monkeypatch):
    whole = Learner.update

    def update(self, replay):
        if self.updates == 20:
            replay.arrays["values"][:] = 1e38
        return whole(self, replay)

    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(Diverged, match=r"The critic's objective is .* in update 20"):
        train(Target(), TINY, tmp_path)
    arrays, about = load_arrays(checkpoints(tmp_path)[0], CheckpointFile)
    assert about.updates == 20
    assert all(np.isfinite(array).all() for name, array in arrays.items() if not name.startswith("replay"))


def test_ctrl_c_saves(tmp_path, monkeypatch):
    def update(self, replay, whole=Learner.update):
        if self.updates == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, replay)

    monkeypatch.setattr(Learner, "update", update)
    trained = train(Target(), TINY, tmp_path)
    assert (trained.stopped_by, trained.updates) == ("interrupt", 31)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    train(Target(), TINY, tmp_path, resume=True)
    train(Target(), TINY, tmp_path / "whole")
    assert_same(state_of(tmp_path / "whole"), state_of(tmp_path))


def test_a_damaged_checkpoint_costs_one_interval(tmp_path):
    train(Target(), settings(updates=20), tmp_path)
    train(Target(), settings(updates=40), tmp_path, resume=True)
    newest = checkpoints(tmp_path)[0]
    newest.write_bytes(newest.read_bytes()[:1000])
    said = []
    trained = train(Target(), TINY, tmp_path, resume=True, watch=Lines(said.append))
    assert "is damaged" in said[0]
    assert said[1].startswith("Resumed after 20 updates")
    assert trained.updates == 60


def test_a_training_is_not_overwritten_nor_continued_as_another(tmp_path):
    with pytest.raises(ValueError, match="There is no training in"):
        train(Target(), TINY, tmp_path, resume=True)
    train(Target(), TINY, tmp_path)
    with pytest.raises(ValueError, match="already holds a training: add --resume"):
        train(Target(), TINY, tmp_path)
    with pytest.raises(ValueError, match="was begun with batch 16: resume it with the same"):
        train(Target(), settings(batch=32), tmp_path, resume=True)
    with pytest.raises(ValueError, match="another task's parameters"):
        train(Target(blur=0.2), TINY, tmp_path, resume=True)
    with pytest.raises(ValueError, match="another macro-action space"):
        train(Target(), settings(macro_length=3), tmp_path, resume=True)


def test_a_training_without_its_checkpoints_starts_again_but_keeps_a_better_generator(tmp_path):
    learned = settings(updates=400, warmup=200, batch=64, replay=2000, generator_rate=3e-3, std=0.15, std_max=0.5)
    first = train(Target(), learned, tmp_path)
    kept = load_model(first.model).weights
    for path in checkpoints(tmp_path):
        path.unlink()
    with pytest.raises(ValueError, match=r"was begun with .*batch 64.*: resume it with the same"):
        train(Target(), settings(updates=1), tmp_path, resume=True)
    with pytest.raises(ValueError, match="another task's parameters"):
        train(Target(blur=0.2), learned, tmp_path, resume=True)
    said = []
    again = train(Target(), dataclasses.replace(learned, updates=1), tmp_path, True, Lines(said.append))
    assert said[0] == f"There is no checkpoint in {tmp_path}: the training starts from the beginning."
    assert again.curve[-1].return_mean < first.curve[-1].return_mean
    np.testing.assert_array_equal(load_model(again.model).weights, kept)


def test_damaged_settings_without_a_checkpoint_are_refused(tmp_path):
    for text in ("{", "[]", "{}"):
        (tmp_path / "settings.json").write_text(text)
        with pytest.raises(ValueError, match="was begun by another version of magic-pomdp, or is damaged"):
            train(Target(), TINY, tmp_path, resume=True)


def test_two_trainings_do_not_share_a_folder(tmp_path):
    train(Target(), settings(updates=20), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with claimed(tmp_path), pytest.raises(ValueError, match="Another process is at work in"):
        train(Target(), TINY, tmp_path, resume=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_episode_that_fails_costs_nothing_of_what_was_learned(tmp_path, monkeypatch):
    whole = Learner.update

    def update(self, replay):
        if self.updates == 30:
            raise JobFailed("The episode failed.")
        return whole(self, replay)

    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(JobFailed):
        train(Target(), TINY, tmp_path)
    assert state_of(tmp_path)[1]["updates"] == 30


def test_a_learner_needs_no_luck_but_its_own(tmp_path):
    torch.manual_seed(1)
    one = Trainer(Target(), TINY, tmp_path, Lines(print)).learner.state()
    torch.manual_seed(2)
    before = torch.get_rng_state()
    other = Trainer(Target(), TINY, tmp_path, Lines(print)).learner.state()
    assert torch.equal(before, torch.get_rng_state())
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
