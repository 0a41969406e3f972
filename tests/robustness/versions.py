"""Do the oldest and the newest versions that pyproject.toml allows work?

    python tests/robustness/versions.py [oldest] [newest] [--json FILE]

For each set, a virtual environment is made in a temporary folder, the project is installed there with its extras, and
a selection of quick tests is run that needs every library. `oldest` takes each bound `>=X` for `==X`; `newest` takes
what pip chooses. The tools that only tests need are always the newest ones.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SETS = ("oldest", "newest")
EXTRAS = ("gym", "learn", "ray", "show", "tune")
TOOLS = ("hypothesis", "pytest", "scipy", "selenium")
TESTS = (
    "tests/core/test_caching.py",
    "tests/core/test_saving.py",
    "tests/core/test_views.py",
    "tests/gym/test_env.py",
    "tests/learning/test_checkpoint.py",
    "tests/learning/test_curves.py",
    "tests/learning/test_networks.py",
    "tests/learning/test_watching.py",
    "tests/results/test_tables.py",
    "tests/running/test_ray.py::test_a_node_that_is_killed_costs_no_episode",
    "tests/running/test_ray.py::test_results_are_those_of_local_workers",
    "tests/running/test_ray.py::test_workers_stay_for_the_next_jobs",
    "tests/running/test_tune.py",
    "tests/show/test_drawing.py",
    "tests/show/test_live.py",
    "tests/show/test_video.py::test_an_mp4_has_all_frames_side_by_side",
    "tests/show/test_video.py::test_a_gif_has_all_frames",
    "tests/tasks/crowd_driving/test_roads.py",
    "tests/test_cli.py::test_bad_input_is_answered_with_a_sentence",
    "tests/test_cli.py::test_evaluate_saves_the_same_twice",
    "tests/test_cli.py::test_help_shows_what_can_be_set_about_a_planner",
    "tests/test_cli.py::test_report_of_what_was_evaluated",
    "tests/test_cli.py::test_tasks_are_listed",
    "tests/test_cli.py::test_what_cannot_be_parsed_is_answered_with_help",
)
"""Each library is needed by some of them."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help="oldest or newest; both, if none is named")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to save what was found")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and tests need it
    if unknown := set(arguments.sets) - set(SETS):
        parser.error(f"there is no set {unknown.pop()!r}: there are {' and '.join(SETS)}")
    found = {name: try_set(name) for name in arguments.sets or SETS}
    for name, one in found.items():
        print(f"{name}: {'passed' if one['passed'] else 'FAILED'} ({one['summary']})")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if all(one["passed"] for one in found.values()) else 1


def try_set(name: str) -> dict[str, Any]:
    """Install a set of versions and run the tests with it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        venv.create(python.parents[1], with_pip=True)
        bounds = Path(folder) / "bounds.txt"
        bounds.write_text("\n".join(oldest(one) if name == "oldest" else str(one) for one in requirements()))
        project = f"{ROOT}[{','.join(EXTRAS)}]"
        install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", bounds, project, *TOOLS]
        if subprocess.run(install).returncode:
            return {"passed": False, "summary": "it cannot be installed", "installed": {}}
        versions = installed(python)
        tests = [python, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow", *TESTS]
        own_cache = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/compiled"}
        own_cache.pop("PYTHONPATH", None)  # so that what was installed is tested
        run = subprocess.run(tests, cwd=ROOT, env=own_cache, stdout=subprocess.PIPE, text=True)
        print(run.stdout)
    return {
        "passed": run.returncode == 0,
        "summary": run.stdout.strip().splitlines()[-1],
        "minutes": round((time.monotonic() - started) / 60, 1),
        "python": platform.python_version(),
        "installed": versions,
    }


def requirements(names: tuple[str, ...] = EXTRAS) -> list[Requirement]:
    """All that is declared of what the program itself needs, with some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for name in names for line in project["optional-dependencies"][name]]
    return [Requirement(line) for line in (*project["dependencies"], *extras)]


def oldest(requirement: Requirement) -> str:
    """A requirement that only its lowest version meets."""
    (lowest,) = (one.version for one in requirement.specifier if one.operator in (">=", "=="))
    return f"{requirement.name}=={lowest}"


def installed(python: Path) -> dict[str, str]:
    """The versions of what is declared, as they are in an environment."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True)
    versions = {canonicalize_name(one["name"]): one["version"] for one in json.loads(listed.stdout)}
    return {one.name: versions[canonicalize_name(one.name)] for one in requirements()}


if __name__ == "__main__":
    sys.exit(main())
