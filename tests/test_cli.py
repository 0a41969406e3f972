import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import msgspec
import pytest

from magic_pomdp import Budget, __version__
from magic_pomdp.core import caching
from magic_pomdp.core.extras import install_command
from magic_pomdp.core.settings import settings_of
from magic_pomdp.planners.registry import find_planner, planner_names
from magic_pomdp.results.recording import load_recording
from magic_pomdp.running.doctor import Check, examine
from magic_pomdp.tasks.tiger import Tiger

SMALL = ("--steps", "300", "--scenarios", "10", "--search-depth", "8", "--set", "max_steps=8")


# ----------------------------------------------------------------------------------------------------------- evaluate


def test_evaluate_saves_the_same_twice(run, tmp_path):
    code, out, _ = run("evaluate", "tiger", "--episodes", 3, *SMALL, "--workers", 2, "--seed", 7)
    assert code == 0
    path = tmp_path / "results" / "tiger_macro-despot_L1_300steps_seed7_3episodes_K10_D8_max_steps=8.json"
    assert str(path) in out
    first = json.loads(path.read_text())
    assert (first["complete"], first["episodes"], first["seed"]) == (True, 3, 7)
    code, _, _ = run("evaluate", "tiger", "--episodes", 3, *SMALL, "--workers", 0, "--seed", 7, "--json", "again.json")
    assert code == 0
    again = json.loads((tmp_path / "again.json").read_text())
    timed = {"plan_steps_per_second", "plan_seconds_p50", "plan_seconds_p99"}
    assert {key: again[key] for key in again.keys() - timed} == {key: first[key] for key in first.keys() - timed}


def test_settings_reach_the_planner(run, tmp_path):
    options = (
        "--default-policy",
        "random",
        "--xi",
        0.5,
        "--regularisation",
        0.2,
        "--set",
        "accuracy=0.9",
        "--planner",
        "despot",
    )
    code, _, _ = run("evaluate", "tiger", "--episodes", 1, *SMALL, *options, "--workers", 0, "--json", "r.json")
    assert code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["kind"], report["version"], report["software"]) == ("evaluation", 2, __version__)
    assert (report["planner"], report["label"], report["macro_length"]) == ("despot", "DESPOT", 1)
    assert report["budget"] == {"seconds": None, "steps": 300}
    expected = {"scenarios": 10, "search_depth": 8, "xi": 0.5, "regularisation": 0.2, "default_policy": "random"}
    assert report["settings"].items() >= expected.items()
    assert report["task_parameters"]["accuracy"] == 0.9


def test_planning_ahead_is_a_choice(run, tmp_path):
    for choice, told in (((), ""), (("--plan-ahead", "yes"), "_ahead"), (("--plan-ahead", "no"), "_waiting")):
        code, _, _ = run("evaluate", "tiger", "--episodes", 1, *SMALL, "--workers", 0, *choice)
        assert code == 0
        path = tmp_path / "results" / f"tiger_macro-despot_L1_300steps_seed0_1episodes{told}_K10_D8_max_steps=8.json"
        assert json.loads(path.read_text())["concurrent"] is (told == "_ahead")
    code, _, err = run("evaluate", "tiger", "--plan-ahead", "perhaps")
    assert code == 2
    assert "yes" in err


def test_difference_of_two_evaluations(run):
    for name, policy in (("one", "greedy"), ("other", "random")):
        options = ("--workers", 0, "--default-policy", policy, "--json", f"{name}.json")
        assert run("evaluate", "tiger", "--episodes", 4, *SMALL, *options)[0] == 0
    code, out, _ = run("difference", "one.json", "other.json", "one.json")
    assert code == 0
    assert "what Macro-DESPOT, 1, 300 steps, default policy greedy returns more than" in " ".join(out.split())
    assert "0.0 ± 0.0" in out
    for wrong in (("one.json",), ("one.json", "none.json")):
        code, _, err = run("difference", *wrong)
        assert code == 2
        assert err.startswith("magic-pomdp: ")


