"""Tables of the docs, in Markdown, made from what is declared in the code: so a test can tell when the docs are old."""

import inspect
import re
from collections.abc import Iterable, Sequence

from magic_pomdp.core.functions import FUNCTIONS, Function, Returned
from magic_pomdp.core.settings import SettingValue, default_of, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.planners.registry import find_planner
from magic_pomdp.testing.declaration import function_arguments

_RETURNED = {
    Returned.NOTHING: "",
    Returned.NUMBER: "a number",
    Returned.LOGARITHM: "a logarithm",
    Returned.KEY: "a whole number",
    Returned.CHOICE: "a number of the set, or −1",
    Returned.STEP: "reward, outcome",
    Returned.CONDITIONED: "logarithm, reward, outcome",
}


def functions_table() -> str:
    """The functions of a task that are compiled; the required ones first, in bold."""
    rows = []
    for name, function in sorted(FUNCTIONS.items(), key=lambda item: not item[1].required):
        head = f"`{name}({', '.join(function_arguments(name))})`"
        rows.append(
            [
                f"**{head}**" if function.required else head,
                _written(function),
                _RETURNED[function.returns],
                _first_sentence(getattr(Task, name)),
            ]
        )
    return _table(["function", "writes into", "returns", "what it is for"], rows)


def settings_table(planners: Iterable[str]) -> str:
    """What can be set about planners; what some of them share stands there once."""
    owners: dict[tuple[str, str, str], list[str]] = {}
    for entry in map(find_planner, planners):
        for name, declared in settings_of(entry.settings).items():
            usual = declared.default_words or _plain(default_of(entry.settings, name))
            owners.setdefault((name, usual, declared.help), []).append(entry.label)
    rows = [[f"`{name}`", usual, meaning, ", ".join(labels)] for (name, usual, meaning), labels in owners.items()]
    return _table(["setting", "default", "meaning", "of"], rows)


def _plain(value: SettingValue) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _written(function: Function) -> str:
    """What a function fills or changes; chance that is used is plain."""
    changed = [name for name in function.changes if name != "random"]
    return ", ".join(f"`{name}`" for name in (*function.fills, *changed))


def _first_sentence(method: object) -> str:
    text = " ".join((inspect.getdoc(method) or "").split())
    found = re.match(r".*?\.(?= |$)", text)
    return found[0] if found else text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
