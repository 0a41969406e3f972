"""The command line. Each command is a call of a public function; what is slow to import is imported by who needs it."""

import os
import sys
from collections.abc import Callable

import tyro

from magic_pomdp.cli.learning import ablate, curves, models, train
from magic_pomdp.cli.planning import compare, difference, evaluate, tune
from magic_pomdp.cli.replaying import play, record, replay
from magic_pomdp.cli.shared import BAD_INPUT, FINE, INTERRUPTED, WRONG, complain, complain_of_failure, spell_out
from magic_pomdp.cli.showing import demo, figures, picture, report, video
from magic_pomdp.cli.tools import bench, check, doctor, tasks

COMMANDS: dict[str, Callable[..., int]] = {
    "tasks": tasks,
    "evaluate": evaluate,
    "compare": compare,
    "difference": difference,
    "tune": tune,
    "train": train,
    "curves": curves,
    "ablate": ablate,
    "models": models,
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


def main() -> int:
    """Run the command that was asked for; its exit code."""
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.UseAppendAction)
    about = "Real-time planning under uncertainty: POMDPs in plain Python, planned at native speed."
    try:
        code = tyro.extras.subcommand_cli_from_dict(
            COMMANDS, prog="magic-pomdp", description=about, args=spell_out(sys.argv[1:]), config=config
        )
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except NotImplementedError as error:
        return complain(str(error), BAD_INPUT)
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


def _known_trouble(error: Exception) -> str | None:
    """What to say of an error that is not this program's own; None if nobody knows."""
    kind = type(error)
    if kind.__module__ == "numba.core.errors":
        return "A function of the task does not compile: `magic-pomdp check` says which, and why."
    if "cannot cache function" in str(error):
        return "Compiled code cannot be kept: set NUMBA_CACHE_DIR to a folder that you can write to."
    return None
