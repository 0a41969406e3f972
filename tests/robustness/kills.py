"""Commands are killed at random moments and run again: what does each kill cost, is anything lost, doubled or wrong?

python tests/robustness/kills.py --kills 200 --seed 1000 --json FILE

Each story begins in an empty folder. The command is started, and killed (SIGKILL) at a moment drawn from the time that
it takes: the whole process, or one of its workers. It is started again, perhaps killed again, and in the end runs
undisturbed. Then its result is compared with that of a command that nobody killed. Nothing may be left behind by any of
it: no process, no half written file, no lock.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from small_commands import (
    COMMANDS,
    LONGEST,
    Command,
    fresh,
    left_over,
    quick_environment,
    wait_until_gone,
    workers_of,
)

from magic_pomdp.core.saving import check_writable, save_bytes

AGAIN = 0.5
"""Probability that a command that goes on is killed once more."""
OLD = b"what was there before"
"""Content of the file that a killed command must not have damaged."""


@dataclass(frozen=True)
class Kill:
    """One kill, and what came of it."""

    command: str
    victim: str
    """"whole" or "worker"."""
    moment: float
    """Seconds after the start."""
    finished: int
    """Parts of the work that were stored by then: cells, trials, updates, trainings."""


@dataclass(frozen=True)
class Story:
    """A command that was killed some times, until it came to its end."""

    command: str
    kills: tuple[Kill, ...]
    cost: float
    """Seconds of work more than without any kill."""
    lost: int
    """Finished parts that were not there any more afterwards, or not as they were."""
    doubled: int
    """Parts that are there more than once, or were done again although they were finished."""
    wrong: tuple[str, ...]
    """All else that is not as it should be, in words."""


class Killer:
    """Kills commands in folders of its own."""

    def __init__(self, folder: Path, seed: int, environment: dict[str, str]) -> None:
        self.folder, self.seed, self.environment = folder, seed, environment
        self.expected, self.seconds = {}, {}
        self._left = {}
        self._lock = threading.Lock()

    def prepare(self, command: Command, warm: bool) -> None:
        """Run a command undisturbed for its result and its time, and once before that to have all compiled."""
        for _ in range(1 if warm else 2):
            folder = fresh(self.folder / f"{command.name}-undisturbed")
            began = time.monotonic()
            process = command.start(folder, self.environment)
            code, err = self._finish(command, process)
            self.seconds[command.name] = time.monotonic() - began
            wait_until_gone(process)
            if code != 0:
                raise RuntimeError(f"{command.name} does not work even undisturbed: {err}")
        self.expected[command.name] = command.outcome(folder)

    def kill(self, command: Command, count: int, lanes: int) -> list[Story]:
        """Kill a command so many times, in as many stories as it takes, several at the same time."""
        self._left[command.name] = count
        with ThreadPoolExecutor(lanes) as pool:
            stories = pool.map(lambda lane: list(self._stories(command, lane, lanes)), range(lanes))
            return [story for some in stories for story in some]

    def _stories(self, command, lane, lanes):
        number = lane
        while self._left[command.name] > 0:
            yield self._story(command, random.Random(f"{self.seed} {command.name} {number}"), number)
            number += lanes

    def _take(self, command):
        """Whether there is one more kill to be done."""
        with self._lock:
            wanted = self._left[command.name] > 0
            self._left[command.name] -= wanted
            return wanted

    def _give_back(self, command):
        with self._lock:
            self._left[command.name] += 1

    def _story(self, command, luck, number) -> Story:
        folder = fresh(self.folder / f"{command.name}-{number}")
        if "." in command.result and command.name != "tune":
            (folder / command.result).write_bytes(OLD)
        kills, wrong, lost, doubled, spent, known, code = [], [], 0, 0, 0.0, {}, None
        while code != 0:
            disturbed = (not kills or luck.random() < AGAIN) and self._take(command)
            victim = luck.choice(("whole", "worker")) if command.workers else "whole"
            moment = luck.uniform(0.0, self.seconds[command.name])
            began = time.monotonic()
            process = command.start(folder, self.environment)
            killed = disturbed and self._strike(process, victim, moment)
            code, err = self._finish(command, process)
            took = time.monotonic() - began
            spent += took
            if disturbed and not killed:  # it had ended before; the next one may meet a command as quick
                self._give_back(command)
                self.seconds[command.name] = min(self.seconds[command.name], took)
            wrong += self._look(command, folder, process, killed and victim == "whole", code, err)
            after = command.finished(folder)
            lost += _missing(command, known, after)
            known = after
            if killed:
                kills.append(Kill(command.name, victim, moment, _amount(after)))
            elif code != 0:
                break
        if left := left_over(folder):
            wrong.append(f"left behind: {', '.join(left)}")
        try:
            outcome = command.outcome(folder)
            exact = command.repeatable or (all(kill.victim == "worker" for kill in kills) and command.name == "tune")
            if exact and outcome != self.expected[command.name]:
                wrong.append("the result is another one than without a kill")
        except (AssertionError, ValueError, OSError, KeyError) as error:
            doubled += "twice" in str(error) or "evaluations of" in str(error)
            wrong.append(str(error) or repr(error))
        return Story(command.name, tuple(kills), spent - self.seconds[command.name], lost, doubled, tuple(wrong))

    def _strike(self, process, victim, moment) -> bool:
        """Kill at a moment; a worker, as soon after it as there is one. Whether there was still something to kill."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        while process.poll() is None:
            if victim == "whole":
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                return process.returncode == -signal.SIGKILL
            for worker in workers_of(process)[-1:]:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
                    return True
            time.sleep(0.002)
        return False

    def _finish(self, command, process) -> tuple[int, str]:
        try:
            _, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            err += f"\n{command.name} hangs."
        return process.returncode, err

    def _look(self, command, folder, process, killed, code, err) -> list[str]:
        """What is wrong just after a command has ended, in whatever way."""
        wrong = []
        if left := wait_until_gone(process):
            wrong.append(f"processes left behind: {left}")
        if code != (-signal.SIGKILL if killed else 0):
            wrong.append(f"exit code {code}: {err[-500:]}")
        if "Traceback" in err:
            wrong.append(f"a traceback: {err[-500:]}")
        path = folder / command.result
        if path.is_file() and path.read_bytes() != OLD and command.name != "tune":
            try:
                if command.outcome(folder) != self.expected[command.name]:
                    wrong.append(f"{path.name} holds something else")
            except (ValueError, OSError, EOFError):
                wrong.append(f"{path.name} is half written")
        return wrong


