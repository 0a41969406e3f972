"""Damaged input for every reader: each is refused in one sentence, or is right; none crashes or hangs.

    python tests/robustness/fuzz.py --cases 1000000 --seed 1000 --json FILE

runs as many cases as wanted, over all readers or those that are named. What breaks a reader is kept beside the result.
"""

import argparse
import faulthandler
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mutations import Damage, damaged_bytes, damaged_json

LONGEST = 10.0
"""Seconds that a case may take."""
MOST_MEMORY = 2 * 2**30
"""Bytes that a process which runs cases may take at any moment."""
_ROOM = 6 * 2**30
"""Bytes of address space that such a process has: libraries map far more than they use."""


@dataclass(frozen=True)
class Reader:
    """Something that reads what comes from outside."""

    name: str
    weight: int
    """Its share of all cases."""
    valid: Callable[[], list[bytes]]
    """What it accepts, as small as can be."""
    attempt: Callable[[bytes, Path], None]
    """Reads content, with a folder to put files in; a ValueError refuses it. What it accepts it tries to write, to read
    again and to show, and an AssertionError says what is not the same then."""
    damage: tuple[Damage, ...] = (damaged_bytes, damaged_json, damaged_json)


class TooLong(BaseException):
    """A case has taken longer than it may. It is no Exception, which a reader might take for its own."""


@dataclass
class Found:
    """What came of the cases of one reader."""

    reader: str
    seed: int
    cases: int = 0
    refused: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    peak_megabytes: int = 0
    faults: tuple[str, ...] = ()
    """What went wrong, with the case's number."""


def run_cases(reader: Reader, cases: int, seed: int, folder: Path, keep: Path | None = None) -> Found:
    """Damage what a reader accepts, again and again, and look at what it does; `keep` gets what it broke on."""
    found, valid = Found(reader.name, seed), reader.valid()
    for content in valid:
        reader.attempt(content, folder)
    started = time.perf_counter()
    before = signal.signal(signal.SIGALRM, _too_long)
    for number in range(cases):
        chance = random.Random(f"{reader.name} {seed} {number}")
        content = chance.choice(reader.damage)(chance.choice(valid), chance)
        begun = time.perf_counter()
        fault = _attempt(reader, content, folder, found)
        found.slowest = max(found.slowest, time.perf_counter() - begun)
        found.cases += 1
        if fault:
            found.faults += (f"case {number}: {fault}",)
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{reader.name}-{seed}-{number}").write_bytes(content)
    signal.signal(signal.SIGALRM, before)
    found.seconds = time.perf_counter() - started
    found.peak_megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def _attempt(reader: Reader, content: bytes, folder: Path, found: Found) -> str:
    """What is wrong with what a reader does with content; "" if nothing is."""
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        reader.attempt(content, folder)
        found.accepted += 1
    except ValueError as error:
        found.refused += 1
        return _wrong_sentence(error)
    except TooLong:
        return f"it took longer than {LONGEST:g} s"
    except MemoryError:
        return "it took all memory"
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return ""


def _wrong_sentence(error: ValueError) -> str:
    text = str(error)
    if type(error).__module__ not in ("builtins", "magic_pomdp.core.reading"):
        return f"a refusal in another library's words: {type(error).__name__}: {text[:200]}"
    if not text.isprintable() or not text.endswith(".") or len(text) > 1500:
        return f"a refusal that is no sentence for a terminal: {text[:200]!r}"
    return ""


def _too_long(*_: object) -> None:
    raise TooLong


def main() -> int:
    sys.path.append(str(Path(__file__).parents[1]))  # what all tests share
    from readers import READERS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", help=f"which: {', '.join(READERS)} (default: all)")
    parser.add_argument("--cases", type=int, default=10_000, help="of all readers together (default: 10,000)")
    parser.add_argument("--seed", type=int, default=0, help="what all damage follows from (default: 0)")
    parser.add_argument("--json", type=Path, help="where to store the result")
    parser.add_argument("--here", action="store_true", help="run in this process, for one reader; prints the result")
    chosen = parser.parse_args()
    names = chosen.readers or list(READERS)
    if unknown := [name for name in names if name not in READERS]:
        parser.error(f"there is no reader {unknown[0]!r}: there are {', '.join(READERS)}")
    keep = chosen.json.with_suffix(".faults") if chosen.json else None
    if chosen.here:
        faulthandler.dump_traceback_later(LONGEST * 60, repeat=False)
        resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
        fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with tempfile.TemporaryDirectory(dir=fast) as folder:
            print(json.dumps(vars(run_cases(READERS[names[0]], chosen.cases, chosen.seed, Path(folder), keep))))
        return 0
    total = sum(READERS[name].weight for name in names)
    shares = {name: max(1, chosen.cases * READERS[name].weight // total) for name in names}
    shares[names[0]] += max(0, chosen.cases - sum(shares.values()))  # what is left of rounding
    results = []
    for name, cases in shares.items():
        results.append(_in_process(name, cases, chosen.seed, chosen.json))
        print(_line(results[-1]), flush=True)
        if chosen.json:
            about = {"seed": chosen.seed, "cases": sum(one["cases"] for one in results), "readers": results}
            chosen.json.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    wrong = sum(len(one["faults"]) + (one["peak_megabytes"] * 2**20 > MOST_MEMORY) for one in results)
    print(f"{sum(one['cases'] for one in results):,} cases, {wrong} wrong.")
    return 1 if wrong else 0


def _in_process(name: str, cases: int, seed: int, stored: Path | None) -> dict:
    """The cases of one reader in a process of its own, whose memory is measured, and which may crash."""
    command = [sys.executable, __file__, name, "--here", "--cases", str(cases), "--seed", str(seed)]
    command += ["--json", str(stored)] if stored else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        crash = f"the process ended with {done.returncode}: {done.stderr[-300:]}"
        return vars(Found(name, seed, faults=(crash,)))
    return json.loads(done.stdout)


def _line(found: dict) -> str:
    return (
        f"{found['reader']:12} {found['cases']:8,} cases, {found['refused']:8,} refused, "
        f"{found['accepted']:8,} accepted, "
        f"{len(found['faults'])} wrong, {found['seconds']:6.0f} s, slowest {found['slowest']:.2f} s, "
        f"{found['peak_megabytes']} MB" + "".join(f"\n    {fault}" for fault in found["faults"][:10])
    )


if __name__ == "__main__":
    sys.exit(main())