def test_settings_reach_pomcpow(run, tmp_path):
    options = ("--exploration", 40, "--action-widening", 3, "--observation-exponent", 0.2, "--search-depth", 4)
    small = ("--steps", 200, "--set", "max_steps=3", "--workers", 0)
    code, out, _ = run("evaluate", "tiger", "--planner", "pomcpow", "--episodes", 1, *options, *small)
    assert code == 0
    assert "POMCPOW, 200 steps a plan" in out
    name = "tiger_pomcpow_L1_200steps_seed0_1episodes_c40_ka3_alpha-o0.2_D4_max_steps=3.json"
    report = json.loads((tmp_path / "results" / name).read_text())
    assert (report["planner"], report["macro_length"]) == ("pomcpow", None)
    expected = {"exploration": 40.0, "action_widening": 3.0, "action_exponent": 0.1, "observation_exponent": 0.2}
    assert report["settings"].items() >= {**expected, "search_depth": 4}.items()


BAD_INPUTS = {
    "tigr": "There is no task 'tigr' (did you mean 'tiger'?)",
    "tiger --planner macro-despt": "There is no planner 'macro-despt' (did you mean 'macro-despot'?)",
    "tiger --planner missing_file.py:Mine": "There is no file",
    "tiger --planner magic": "No trained generator ships for tiger",
    "tiger --macro-length 0": "The setting macro_length must lie in [1, 10000], not 0.",
    "tiger --seconds 0": "A budget in seconds must be positive, not 0.0.",
    "tiger --seconds -1": "A budget in seconds must be positive, not -1.0.",
    "tiger --seconds nan": "A budget in seconds must be positive, not nan.",
    "tiger --steps 0": "A budget in primitive steps must be positive, not 0.",
    "tiger --steps -5": "A budget in primitive steps must be positive, not -5.",
    "tiger --seconds 1 --steps 1": "but both were given.",
    "tiger --episodes 0": "The number of episodes must be at least 1, not 0.",
    "tiger --episodes 100001": "The number of episodes must be at most 100,000, not 100001.",
    "tiger --workers -1": "The number of workers must be at least 0, not -1.",
    "tiger --seed -1": "The seed must be at least 0, not -1.",
    "tiger --scenarios 0": "The setting scenarios must lie in [1, 1000000], not 0.",
    "tiger --search-depth 0": "The setting search_depth must lie in [1, 10000], not 0.",
    "tiger --search-depth 1000000000": "The setting search_depth must lie in [1, 10000], not 1000000000.",
    f"tiger --macro-length {10**20}": f"The setting macro_length must lie in [1, 10000], not {10**20}.",
    f"tiger --tree-nodes {10**400}": f"The setting tree_nodes must lie in [1, 100000000], not {10**400}.",
    f"tiger --steps {10**20}": f"A budget in primitive steps must be at most {10**15}, not {10**20}.",
    "tiger --xi 2": "The setting xi must lie in (0, 1], not 2.0.",
    "tiger --planner pomcpow --exploration nan": "exploration must be a finite number of at least 0, not nan.",
    "tiger --planner pomcpow --action-exponent 2": "The setting action_exponent must lie in [0, 1], not 2.0.",
    "tiger --planner pomcpow --tree-nodes 0": "The setting tree_nodes must lie in [1, 100000000], not 0.",
    "tiger --set accuracy": "set as name=value, not 'accuracy'.",
    "tiger --set acuracy=1": "has no parameter 'acuracy' (did you mean 'accuracy'?)",
    "tiger --set accuracy=high": "The parameter accuracy must be of kind float, not 'high'.",
    "tiger --set accuracy=7": "Tiger's accuracy must lie between 0 and 1, not at 7.0.",
    "tiger --set variant=wild": "has no parameter 'variant'",
    "tiger --set map": "set as name=value, not 'map'.",
    "crowd-driving --set variant=sideways": "The variant must be one of default, reference, not 'sideways'.",
    "crowd-driving --set map=missing.net.xml": "There is no file missing.net.xml.",
    "tiger --json missing/result.json": "There is no folder",
    "tiger --json .": "is a folder: name a file in it.",
    "missing_module:MyTask": "There is no module 'missing_module'",
    "missing_file.py:MyTask": "There is no file",
}


