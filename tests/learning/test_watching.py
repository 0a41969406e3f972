"""What people see of a training."""

import pytest

from magic_pomdp.learning.watching import TensorBoard
from magic_pomdp.results.metrics import EvaluationReport

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
