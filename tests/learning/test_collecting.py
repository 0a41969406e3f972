"""What a training's workers bring back."""

import pytest
from toy import Target

from magic_pomdp.learning import collecting
from magic_pomdp.learning.collecting import (
    EVALUATION,
    TRAINING,
    Collected,
    Collecting,
    Collector,
    EpisodeJob,
    WeightBoard,
)
from magic_pomdp.magic import MagicSettings
from magic_pomdp.magic.shape import GeneratorShape


@pytest.mark.parametrize("concurrent", [False, True])
def test_trainings_plan_ahead_where_the_task_does_not_wait(tmp_path, monkeypatch, concurrent):
    asked = []
    monkeypatch.setattr(Target, "concurrent", concurrent)
    monkeypatch.setattr(collecting, "run_episode", lambda *_, **options: asked.append(options))
    collector(tmp_path).run(EpisodeJob(EVALUATION, 0))
    assert asked == [{"plans_ahead": concurrent}]


def collector(tmp_path, task=None):
    task = task or Target()
    shape = GeneratorShape.for_task(task, task.macro_space(1))
    WeightBoard(tmp_path / "board", shape.weight_count, create=True)
    return Collector(Collecting(task, shape, task.macro_space(1), tmp_path / "board", 0, 1, 1, 0.1, (1,)))


def test_an_episode_without_a_plan_brings_nothing_to_learn_from(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "run_episode", lambda *_, **__: "a record")
    assert collector(tmp_path).run(EpisodeJob(TRAINING, 0)) == Collected("a record", None)


class Refined(Target):
    """Its searches refine macro-actions."""

    name = "refined"
    advice = (*Target.advice, MagicSettings(scenarios=4, search_depth=1, refine=0.4))


def test_training_plans_with_what_was_drawn_and_evaluation_as_the_generator_will_be_used(tmp_path):
    worker = collector(tmp_path, Refined())
    collected = worker.run(EpisodeJob(TRAINING, 0))
    assert collected.experience.values.shape == (1, len(worker.source.space.start))
    assert worker.planner.settings == MagicSettings(scenarios=4, search_depth=1, default_policy="greedy", refine=0.4)
    assert worker.run(EpisodeJob(EVALUATION, 0)).experience is None