@pytest.mark.parametrize("arguments", BAD_INPUTS)
def test_bad_input_is_answered_with_a_sentence(run, arguments, tmp_path):
    code, out, err = run("evaluate", *arguments.split())
    assert (code, out) == (2, "")
    assert err.startswith("magic-pomdp: ")
    assert BAD_INPUTS[arguments] in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.glob("**/*.json"))


@pytest.mark.parametrize(
    "arguments", ["evaluate", "evaluate tiger --episodes many", "evaluate tiger --epsodes 3", "eval", ""]
)
def test_what_cannot_be_parsed_is_answered_with_help(run, arguments):
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, "")
    assert "--help" in err
    assert "Traceback" not in err


OPTIONS_OF_OTHERS = [
    "evaluate tiger --exploration 9",
    "evaluate tiger --model some.safetensors",
    "evaluate tiger --planner despot --macro-length 3",
    "evaluate tiger --planner pomcpow --macro-length 2",
    "evaluate tiger --planner pomcpow --scenarios 9",
    "evaluate tiger --planner pomcpow --default-policy greedy",
    "evaluate light-dark --planner magic --macro-length 6",
    "evaluate crowd-driving --variant reference",
    "evaluate crowd-driving --map my.net.xml",
    "record tiger --exploration 9",
    "tune tiger --exploration 9",
    "train light-dark --map my.net.xml",
]


@pytest.mark.parametrize("arguments", OPTIONS_OF_OTHERS)
def test_an_option_of_another_planner_is_not_recognised(run, arguments):
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, "")
    option = next(word for word in reversed(arguments.split()) if word.startswith("--"))
    assert re.search(rf"Unrecognized (or misplaced )?options: {option}", " ".join(err.replace("│", " ").split()))
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["evaluate", "tune", "record", "picture", "figures", "play", "check"])
@pytest.mark.parametrize("planner", planner_names())
def test_help_shows_what_can_be_set_about_a_planner(run, command, planner):
    code, out, _ = run(command, "tiger", "--planner", planner, "--help")
    shown = set(re.findall(r"--([a-z-]+)", out))
    settings = {
        name: {option.replace("_", "-") for option in settings_of(find_planner(name).settings)}
        for name in planner_names()
    }
    assert code == 0
    assert settings[planner] <= shown
    assert not shown & (set().union(*settings.values()) - settings[planner])


def test_an_existing_result_survives_bad_input(run, tmp_path):
    (tmp_path / "old.json").write_text("old")
    code, _, _ = run("evaluate", "tiger", "--json", "old.json", "--episodes", 0)
    assert code == 2
    assert (tmp_path / "old.json").read_text() == "old"


OWN_TASK = """
from magic_pomdp.tasks import BeliefSettings
from magic_pomdp.tasks.tiger import Tiger

class MyTiger(Tiger):
    name = "my tiger/1"
    advice = (BeliefSettings(particles=20), *Tiger.advice[1:])
    broken: bool = False

    def step(self, context, state, action, random, observation):
        if self.broken:
            raise RuntimeError("no door")
        return Tiger.step(self, context, state, action, random, observation)
"""


def run_own_task(tmp_path, *options, command="evaluate"):
    """Run a task in a file, in another folder, without compiling it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "my_tiger.py").write_text(OWN_TASK)
    words = [sys.executable, "-m", "magic_pomdp", command, "elsewhere/my_tiger.py:MyTiger", "--episodes", "2", *options]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)


def test_a_task_in_a_file_reaches_the_workers(tmp_path):
    run = run_own_task(tmp_path, *SMALL, "--workers", "1")
    assert (run.returncode, run.stderr) == (0, "")
    assert "results/my-tiger-1_macro-despot_L1_300steps_seed0_2episodes_K10_D8_max_steps=8.json" in run.stdout


@pytest.mark.parametrize(("command", "workers"), [("evaluate", "0"), ("evaluate", "1"), ("compare", "0")])
def test_an_error_in_a_task_names_the_episode(tmp_path, command, workers):
    small = SMALL if command == "evaluate" else ("--planners", "despot", "--steps", "300")
    run = run_own_task(tmp_path, *small, "--set", "broken=true", "--workers", workers, command=command)
    assert (run.returncode, run.stdout) == (1, "")
    assert "magic-pomdp: " in run.stderr
    assert "RuntimeError: no door" in run.stderr
    assert ("Traceback" in run.stderr) == (workers == "0")
    assert ("to see where, use `--workers 0`" in run.stderr) == (workers == "1")


# A terminal's Ctrl-C reaches every process of its group; each episode is announced, so that the test knows when.
ANNOUNCED = """
import sys
from magic_pomdp import cli
from magic_pomdp.running import evaluating as module