def _missing(command, before, after) -> int:
    """Finished parts that are gone, or were made again."""
    if command.name.startswith("train"):
        return int(after.get("updates", -1) < before.get("updates", -1))
    return sum(after.get(name) != content for name, content in before.items())


def _amount(finished) -> int:
    return finished.get("updates", len(finished))


def table(stories) -> list[dict]:
    """What the kills of each command cost."""
    rows = []
    for name in dict.fromkeys(story.command for story in stories):
        mine = [story for story in stories if story.command == name and story.kills]
        kills = [kill for story in mine for kill in story.kills]
        each = [story.cost / len(story.kills) for story in mine] or [0.0]
        rows.append(
            {
                "command": name,
                "kills": len(kills),
                "of_workers": sum(kill.victim == "worker" for kill in kills),
                "stories": len(mine),
                "cost_seconds_mean": statistics.mean(each),
                "cost_seconds_most": max(each),
                "lost": sum(story.lost for story in mine),
                "doubled": sum(story.doubled for story in mine),
                "wrong": [sentence for story in mine for sentence in story.wrong],
            }
        )
    return rows


def print_table(rows) -> None:
    print("command              kills workers s a kill   most lost doubled wrong")
    for row in rows:
        print(
            f"{row['command']:<20} {row['kills']:>5} {row['of_workers']:>7} {row['cost_seconds_mean']:>8.1f} "
            f"{row['cost_seconds_most']:>6.1f} {row['lost']:>4} {row['doubled']:>7} {len(row['wrong']):>5}"
        )
        for sentence in row["wrong"]:
            print(f"    {sentence}")


def run(kills, seed, folder, commands=COMMANDS, lanes=2, environment=None, warm=False, say=print) -> list[Story]:
    """Kill commands so many times in all, each as often as the others."""
    killer, stories = Killer(folder, seed, environment or quick_environment(folder)), []
    for number, command in enumerate(commands):
        killer.prepare(command, warm)
        count = kills // len(commands) + (number < kills % len(commands))
        say(f"{command.name}: {killer.seconds[command.name]:.1f} s undisturbed, {count} kills")
        stories += killer.kill(command, count, lanes)
    return stories


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many, over all commands (200)")
    parser.add_argument("--seed", type=int, default=1000, help="what the moments follow from (1000)")
    parser.add_argument("--lanes", type=int, default=2, help="commands at the same time (2)")
    parser.add_argument("--only", action="append", choices=[one.name for one in COMMANDS], help="kill only this one")
    parser.add_argument("--json", type=Path, required=True, help="where the result goes")
    options = parser.parse_args()
    path, began = check_writable(options.json), time.monotonic()
    chosen = [one for one in COMMANDS if not options.only or one.name in options.only]
    for command in [one for one in chosen if one.needs and find_spec(one.needs) is None]:
        print(f"{command.name} is left out: {command.needs} is not installed.")
        chosen.remove(command)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        stories = run(options.kills, options.seed, Path(folder), chosen, options.lanes)
    rows = table(stories)
    minutes = (time.monotonic() - began) / 60.0
    about = {"kills": sum(row["kills"] for row in rows), "seed": options.seed, "minutes": minutes}
    found = {**about, "commands": rows, "stories": [asdict(story) for story in stories]}
    save_bytes(path, (json.dumps(found, indent=1) + "\n").encode())
    print_table(rows)
    print(f"{about['kills']} kills in {minutes:.1f} minutes")
    return int(any(row["lost"] or row["doubled"] or row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
