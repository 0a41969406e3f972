"""What people see of a training."""

import msgspec
import pytest

from magic_pomdp.learning import watching
from magic_pomdp.learning.watching import TensorBoard, evaluation_line, progress_rows, watch_all
from magic_pomdp.results.metrics import EvaluationReport, Measured, Progress

REPORT = EvaluationReport(
    updates=5, minutes=1.0, return_mean=2.5, return_stderr=0.5, success_rate=0.5, episodes=4, plan_steps=9
)


def test_tensorboard_is_told_every_number(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with TensorBoard(tmp_path) as watch:
        watch.evaluated(REPORT, [REPORT])
    found = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    (event,) = found.Scalars("evaluation/return_mean")
    assert (event.step, event.value) == (5, 2.5)
    assert set(found.Tags()["scalars"]) == {
        f"evaluation/{name}"
        for name in ("minutes", "return_mean", "return_stderr", "success_rate", "episodes", "plan_steps")
    }


def test_a_file_of_tensorboard_that_cannot_be_written_is_named(tmp_path, capfd):
    watch = TensorBoard(tmp_path)
    (tmp_path / "tensorboard").rename(tmp_path / "elsewhere")
    with watch, pytest.raises(FileNotFoundError) as failure:
        watch.evaluated(REPORT, [REPORT])
    assert failure.value.filename == str(watch.path)
    (tmp_path / "tensorboard").touch()
    with pytest.raises(FileExistsError) as failure:
        TensorBoard(tmp_path)
    assert "tensorboard" in failure.value.filename
    assert capfd.readouterr() == ("", "")


PROGRESS = Progress(
    minutes=1.0,
    minutes_left=None,
    updates=5,
    updates_left=15,
    plans=30,
    warmup=200,
    replay=30,
    episodes=3,
    warming_up=True,
    recent_return=None,
    evaluation=None,
    updates_per_second=1.0,
    plans_per_second=2.0,
    measured=Measured(critic_loss=1.0, critic_error=2.0, expected_value=3.0, entropy=-1.5, std=0.1, alpha=0.02),
    target_entropy=-0.88,
)


def test_progress_says_how_far_it_is_and_what_it_aims_at():
    rows = progress_rows(PROGRESS)
    assert rows["updates"].startswith("5, 15 left;")
    assert rows["warm-up"].startswith("30 of 200 plans")
    assert "entropy -1.50 (target -0.88)" in rows["generator"]
    assert "error 2.00 of discounted return" in rows["critic"]


def test_the_evaluation_of_the_starting_set_is_called_that_and_one_episode_has_no_error():
    start = msgspec.structs.replace(REPORT, updates=0, episodes=1, lead=1.0, lead_stderr=0.0)
    line = evaluation_line(start)
    assert "Evaluation after 1.0 minutes, of the starting set: return 2.5 ± unknown" in line
    assert "+1.0 ± unknown against the set to beat" in line
    assert "return 2.5 ± 0.5, success 50% in 4 episodes" in evaluation_line(REPORT)


def test_what_is_missing_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(watching, "find_spec", lambda name: None)
    with watch_all(tmp_path, "a training"):
        pass
    said = capsys.readouterr().err
    assert said.startswith("Compiling or loading the planner")
    assert "No learning-curve.png: matplotlib is missing." in said
    assert "No folder for TensorBoard: tensorboard is missing." in said
