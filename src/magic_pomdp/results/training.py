"""What trainings reach: learning curves, and what of the learning matters."""

import msgspec
import numpy as np

from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.statistics import mean, standard_error
from magic_pomdp.results.base import Amount, Count, Label, Name, Share, Stored
from magic_pomdp.results.evaluation import Evaluation

ABLATION_FILE = "ablation.json"
"""What a folder calls what the trainings of an ablation add up to."""

PAPER_RUNG = "paper"
"""The lowest rung of a ladder: all as the paper has it."""


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation on the way of a training."""

    minutes: Amount
    """Of training so far."""
    updates: Count
    """So far."""
    return_mean: float
    return_stderr: Amount
    success_rate: Share
    episodes: Count
    plan_steps: Count
    """Budget of a plan in the evaluation, in primitive steps."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """The evaluations of one training."""

    label: Label
    """What tells this training from the others; trainings that count as one kind may share it."""
    points: tuple[CurvePoint, ...]
    """Each evaluation on the way, the first first."""


class Curves(Stored, frozen=True, kw_only=True, tag="curves"):
    """Learning curves for one task."""

    task: Name
    handcrafted: float | None = None
    """What the handcrafted macro-actions return, for comparison."""
    curves: tuple[Curve, ...]


class AblationTraining(Stored, frozen=True, kw_only=True, tag="training"):
    """One training of an ablation, and the evaluation of its best generator."""

    conditioning: Name
    """What the generator is told."""
    critic: Name
    change: Label = ""
    """Another setting that is changed, as name=value; "" for none."""
    rung: Label = ""
    """Of a ladder: what it takes over from us; "" if there is none."""
    seed: int
    minutes: Amount
    updates: Count
    plans: Count
    curve: tuple[CurvePoint, ...]
    evaluation: Evaluation

    def __post_init__(self) -> None:
        check_seed(self.seed)


class AblationRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the trainings of one conditioning, critic and change, or of one rung, reach, over all seeds."""

    conditioning: Name
    critic: Name
    change: Label = ""
    rung: Label = ""
    gain: float | None = None
    """How much more that is than on the rung before; None on the lowest, and where there are no rungs."""
    gain_stderr: Amount | None = None
    """Of the difference episode by episode, over the seeds' means."""
    return_mean: float
    return_stderr: Amount
    """Of the episodes' means over the seeds, since all trainings meet the same episodes; how much a training's own
    luck matters is seen from `by_seed`."""
    success_rate: Share
    by_seed: dict[str, float]
    """Mean return of each training."""
    minutes: Amount
    updates: Amount
    plans: Amount | None = None
    """None if that is not known."""

    @property
    def name(self) -> str:
        """What tells it from the others, for a person."""
        return self.rung or ", ".join(part for part in (self.conditioning, self.critic, self.change) if part)

    @property
    def in_paper(self) -> bool:
        """Whether the paper has a score of the same name."""
        return not self.change and self.rung in ("", PAPER_RUNG)


class Ablation(Stored, frozen=True, kw_only=True, tag="ablation"):
    """What the variants of a training reach."""

    task: Name
    rows: tuple[AblationRow, ...]
    handcrafted: Evaluation
    """The evaluation of the set that learning sets out from."""
    trainings: tuple[AblationTraining, ...]

    @staticmethod
    def of(task: str, handcrafted: Evaluation, trainings: tuple[AblationTraining, ...]) -> "Ablation":
        """What trainings, whose evaluations have their episodes, add up to. It is without the single episodes, which
        have their own files."""
        groups: dict[tuple[str, ...], list[AblationTraining]] = {}
        for one in trainings:
            groups.setdefault((one.conditioning, one.critic, one.change, one.rung), []).append(one)
        rows, below = [], None
        for group in groups.values():
            rows.append(_row(group, below))
            below = group if group[0].rung else None
        return Ablation(
            task=task,
            rows=tuple(rows),
            handcrafted=handcrafted.without_records(),
            trainings=tuple(
                msgspec.structs.replace(one, evaluation=one.evaluation.without_records()) for one in trainings
            ),
        )

    def curves(self) -> Curves:
        """The learning curves; the seeds of a variant share its label."""
        several = len({one.critic for one in self.trainings}) > 1
        curves = []
        for one in self.trainings:
            parts = (one.conditioning, f"{one.critic} critic" if several else "", one.change)
            label = one.rung or ", ".join(part for part in parts if part)
            curves.append(Curve(label=label, points=one.curve))
        return Curves(task=self.task, handcrafted=self.handcrafted.return_mean, curves=tuple(curves))


def _row(group: list[AblationTraining], below: list[AblationTraining] | None) -> AblationRow:
    """What a group of trainings adds up to; `below` are those of the rung before, if there is one."""
    everybody = [*group, *(below or ())]
    episodes = {tuple(record.episode for record in one.evaluation.records) for one in everybody}
    if len(episodes) > 1 or episodes == {()}:
        raise ValueError("The trainings of an ablation must be evaluated on the same episodes, and keep their records.")
    returns = _returns(group)
    gains = [] if below is None else list(returns.mean(axis=0) - _returns(below).mean(axis=0))
    return AblationRow(
        conditioning=group[0].conditioning,
        critic=group[0].critic,
        change=group[0].change,
        rung=group[0].rung,
        gain=mean(gains) if gains else None,
        gain_stderr=standard_error(gains) if gains else None,
        return_mean=float(returns.mean()),
        return_stderr=standard_error(list(returns.mean(axis=0))),
        success_rate=mean([one.evaluation.success_rate for one in group]),
        by_seed={str(one.seed): one.evaluation.return_mean for one in group},
        minutes=mean([one.minutes for one in group]),
        updates=mean([one.updates for one in group]),
        plans=mean([one.plans for one in group]),
    )


def _returns(group: list[AblationTraining]) -> np.ndarray:
    """Of each training in each episode."""
    return np.array([[record.total_return for record in one.evaluation.records] for one in group])
