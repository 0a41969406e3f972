"""Commands with little to do, whose results are known to the last digit, and how to start, kill and look at them."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from magic_pomdp.learning.checkpoint import checkpoints, load_checkpoint
from magic_pomdp.learning.curves import read_curves

TOY = f"{Path(__file__).parent.parent / 'learning' / 'toy.py'}:Target"
TRAINING = (
    *("--plan-steps", "1", "--warmup", "20", "--batch", "8", "--replay", "500", "--particles", "4"),
    *("--encoder-width", "8", "--generator-width", "16", "--critic-width", "16"),
    *("--evaluation-episodes", "4", "--evaluation-steps", "1", "--checkpoint-minutes", "0.001"),
)
"""A training of a second."""
TIMES = ("seconds", "minutes", "plan_steps_per_second", "plan_seconds_p50", "plan_seconds_p99", "model")
"""What a result tells of the machine's speed; a model's label is a digest of a file that tells the minutes, too."""
LONGEST = 300.0
"""Seconds that no command takes, however busy the machine."""
GONE, GONE_WITH_RAY = 30.0, 120.0
"""Seconds after which nothing of a killed command is left; two processes of Ray's own wait a minute for its return."""
TRIALS = 5
REPRODUCE = str(Path(__file__).with_name("small_tables.py"))
"""The command `reproduce`, with small tables instead of the paper's."""


@dataclass(frozen=True)
class Command:
    """A command whose process can be killed."""

    name: str
    arguments: tuple[str, ...]
    result: str
    """The file or folder that it makes."""
    repeatable: bool = True
    """Whether it ends with the same result, however often it was killed."""
    resume: tuple[str, ...] = ()
    """What the same command needs to go on with what is there already."""
    workers: bool = True
    """Whether it has worker processes, of which one can be killed."""
    program: tuple[str, ...] = field(default=("-m", "magic_pomdp"), kw_only=True)
    """What Python runs."""
    needs: str = field(default="", kw_only=True)
    """A module without which it cannot run."""
    begun: str = field(default="", kw_only=True)
    """The file that tells that there is something to go on with."""

    def start(self, folder, environment, **options):
        """The process, in a session of its own so that all that belongs to it can be found."""
        again = self.resume if self.begun and (folder / self.result / self.begun).exists() else ()
        own, given = {}, environment or os.environ
        if self.needs == "ray":  # what it starts is known by a folder of its own, whose path must be short
            own = {"RAY_ADDRESS": "", "RAY_TMPDIR": tempfile.mkdtemp(prefix="ray-", dir="/tmp")}
        process = subprocess.Popen(
            [sys.executable, *self.program, *self.arguments, *again], cwd=folder, env={**given, **own},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, **options,
        )  # fmt: skip
        process.ray_folder = own.get("RAY_TMPDIR")
        return process

    def finished(self, folder):
        """The parts of its work that are finished and stored, by name: none of them may be lost or done again."""
        return FINISHED.get(self.name, lambda path: {})(folder / self.result)

    def outcome(self, folder):
        """Its result, without what depends on the machine's speed."""
        return OUTCOMES[self.name](folder / self.result)


def _steps(task, *options):
    return (task, *options, "--seed", "1000")


COMMANDS = (
    Command("evaluate", ("evaluate", *_steps("tiger", "--steps", "500", "--episodes", "8", "--workers", "2"),
            "--json", "result.json"), "result.json"),
    Command("record", ("record", *_steps("tiger", "--steps", "500", "--episodes", "4", "--workers", "2"),
            "--out", "result.record.gz"), "result.record.gz"),
    Command("compare", ("compare", *_steps("tiger", "--steps", "100", "--steps", "500", "--planners", "macro-despot",
            "--planners", "despot", "--episodes", "3", "--workers", "1"), "--folder", "result"), "result"),
    Command("tune", ("tune", *_steps("tiger", "--planner", "despot", "--steps", "500", "--trials", str(TRIALS),
            "--episodes", "3", "--workers", "1"), "--file", "result.journal"), "result.journal", repeatable=False),
    Command("train", ("train", *_steps(TOY, *TRAINING, "--updates", "60", "--workers", "0"), "--out", "result"),
            "result", resume=("--resume",), workers=False, begun="settings.json"),
    Command("train with a worker", ("train", *_steps(TOY, *TRAINING, "--updates", "60", "--workers", "1",
            "--evaluate-minutes", "0.005"), "--out", "result"),
            "result", repeatable=False, resume=("--resume",), begun="settings.json"),
    Command("ablate", ("ablate", *_steps(TOY, *TRAINING, "--updates", "20", "--workers", "0", "--conditionings",
            "belief", "--conditionings", "none", "--episodes", "4", "--steps", "1"), "--out", "result"),
            "result", workers=False),
    Command("reproduce", ("reproduce", "--workers", "2", "--out", "result"), "result", program=(REPRODUCE,)),
    Command("evaluate on ray", ("evaluate", *_steps("tiger", "--steps", "500", "--episodes", "8"), "--on", "ray",
            "--json", "result.json"), "result.json", needs="ray"),
)  # fmt: skip


def without_times(plain):
    """Plain data without what depends on the machine's speed."""
    if isinstance(plain, dict):
        return {name: without_times(value) for name, value in plain.items() if name not in TIMES}
    return [without_times(value) for value in plain] if isinstance(plain, list) else plain


def complete_trials(path):
    """The finished trials of a search, as lines of its file tell: settings and return by number."""
    trials, found = [], {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValueError):  # half a line
            entry = json.loads(line)
            if entry["op_code"] == 4:
                trials.append({})
            elif entry["op_code"] == 5:
                trials[entry["trial_id"]][entry["param_name"]] = entry["param_value_internal"]
            elif entry["op_code"] == 6 and entry["state"] == 1:
                if entry["trial_id"] in found:
                    raise AssertionError(f"Trial {entry['trial_id']} is stored twice.")
                found[entry["trial_id"]] = (trials[entry["trial_id"]], entry["values"])
    return found


