"""What the software does, in a minute or two: learned macro-actions against handcrafted ones and none on Light-Dark, on
the same episodes; a sentence that says who is better, and a page about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from magic_pomdp.core.registry import make
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import write
from magic_pomdp.results.recording import save_recording
from magic_pomdp.running.difference import difference
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import evaluate
from magic_pomdp.running.factory import PlannerFactory, able_planners
from magic_pomdp.running.recording import record_episodes
from magic_pomdp.show.report import write_report
from magic_pomdp.show.results import read_results
from magic_pomdp.show.words import label_of, mean_words, number_words

EPISODES = 150
SECONDS = 0.003
"""Of a plan: little time tells good macro-actions from others; the paper allows 0.1 s."""
RECORDED = 2
"""Episodes of each planner that can be replayed."""
PAGE = "report.html"
_TASK = "light-dark"
_PLANNERS = 3
_TITLE = "Light-Dark, planner by planner"
_OVERRIDES: Mapping[str, Mapping[str, SettingValue]] = {"macro-despot": {"macro_length": 6, "shorter": "none"}}
"""The handcrafted set is the paper's, of one length; the task advises a better one."""
_WHO = {
    "magic": "MAGIC with learned macro-actions",
    "macro-despot": "Macro-DESPOT with the paper's handcrafted set",
    "despot": "DESPOT, which has none",
}
_PROOF = 3.0
"""Standard errors by which the first must lead to be called better."""


@dataclass(frozen=True)
class Demo:
    """What a demo has found."""

    evaluations: Sequence[Evaluation]
    verdict: str
    """One sentence: who is better, or that these episodes do not tell."""
    page: Path


def demo_planners() -> list[str]:
    """Who takes part: the first that can plan there."""
    return list(able_planners(make(_TASK)))[:_PLANNERS]


def run_demo(
    folder: Path,
    episodes: int = EPISODES,
    seconds: float = SECONDS,
    seed: int = 0,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
) -> Demo:
    """Evaluate all planners on the same episodes and record the first ones; save everything, and a page that shows
    it."""
    task, evaluations, files = make(_TASK), [], []
    for name in demo_planners():
        factory = PlannerFactory(name, Budget(seconds=seconds), _OVERRIDES.get(name, {}))
        evaluations.append(evaluate(task, factory, episodes, seed, on_progress=on_progress))
        recording = record_episodes(task, factory, min(RECORDED, episodes), seed, on_progress=on_progress)
        result, recorded = folder / f"{name}.json", folder / f"{name}.record.gz"
        write(result, evaluations[-1])
        save_recording(recorded, recording)
        files += [result, recorded]
    words, page = verdict(evaluations), folder / PAGE
    write_report(page, read_results(files), _TITLE, words)
    return Demo(evaluations, words, page)


def verdict(evaluations: Sequence[Evaluation]) -> str:
    """Whether the first planner is better than the others, episode by episode, in one sentence."""
    first, *others = evaluations
    who = _who(first)
    if first.episodes < 2:
        return f"One episode does not tell whether {who} is better: run more of them."
    found = [(other, difference(first, other)) for other in others]
    leads = " and ".join(f"{mean_words(lead.mean, lead.stderr)} more than {_who(other)}" for other, lead in found)
    compared = f"on the same {first.episodes} episodes it returns {leads}"
    least = min(lead.standard_errors for _, lead in found)
    if least >= _PROOF:
        return f"{who} wins: {compared}; the least of these leads is {_times(least)} its standard error."
    return (
        f"These episodes do not tell whether {who} is better: {compared}; the least of these leads is only "
        f"{_times(least)} its standard error, and three would be proof."
    )


def _who(evaluation: Evaluation) -> str:
    return _WHO.get(evaluation.planner, label_of(evaluation))


def _times(standard_errors: float) -> str:
    return f"{number_words(standard_errors, 1)} times"