if __name__ == "__main__":
    whole = module.evaluate

    def announced(*arguments, **named):
        advance = arguments[-1]
        return whole(*arguments[:-1], lambda record: (advance(record), print("episode", flush=True)), **named)

    module.evaluate = announced
    sys.exit(cli.main())
"""


def test_interrupting_saves_what_is_finished(tmp_path):
    script = tmp_path / "announced.py"
    script.write_text(ANNOUNCED)
    command = [sys.executable, script, "evaluate", "tiger", "--episodes", "100000", *SMALL, "--workers", "2"]
    with subprocess.Popen(
        [*command, "--json", "r.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "episode\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "(interrupted)" in out
    assert not (tmp_path / "r.json").exists()  # a complete result of that name would still be there
    report = json.loads((tmp_path / "r.partial.json").read_text())
    assert report["complete"] is False
    assert 3 <= report["episodes"] == len(report["records"]) < 100000
    deadline = time.monotonic() + 60.0
    while left := session_members(process.pid):
        assert time.monotonic() < deadline, f"processes left behind: {left}"
        time.sleep(0.02)


def session_members(session):
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = stat.read_text().rpartition(")")
        except OSError:
            continue
        if int(fields.split()[3]) == session and fields.split()[0] != "Z":
            members.append(name)
    return members


# ----------------------------------------------------------------------------------------------------- other commands


def test_tasks_are_listed(run):
    code, out, _ = run("tasks")
    assert code == 0
    for word in ("light-dark", "tiger", "observation 3", "accuracy = 0.85"):
        assert word in out
    assert "<" not in out
    assert "MISSING" not in out


def test_check_prints_findings(run, monkeypatch):
    import magic_pomdp.testing.apart

    fine = lambda task, tell: tell("a million steps", 5, 7) or []  # noqa: E731
    monkeypatch.setattr(magic_pomdp.testing.apart, "check_task_apart", fine)
    code, out, err = run("check", "tiger")
    assert (code, out) == (0, "tiger is fine.\n")
    assert err == "5 of 7: a million steps …\n"
    monkeypatch.setattr(magic_pomdp.testing.apart, "check_task_apart", lambda task, tell: ["step [draws] on"])
    code, out, _ = run("check", "tiger")
    assert code == 1
    assert "step [draws] on" in out
    assert run("check", "tigr")[0] == 2


def test_check_tests_a_planner(run, monkeypatch):
    import magic_pomdp.testing

    tested = []
    monkeypatch.setattr(magic_pomdp.testing, "check_planner", lambda planner: tested.append(planner) or [])
    code, out, _ = run("check", "tiger", "--planner", "despot", "--scenarios", 7)
    assert (code, out) == (0, "despot in tiger is fine.\n")
    assert tested[0].settings.scenarios == 7
    monkeypatch.setattr(magic_pomdp.testing, "check_planner", lambda planner: ["plan [draws] on"])
    code, out, _ = run("check", "tiger", "--planner", "despot")
    assert (code, "plan [draws] on" in out, "despot in tiger: 1 to mend." in out) == (1, True, True)
    assert run("check", "tiger", "--planner", "despott")[0] == 2


def test_doctor(run, monkeypatch):
    code, out, _ = run("doctor")
    assert code == 0
    for word in ("numba", "llvmlite", "optuna", "cores available", "compile cache", "planner for Light-Dark"):
        assert word in out
    monkeypatch.setattr("magic_pomdp.running.doctor.find_spec", lambda name: None)
    found = {check.what: check.found for check in examine()}
    assert found["optuna"] == f"not installed (only tune needs it: {install_command('tune')})"
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    code, out, _ = run("doctor")
    assert code == 1
    assert "Unset NUMBA_DISABLE_JIT" in out


def test_doctor_compiles_beforehand(run, monkeypatch):
    warmed = []
    monkeypatch.setattr("magic_pomdp.running.doctor.warm", lambda *pair: warmed.append(pair))
    code, _, _ = run("doctor", "--warm")
    assert code == 0
    assert {("tiger", "despot"), ("light-dark", "magic"), ("crowd-driving", "pomcpow")} <= set(warmed)
    assert ("tiger", "magic") not in warmed  # nothing is trained for it
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    code, _, err = run("doctor", "--warm")
    assert code == 2
    assert "With NUMBA_DISABLE_JIT set nothing is compiled: unset it first." in err


def test_doctor_finds_damaged_compiled_code(run, monkeypatch, tmp_path):
    run("doctor")  # imports all modules that keep compiled code
    monkeypatch.setattr("magic_pomdp.running.doctor._first_plan", lambda: Check("plan", "made"))
    monkeypatch.setattr("magic_pomdp.core.caching._folders", {tmp_path})
    whole = caching._sealed(b"code" * 250_000)
    for name in ("kernel-1.py311.sealed.nbi", "kernel-1.py311.sealed.1.nbc"):
        (tmp_path / name).write_bytes(whole)
    (tmp_path / "kernel-1.py311.nbi").write_bytes(b"of numba itself")
    code, out, _ = run("doctor")
    assert (code, "2 files, 2.0 MB, none damaged" in out) == (0, True)
    damaged = tmp_path / "kernel-1.py311.sealed.1.nbc"
    damaged.write_bytes(whole[:-1])
    code, out, _ = run("doctor")
    assert (code, "2 files, 2.0 MB, 1 damaged" in out, f"rm {damaged}" in out) == (1, True, True)


def test_bench(run, monkeypatch, tmp_path):
    monkeypatch.setattr("magic_pomdp.running.bench._REPEATS", 1)
    code, out, err = run("bench", "--seconds", 0.1, "--json", "bench.json")
    assert code == 0
    assert "1 of 15: steps in the bare simulator …\n" in err
    assert re.search(r"^15 of 15 \(about \d+ min left\): evaluate, from the shell", err, re.MULTILINE)
    measurements = json.loads((tmp_path / "bench.json").read_text())["measurements"]
    assert len(measurements) == 31
    assert all(found["value"] > 0 and found["ratio"] > 0 for found in measurements)
    names = [found["name"] for found in measurements]
    for task in ("light-dark", "puck-push"):
        for label in ("MAGIC", "Macro-DESPOT", "DESPOT", "POMCPOW"):
            assert f"steps in {label}, {task}" in names
    assert all(name in " ".join(out.split()) for name in ("steps in the bare simulator", "steps in POMCPOW, puck-push"))
    assert run("bench", "--json", "missing/bench.json")[0] == 2
    assert run("bench", "--seconds", 0)[0] == 2


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ([], ["numba", "numpy", "torch", "matplotlib"]),
        (["difference"], ["numba", "numpy", "torch", "matplotlib"]),
        (["evaluate"], ["torch", "matplotlib"]),  # its options are those of a planner, whose module tells them
        (["train"], ["torch", "matplotlib"]),
    ],
)
def test_help_needs_nothing_large(command, unneeded):
    code = (
        f"import sys; from magic_pomdp import cli; sys.argv = ['magic-pomdp', *{command}, '--help']\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        f"sys.exit(any(name in sys.modules for name in {unneeded}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("command", ["tasks", "evaluate --help"])
def test_a_closed_pipe_is_no_error(command):
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "magic_pomdp", *command.split()], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert process.stderr == ""


def test_compare_and_compare_again(run, tmp_path):
    asked = [
        "compare",
        "tiger",
        "--steps",
        300,
        "--steps",
        3000,
        "--episodes",
        2,
        "--workers",
        0,
        "--folder",
        "results/t",
    ]
    code, out, _ = run(*asked)
    assert code == 0
    assert all(label in out for label in ("Macro-DESPOT", " DESPOT", "POMCPOW"))
    assert (tmp_path / "results/t/anytime.png").exists()
    saved = json.loads((tmp_path / "results/t/comparison.json").read_text())
    assert len(saved["evaluations"]) == 6
    assert run(*asked)[1] == out
    code, _, error = run(*asked, "--seed", 1)
    assert code == 2
    assert "was made with seed 0: ask the same, or choose another folder." in error


def test_other_parameters_are_compared_in_another_folder(run, tmp_path):
    asked = ("compare", "tiger", "--planners", "macro-despot", "--steps", 300, "--episodes", 1, "--workers", 0)
    for parameters in ((), ("--set", "max_steps=3")):
        assert run(*asked, *parameters)[0] == 0
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"compare-tiger", "compare-tiger-max_steps=3"}


def test_tune_and_go_on(run):
    asked = ["tune", "tiger", "--planner", "pomcpow", "--steps", 300, "--episodes", 2, "--workers", 0]
    code, out, _ = run(*asked, "--trials", 2)
    assert code == 0
    assert "best of 2 trials" in out
    assert "magic-pomdp evaluate tiger --planner pomcpow --steps 300 --exploration" in out
    assert "best of 3 trials" in run(*asked, "--trials", 3)[1]
    code, out, _ = run(*asked, "--trials", 1, "--set", "max_steps=3")
    assert code == 0
    assert "--steps 300 --set max_steps=3 --exploration" in out
    assert "tune-tiger-pomcpow-300steps-max_steps=3.journal" in out


def test_tune_looks_for_settings_of_the_default_planner(run):
    asked = ("tune", "tiger", "--steps", 300, "--episodes", 2, "--workers", 0, "--trials", 1, "--search-depth", 8)
    code, out, _ = run(*asked)
    assert code == 0
    command = (
        r"magic-pomdp evaluate tiger --planner macro-despot --steps 300 --search-depth 8 --scenarios \d+ --xi [\d.]+"
    )
    assert re.search(command, out)
    assert "tune-tiger-macro-despot-300steps.journal" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "tiger", "--planners", "despott"], "There is no planner 'despott'"),
        (["compare", "tiger", "--seconds", "0.1", "--steps", "100"], "either seconds or primitive steps"),
        (["compare", "tiger", "--planners", "magic"], "magic"),
        (["tune", "tiger", "--trials", "0"], "at least 1"),
        (["tune", "tiger", "--planner", "pomcpov"], "There is no planner 'pomcpov'"),
    ],
)
def test_bad_comparisons_and_searches(run, arguments, sentence):
    code, _, error = run(*arguments)
    assert code == 2
    assert sentence in error


@pytest.mark.parametrize(
    ("taken", "arguments"),
    [("comparison.json", ("compare", "tiger", "--workers", 0)), ("report.html", ("demo", "--no-open"))],
)
def test_a_folder_that_cannot_be_filled_is_refused_at_once(run, tmp_path, taken, arguments):
    (tmp_path / "full" / taken).mkdir(parents=True)
    code, out, error = run(*arguments, "--folder", "full")
    assert (code, out) == (2, "")
    assert f"{taken} is a folder" in error
    assert [path.name for path in (tmp_path / "full").iterdir()] == [taken]


# ---------------------------------------------------------------------------------------------------- record, replay


def test_record_and_replay(run, tmp_path, monkeypatch):
    options = ("--steps", 500, "--set", "max_steps=3", "--episodes", 2, "--workers", 0)
    code, out, _ = run("record", "tiger", *options)
    assert code == 0
    assert "2 episodes (2 unfinished); saved as" in out
    assert (tmp_path / "tiger_macro-despot_seed0_max_steps=3.record.gz").is_file()
    (tmp_path / "my tigers").mkdir()
    small = ("--planner", "pomcpow", "--particles", 20)
    code, out, _ = run("record", "tiger", *options, *small, "--out", "my tigers/b.gz")
    assert code == 0
    assert f"magic-pomdp replay '{tmp_path / 'my tigers' / 'b.gz'}'" in out
    code, out, _ = run("replay", "tiger_macro-despot_seed0_max_steps=3.record.gz", "my tigers/b.gz", "--no-open")
    assert code == 0
    page = tmp_path / "tiger_macro-despot_seed0_max_steps=3.html"
    assert str(page) in out
    assert page.read_text().startswith("<!doctype html>")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address))
    code, out, _ = run("replay", "my tigers/b.gz", "--out", "c.html")
    assert (code, opened) == (0, [(tmp_path / "c.html").as_uri()])
    assert "No browser was found here" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("record", "tiger", "--episodes", 0), "The number of episodes must be at least 1, not 0."),
        (("record", "tiger", "--particles", 0), "at least one particle of each belief, not 0."),
        (("record", "tiger", "--out", "nowhere/r.gz"), "There is no folder"),
        (("replay",), "Name at least one recording"),
        (("replay", "none.gz"), "There is no file none.gz."),
    ],
)
def test_bad_recordings_are_one_sentence(run, arguments, sentence):
    code, _, err = run(*arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("failed", "code_of_it"), [(False, 130), (True, 1)])
def test_an_unfinished_recording_is_saved_apart(run, tmp_path, monkeypatch, failed, code_of_it):
    from magic_pomdp.running import recording

    small = (
        "record",
        "tiger",
        "--steps",
        200,
        "--set",
        "max_steps=2",
        "--episodes",
        1,
        "--workers",
        0,
        "--out",
        "r.gz",
    )
    assert run(*small)[0] == 0
    finished = [load_recording(tmp_path / "r.gz")]
    before = (tmp_path / "r.gz").read_bytes()

    def end_early(*_):
        if failed:
            raise recording.RecordingFailed("Episode 7 failed.", finished[-1])
        raise recording.RecordingInterrupted(finished[-1])

    monkeypatch.setattr(recording, "record_episodes", end_early)
    code, _, err = run(*small)
    assert (code, ("Episode 7 failed." if failed else "Interrupted.") in err) == (code_of_it, True)
    assert (tmp_path / "r.gz").read_bytes() == before
    assert (tmp_path / "partial-r.gz").is_file()
    finished.append(msgspec.structs.replace(finished[0], episodes=()))
    code, _, err = run(*small)
    assert (code, "nothing is saved" in err) == (code_of_it, True)


# ------------------------------------------------------------------------------------------- video, figures and report


def test_report_of_what_was_evaluated(run, tmp_path, monkeypatch):
    small = ("--episodes", 2, *SMALL, "--workers", 0)
    assert run("evaluate", "tiger", *small)[0] == 0
    assert run("record", "tiger", "--episodes", 1, "--steps", 300, "--set", "max_steps=3", "--workers", 0)[0] == 0
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, out, _ = run("report", "results", "tiger_macro-despot_seed0_max_steps=3.record.gz", "--title", "Tigers")
    assert (code, opened) == (0, [(tmp_path / "report.html").as_uri()])
    assert str(tmp_path / "report.html") in out
    assert "<h1>Tigers</h1>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("report",), "Name at least one file or folder of results."),
        (("report", "none.json"), "There is no file or folder none.json."),
        (("report", "foreign.json"), "foreign.json holds no result of magic-pomdp"),
        (("report", "damaged.record.gz"), "damaged.record.gz is damaged: it ends too early."),
        (("report", "empty"), "The folder empty holds no results"),
        (("report", "bench.json", "--out", "missing/r.html"), "There is no folder"),
        (("report", "bench.json", "--out", "empty"), "is a folder: name a file in it."),
        (("video",), "Name at least one recording"),
        (("video", "none.gz"), "There is no file none.gz."),
        (("video", "foreign.json"), "foreign.json is not a recording: `magic-pomdp record` makes one."),
        (("video", "damaged.record.gz", "--out", "a.gif"), "damaged.record.gz is damaged: it ends too early."),
        (("figures", "tigr"), "There is no task 'tigr'"),
        (("figures", "tiger", "--workers", "0"), "No trained generator ships for tiger"),
        (("figures", "vdp-tag", "--workers", "0"), "No trained generator ships for vdp-tag"),
        (("figures", "light-dark", "--out", "a.txt"), "A picture's name ends with .png, .svg or .pdf"),
        (("figures", "light-dark", "--out", "missing/a.png"), "There is no folder"),
        (("picture", "light-dark", "--out", "a.txt"), "A picture's name ends with .png, .svg or .pdf"),
    ],
)
def test_what_cannot_be_shown(run, tmp_path, arguments, sentence):
    (tmp_path / "foreign.json").write_text('{"name": "something"}')
    (tmp_path / "damaged.record.gz").write_bytes(b"\x1f\x8b\x08\x00cut")
    (tmp_path / "bench.json").write_text('{"version": "1", "processor": "p", "measurements": []}')
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("magic-pomdp: ")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


# --------------------------------------------------------------------------------------------------------------- play


def test_a_page_is_served_until_it_is_interrupted(tmp_path):
    pytest.importorskip("websockets")
    command = [sys.executable, "-m", "magic_pomdp", "play", "tiger", "--no-open", "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background shell ignores it
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", said)
        assert address, (said, process.stderr and process.stderr.read())
        with urllib.request.urlopen(address[0], timeout=60) as page:
            assert b"tiger" in page.read()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    deadline = time.monotonic() + 60.0
    while left := session_members(process.pid):
        assert time.monotonic() < deadline, f"processes left behind: {left}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("options", "seconds"),
    [((), 0.35), (("--planner", "macro-despot", "--macro-length", 2), 0.7), (("--seconds", 0.2), 0.2)],
)
def test_a_plan_has_the_tasks_own_time_unless_told(run, monkeypatch, options, seconds):
    pytest.importorskip("websockets")
    played = []

    class Server:
        def __init__(self, task, factory, *_):
            played.append(factory.budget_for(task))
            raise ValueError("Seen enough.")

    monkeypatch.setattr("magic_pomdp.show.live.LiveServer", Server)
    monkeypatch.setattr(Tiger, "plan_seconds", lambda task, length: 0.35 * length)
    assert run("play", "tiger", "--no-open", *options)[0] == 2
    assert played == [Budget(seconds=seconds)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tiger", "--seconds", "100"), "0.001 to 10 seconds"),
        (("tiger", "--seconds", "-1"), "must be"),
        (("tiger", "--steps", "100"), "give a budget in seconds, not in steps"),
        (("tiger", "--port", "70000"), "A port is a number"),
        (("tiger", "--planner", "magic"), "No trained generator"),
        (("tiger", "--seed", "-1"), "at least 0"),
        (("tiger", "--host", "nowhere.invalid"), "cannot be at nowhere.invalid"),
        (("lion",), "There is no task"),
    ],
)
def test_what_cannot_be_played_is_said(run, arguments, sentence):
    pytest.importorskip("websockets")
    code, _, err = run("play", *arguments, "--no-open")
    assert (code, sentence in err) == (2, True)


# ------------------------------------------------------------------------------------- what lies in the present folder


SHADOWS = (
    *("shapely", "optuna", "torch", "msgspec", "rich", "json", "numba", "numpy", "tyro", "jinja2", "matplotlib", "PIL"),
    *("multiprocessing", "pickle", "random", "selectors", "socket", "struct", "filelock", "websockets"),
)


BY_NAME, BY_MODULE = (Path(sys.executable).with_name("magic-pomdp"),), (sys.executable, "-m", "magic_pomdp")
RESULT = Path(__file__).parents[1] / "benchmarks" / "light-dark_despot_0.1s.json"
EVALUATE = ("--episodes", "1", "--workers", "1", *SMALL)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (BY_NAME, ("evaluate", "tiger", *EVALUATE)),
        (BY_MODULE, ("evaluate", "tiger", *EVALUATE)),
        (BY_MODULE, ("evaluate", "own_task.py:Own", *EVALUATE)),
        (BY_MODULE, ("tune", "tiger", "--trials", "1", "--episodes", "1", "--workers", "0", *SMALL)),
        (BY_MODULE, ("report", RESULT, "--no-open")),
        (BY_MODULE, ("train", "--help")),
    ],
)
def test_no_file_takes_the_place_of_a_library(tmp_path, program, arguments):
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("open('run.txt', 'a').write(__name__ + ' ')\n")
    (tmp_path / "neighbour.py").write_text("from magic_pomdp.tasks.tiger import Tiger\n")
    (tmp_path / "own_task.py").write_text("from neighbour import Tiger as Own\n")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([*program, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run.txt").exists(), (tmp_path / "run.txt").read_text()
