"""What people see of a training."""

from magic_pomdp.learning.watching import TensorBoard
from magic_pomdp.results.metrics import EvaluationReport


def test_tensorboard_is_told_every_number(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    report = EvaluationReport(
        updates=5, minutes=1.0, return_mean=2.5, return_stderr=0.5, success_rate=0.5, episodes=4, plan_steps=9
    )
    with TensorBoard(tmp_path) as watch:
        watch.evaluated(report, [report])
    found = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    (event,) = found.Scalars("evaluation/return_mean")
    assert (event.step, event.value) == (5, 2.5)
