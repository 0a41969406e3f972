"""The command line. Each command is a call of a public function; what is slow to import is imported by who needs it."""

import dataclasses
import faulthandler
import os
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import tyro

from magic_pomdp.cli.learning import ablate, curves, models, train
from magic_pomdp.cli.options import DeclaredOptions, clash_sentence, named_option
from magic_pomdp.cli.planning import compare, difference, evaluate, tune
from magic_pomdp.cli.replaying import play, record, replay
from magic_pomdp.cli.reproducing import reproduce
from magic_pomdp.cli.shared import BAD_INPUT, FINE, INTERRUPTED, WRONG, complain, complain_of_failure
from magic_pomdp.cli.showing import demo, figures, picture, report, video
from magic_pomdp.cli.tools import bench, check, doctor, tasks
from magic_pomdp.cli.transferring import identify, transfer
from magic_pomdp.core.machine import collect_seldom

_COMMANDS: dict[str, Callable[..., int]] = {
    "tasks": tasks,
    "evaluate": evaluate,
    "compare": compare,
    "difference": difference,
    "tune": tune,
    "train": train,
    "curves": curves,
    "ablate": ablate,
    "models": models,
    "identify": identify,
    "transfer": transfer,
    "reproduce": reproduce,
    "demo": demo,
    "picture": picture,
    "record": record,
    "replay": replay,
    "play": play,
    "video": video,
    "figures": figures,
    "report": report,
    "check": check,
    "doctor": doctor,
    "bench": bench,
}
_WORKING = {
    *("evaluate", "compare", "tune", "train", "ablate", "demo", "record", "play", "figures", "check", "transfer"),
    "reproduce",
}
"""Commands that use worker processes."""
_DEBUG = "--debug"
"""An option of all commands."""


def main() -> int:
    """Run the command that was asked for; its exit code."""
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.UseAppendAction)
    about = (
        "Real-time planning under uncertainty: POMDPs in plain Python, planned at native speed. With --debug every "
        "command looks at the indices of a task's arrays, and is several times slower."
    )
    arguments = sys.argv[1:]
    if _DEBUG in arguments:
        arguments.remove(_DEBUG)
        os.environ["NUMBA_BOUNDSCHECK"] = "1"  # for this process, which has not imported numba yet, and its workers
    if not faulthandler.is_enabled() and sys.stderr is not None:
        faulthandler.enable()  # a crash is not the end without a word
    collect_seldom()
    try:
        code: int = tyro.extras.subcommand_cli_from_dict(
            _prepare(arguments), prog="magic-pomdp", description=about, args=arguments, config=config
        )
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return complain(f"{error.strerror or error}: {error.filename or 'a file'}.", WRONG)
    except MemoryError:
        return complain("There is not enough memory for these settings.", BAD_INPUT)
    except ValueError as error:
        return complain(str(error), BAD_INPUT)
    except Exception as error:
        from magic_pomdp.running.workers import JobFailed

        if isinstance(error, JobFailed):
            return complain_of_failure(error)
        sentence = _known_trouble(error)
        if sentence is None:
            raise
        return complain(sentence, WRONG)


def _prepare(arguments: list[str]) -> dict[str, Callable[..., int]]:
    """Let the workers' imports begin beside ours; all commands, the one that was asked for with the options that
    settings declare."""
    name = arguments[0] if arguments else ""
    elsewhere = named_option(arguments, "workers") == "0" or named_option(arguments, "on") == "ray"
    if name in _WORKING and not elsewhere and not {"-h", "--help"} & set(arguments):
        from magic_pomdp.running.workers import start_server

        start_server()
    return {**_COMMANDS, name: _with_declared_options(_COMMANDS[name], arguments)} if name in _COMMANDS else _COMMANDS


def _with_declared_options(command: Callable[..., int], arguments: list[str]) -> Callable[..., int]:
    """A copy of a command, since the next command line may ask for other options."""
    assert isinstance(command, FunctionType)
    copy = FunctionType(command.__code__, command.__globals__, command.__name__, command.__defaults__)
    copy.__doc__, copy.__kwdefaults__ = command.__doc__, command.__kwdefaults__
    kinds = command.__annotations__
    declared = {
        name: kind.declared(arguments)
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, DeclaredOptions)
    }
    others = [_option_names(name, kind) for name, kind in kinds.items() if name not in declared]
    for owner, kind in declared.items():
        for name in _option_names(owner, kind) & set().union(*others):
            raise ValueError(clash_sentence(name, f"the {owner}"))
    copy.__annotations__ = {**kinds, **declared}
    return copy


def _option_names(name: str, kind: Any) -> set[str]:
    """What an argument of a command is called on the command line."""
    return {item.name for item in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {name}


def _known_trouble(error: Exception) -> str | None:
    """What to say of an error that is not this program's own; None if nobody knows."""
    kind = type(error)
    if kind.__module__ == "numba.core.errors":
        return "A function of the task does not compile: `magic-pomdp check` says which, and why."
    if "cannot cache function" in str(error):
        return "Compiled code cannot be kept: set NUMBA_CACHE_DIR to a folder that you can write to."
    return None