def _trials_in_the_end(path):
    found = complete_trials(path)
    settings = [json.dumps(tried, sort_keys=True) for tried, _ in found.values()]
    assert len(found) == TRIALS, f"{len(found)} trials instead of {TRIALS}"
    assert len(set(settings)) == len(settings), "the same settings were tried twice"
    return sorted(map(list, found.values()), key=str)


def _contents(folder, *patterns):
    return {str(path.relative_to(folder)): path.read_bytes() for one in patterns for path in folder.glob(one)}


def _recording(path):
    return without_times(json.loads(gzip.decompress(path.read_bytes())))


def _json(path):
    return without_times(json.loads(path.read_text()))


def _reached(folder):
    """How far the newest checkpoint is, which no kill may take back."""
    return {"updates": int(checkpoints(folder)[0].name.split("-")[1])} if checkpoints(folder) else {}


def _trained(folder):
    """What a training has learned, and its learning curve, in which no evaluation stands twice."""
    said = []
    arrays, about = load_checkpoint(folder, said.append)
    assert not said, said
    points = [point.updates for point in read_curves([folder]).curves[0].points]
    assert points == sorted(set(points)), f"evaluations of the learning curve: {points}"
    history = [report.updates for report in about.history if not report.final]
    assert history == sorted(set(history)), f"evaluations of the checkpoint: {history}"
    assert (folder / "best.safetensors").is_file()
    return about.updates, about.plans, {name: array.tobytes() for name, array in arrays.items()}


def _reproduced(folder):
    """What tables are made of: every episode, training and recording, by name."""
    found = {path.name: path.read_bytes() for path in folder.glob("scenes/*.record.gz")}
    found |= {str(path): path.read_bytes() for path in folder.glob("trainings/*/curve.json")}
    for path in folder.glob("rows/*.json"):
        for record in json.loads(path.read_bytes())["records"]:
            found[f"{path.stem} {record['episode']}"] = record
    for path in folder.glob("rows/*.episodes"):
        numbers = []
        for line in path.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line.partition(b" ")[2])["result"]
            numbers.append(record["episode"])
            found[f"{path.stem} {record['episode']}"] = record
        assert len(numbers) == len(set(numbers)), f"episodes that are stored: {numbers}"
    return found


def _tables_in_the_end(folder):
    """All rows, curves and recordings. Nothing of what is unfinished is left."""
    assert not list(folder.glob("rows/*.episodes")), "unfinished episodes are left"
    results = [_json(path) for one in ("rows/*.json", "trainings/*/curve.json") for path in sorted(folder.glob(one))]
    scenes = [_recording(path) for path in sorted(folder.glob("scenes/*.record.gz"))]
    return results, scenes, [line for line in (folder / "reproduction.md").read_text().splitlines() if "|" in line]


FINISHED = {
    "compare": lambda folder: _contents(folder, "*steps.json"),
    "tune": complete_trials,
    "train": _reached,
    "train with a worker": _reached,
    "reproduce": _reproduced,
    "ablate": lambda folder: _contents(folder, "handcrafted.json", "*/result.json"),
}
OUTCOMES = {
    "evaluate": _json,
    "evaluate on ray": _json,
    "record": _recording,
    "reproduce": _tables_in_the_end,
    "compare": lambda folder: [_json(path) for path in sorted(folder.glob("*.json"))],
    "tune": _trials_in_the_end,
    "train": _trained,
    "train with a worker": lambda folder: _trained(folder)[0],
    "ablate": lambda folder: [
        _json(path) for path in (folder / "ablation.json", *sorted(folder.glob("*/result.json")))
    ],
}


def quick_environment(folder):
    """Surroundings in which a command starts quickly: Python's own code is compiled once, into a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def session_of(process):
    """All living processes that belong to a command, with the parent of each."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if state != "Z" and (int(session) == process.pid or _is_of_ray(entry, process.ray_folder)):
                parents[int(entry.name)] = int(parent)
    return parents


def _is_of_ray(entry, folder):
    """Whether a process was started by Ray for one command: sessions do not tell, but its files lie in a folder."""
    if folder is None:
        return False
    if f"{folder}/".encode() in (entry / "cmdline").read_bytes():
        return True
    return any(os.readlink(file).startswith(f"{folder}/") for file in (entry / "fd").iterdir())


def workers_of(process):
    """What its server has forked: children of a child. On Ray, what does the work."""
    parents = session_of(process)
    if process.ray_folder is not None:
        return sorted(number for number in parents if b"NodeWorker" in _command_line(number))
    return sorted(number for number, parent in parents.items() if parents.get(parent) == process.pid)


def _command_line(number):
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_bytes()
    return b""


def wait_until_gone(process):
    """Until nothing that belongs to a command is left; the processes that are, if they do not end. Then what Ray has
    written down goes."""
    deadline = time.monotonic() + (GONE if process.ray_folder is None else GONE_WITH_RAY)
    while (left := session_of(process)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if process.ray_folder is not None:
        shutil.rmtree(process.ray_folder, ignore_errors=True)
    return sorted(left)


def left_over(folder):
    """Files that only a process at work may have: half written ones, and locks. (Those that are hidden are held by a
    living owner alone.)"""
    found = (*folder.rglob(".*.part"), *folder.rglob("[!.]*.lock*"))
    return [str(path.relative_to(folder)) for path in found]


def fresh(folder):
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
