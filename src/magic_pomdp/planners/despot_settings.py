"""What can be set about Macro-DESPOT, and about every planner that searches as it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.settings import Range, setting
from magic_pomdp.core.task import Task
from magic_pomdp.planners.settings import DEEPEST_SEARCH, PlannerSettings, room_for_nodes


@dataclass(frozen=True)
class DespotSettings(PlannerSettings):
    """What can be set about DESPOT, and about every planner that searches as it does."""

    scenarios: int = setting(
        100,
        "K, how many sampled futures all nodes of a search share.",
        short="K",
        at_least=1,
        at_most=1_000_000,
        tuned=Range(5, 500, logarithmic=True),
    )
    search_depth: int = setting(
        60, "D, how many primitive steps to look ahead.", short="D", at_least=1, at_most=DEEPEST_SEARCH
    )
    xi: float = setting(
        0.95,
        "ξ, the share of the root's gap that a trial leaves alone: the larger, the shorter are trials.",
        short="xi",
        above=0.0,
        at_most=1.0,
        tuned=Range(0.5, 1.0),
    )
    default_policy: Literal["guided", "greedy", "random"] | None = setting(
        None,
        "Whose earnings are the search's first lower bounds: guided by the task, greedy in its upper bound, or the "
        "paper's random macro-actions.",
        default_words="guided if the task has a guide, else greedy",
    )
    discount: float | None = setting(
        None,
        "γ of the search. Who is judged by undiscounted returns does better with a γ that is nearer to 1 than the "
        "task's: with 0.98, a robot risks one failure in a hundred to save a step.",
        short="gamma",
        above=0.0,
        at_most=1.0,
        default_words="the task's own",
    )
    regularisation: float = setting(
        0.0,
        "λ, what each macro-action that the search adds to its default policy must gain in the mean of all scenarios. "
        "So fewer plans fit the scenarios' luck alone; a plan's values are net of it.",
        short="lambda",
        at_least=0.0,
    )
    threads: int | None = setting(
        None,
        "Threads of one search. With a budget in primitive steps, plans are the same with any number.",
        default_words="all cores; one in a worker process",
        at_least=1,
        at_most=1_000,
    )
    refine: float = setting(
        0.0,
        "After this share of a budget, variations of the best macro-actions join the set for the first choice, and the "
        "search begins anew with the rest. 0: never.",
        short="refine",
        at_least=0.0,
        at_most=0.9,
        tuned=Range(0.0, 0.6),
    )
    second_look: int = setting(
        1_000,
        "Particles on which the macro-action that would be chosen is run once more, before it is: what did best on the "
        "scenarios of the search may have had their luck. 0 leaves it at that, and so do no more than the scenarios.",
        short=None,
        at_least=0,
        at_most=1_000_000,
    )
    tree_nodes: int = room_for_nodes(500_000)

    def handcrafted(self, task: Task) -> MacroActions:
        """The task's handcrafted macro-actions of these settings' length."""
        return task.macro_actions(self.length(task))


@dataclass(frozen=True)
class MacroDespotSettings(DespotSettings):
    """What can be set about Macro-DESPOT."""

    macro_length: int = setting(
        1, "Length of the longest macro-actions.", short=None, at_least=1, at_most=DEEPEST_SEARCH
    )
    shorter: str = setting(
        "none",
        "Lengths of more macro-actions like them, such as 6,2; those that are not shorter are left out.",
        short="shorter",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for word in self._shorter_words():
            if not word.isdecimal() or not 1 <= int(word) <= DEEPEST_SEARCH:
                raise ValueError(f"The setting shorter is none or some lengths, such as 6,2, not {self.shorter!r}.")

    @classmethod
    def of_lengths(cls, task: Task, lengths: Sequence[int]) -> "MacroDespotSettings":
        """What a task advises, but for handcrafted macro-actions of these lengths, the longest first."""
        return cls.advised(task, macro_length=lengths[0], shorter=",".join(map(str, lengths[1:])) or "none")

    def length(self, task: Task) -> int:
        return self.macro_length

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of all macro-actions, the longest first."""
        shorter = {int(word) for word in self._shorter_words()}
        return self.macro_length, *sorted((one for one in shorter if one < self.macro_length), reverse=True)

    def handcrafted(self, task: Task) -> MacroActions:
        """The task's handcrafted macro-actions of all lengths."""
        return MacroActions.union([task.macro_actions(length) for length in self.lengths])

    def _shorter_words(self) -> list[str]:
        return [] if self.shorter == "none" else self.shorter.split(",")
