"""What the software does, in a minute or two: learned macro-actions against handcrafted ones and none on Light-Dark, on
the same episodes; a sentence that says who is better, and a page about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from magic_pomdp.core.registry import make
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.registry import planner_label
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import write
from magic_pomdp.results.recording import save_recording
from magic_pomdp.running.difference import Difference, difference
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import evaluate
from magic_pomdp.running.factory import PlannerFactory, able_planners
from magic_pomdp.running.recording import record_episodes
from magic_pomdp.show.caution import few_failures
from magic_pomdp.show.report import write_report
from magic_pomdp.show.results import read_results
from magic_pomdp.show.words import mean_words, number_words

EPISODES = 150
SECONDS = 0.003
"""Of a plan: little time tells good macro-actions from others; the paper allows 0.1 s."""
RECORDED = 2
"""Episodes of each planner that can be replayed."""
PAGE = "report.html"
_TASK = "light-dark"
_PLANNERS = 3
_TITLE = "Light-Dark, planner by planner"
SETS = "Macro-DESPOT, 6: the handcrafted set of the paper. 16/6/2: a better one, made by hand, of three lengths."
"""What a table cannot say of its rows."""


@dataclass(frozen=True)
class Entrant:
    """Who takes part."""

    planner: str
    who: str
    """How sentences call it."""
    file: str
    """What its results are called."""
    overrides: Mapping[str, SettingValue] = field(default_factory=dict)
    """Settings that are other than the task advises."""


_ENTRANTS = (
    Entrant("magic", "MAGIC with learned macro-actions", "magic"),
    Entrant("macro-despot", "Macro-DESPOT with the best set made by hand", "macro-despot-best"),
    Entrant(
        "macro-despot",
        "Macro-DESPOT with the paper's handcrafted set",
        "macro-despot",
        {"macro_length": 6, "shorter": "none"},
    ),
    Entrant("despot", "DESPOT, which has none", "despot"),
)
_PROOF = 3.0
"""Standard errors by which the first must lead to be called better."""


@dataclass(frozen=True)
class Demo:
    """What a demo has found."""

    evaluations: Sequence[Evaluation]
    verdict: str
    """Who is better, and what these episodes do not tell, in a sentence or two."""
    page: Path


def demo_entrants() -> list[Entrant]:
    """Who takes part: the first planners that can plan there, one of them with two sets."""
    entrants: list[Entrant] = []
    for name in able_planners(make(_TASK))[:_PLANNERS]:
        known = [one for one in _ENTRANTS if one.planner == name]
        entrants += known or [Entrant(name, planner_label(name), name)]
    return entrants


def run_demo(
    folder: Path,
    episodes: int = EPISODES,
    seconds: float = SECONDS,
    seed: int = 0,
    on_evaluation: Callable[[PlannerFactory, bool], None] | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
) -> Demo:
    """Evaluate all planners on the same episodes and record the first ones; save everything, and a page that shows
    it. `on_evaluation` and `on_progress` are those of `compare`."""
    task, evaluations, files = make(_TASK), [], []
    entrants = demo_entrants()
    for one in entrants:
        factory = PlannerFactory(one.planner, Budget(seconds=seconds), one.overrides)
        if on_evaluation is not None:
            on_evaluation(factory, False)
        evaluations.append(evaluate(task, factory, episodes, seed, on_progress=on_progress))
        recording = record_episodes(task, factory, min(RECORDED, episodes), seed, on_progress=on_progress)
        result, recorded = folder / f"{one.file}.json", folder / f"{one.file}.record.gz"
        write(result, evaluations[-1])
        save_recording(recorded, recording)
        files += [result, recorded]
    words, page = verdict([one.who for one in entrants], evaluations), folder / PAGE
    write_report(page, read_results(files), _TITLE, words)
    return Demo(evaluations, words, page)


def verdict(names: Sequence[str], evaluations: Sequence[Evaluation]) -> str:
    """Over whom the first planner's lead is proof, episode by episode, and over whom it is not."""
    who, first = names[0], evaluations[0]
    if first.episodes < 2:
        return f"One episode does not tell whether {who} is better: run more of them."
    leads = [(name, difference(first, other)) for name, other in zip(names[1:], evaluations[1:], strict=True)]
    unsure = [(name, lead) for name, lead in leads if lead.standard_errors < _PROOF or few_failures(lead)]
    sure = [one for one in leads if one not in unsure]
    sentences = []
    if sure:
        words = " and ".join(f"{mean_words(lead.mean, lead.stderr)} more than {name}" for name, lead in sure)
        least = number_words(min(lead.standard_errors for _, lead in sure), 1)
        error = f"{'that' if len(sure) == 1 else 'the least of these leads'} is {least} times its standard error"
        sentences.append(f"{who} wins: on the same {first.episodes} episodes it returns {words}; {error}.")
    if unsure:
        words = "; ".join(f"over {name} it leads by {_why_unsure(lead)}" for name, lead in unsure)
        question = "it is better than the rest" if sure else f"{who} is better"
        where = "" if sure else f"on the same {first.episodes} episodes, "
        sentences.append(f"These episodes do not tell whether {question}: {where}{words}.")
    return " ".join(sentences)


def _why_unsure(lead: Difference) -> str:
    """A lead, and why it is no proof."""
    words = mean_words(lead.mean, lead.stderr)
    if lead.standard_errors < _PROOF:
        return f"{words}, {number_words(lead.standard_errors, 1)} times its standard error, and three would be proof"
    failures = f"{lead.first_failures} and {lead.second_failures}"
    return f"{words}, but they saw too few failures ({failures}) to tell how often each fails"
