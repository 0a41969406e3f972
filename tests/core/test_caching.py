"""Compiled code on disk: whatever happens to its files, the result is right, and the next process finds them whole."""

import errno
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from magic_pomdp.core.caching import is_whole

KERNEL = """
from magic_pomdp.core.caching import keep
from numba import njit

@keep
@njit
def answer(x):
    return 6.0 * x
"""


def garbage(content: bytes) -> bytes:
    return random.Random(1).randbytes(len(content))


def flip(content: bytes) -> bytes:
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 16]) + content[half + 1 :]


DAMAGES = {
    "zero length": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "flipped bit": flip,
    "garbage": garbage,
    "without its seal": lambda content: content[content.index(b"\x80") :],
}


@pytest.fixture
def cache(tmp_path, monkeypatch, jit):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "small.py").write_text(KERNEL)
    return tmp_path / "cache"


def run(cache, source=KERNEL):
    """The kernel's answer to 7, as a new process would find it, and how many of its versions came from the cache."""
    path = cache.parent / "small.py"
    if path.read_text() != source:  # to write it again would make it new
        path.write_text(source)
    module = {"__name__": "small"}
    exec(compile(source, path, "exec"), module)
    return module["answer"](7.0), len(module["answer"].stats.cache_hits)


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_is_compiled_anew(cache, kind, damage):
    assert run(cache) == (42.0, 0)
    assert run(cache) == (42.0, 1)
    (path,) = cache.rglob(f"*{kind}")
    path.write_bytes(damage(path.read_bytes()))
    assert not is_whole(path)
    assert run(cache) == (42.0, 0)
    assert is_whole(path)
    assert run(cache) == (42.0, 1)


def test_no_flipped_bit_is_run(cache):
    run(cache)
    files, chance = sorted(cache.rglob("*.nb[ic]")), random.Random(20)
    for _ in range(50):
        path = chance.choice(files)
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        assert [run(cache), run(cache)] == [(42.0, 0), (42.0, 1)], path


def test_code_of_something_else_is_not_run(cache):
    """A whole file, but of the kernel as it was: so a process leaves it that ends before it has written its own."""
    run(cache)
    (path,) = cache.rglob("*.nbc")
    six = path.read_bytes()
    seven = KERNEL.replace("6.0", "7.0")
    assert run(cache, seven) == (49.0, 0)
    path.write_bytes(six)
    assert run(cache, seven) == (49.0, 0)
    assert run(cache, seven) == (49.0, 1)


def test_code_of_another_version_of_the_kernel_is_not_run(cache):
    """Two processes may choose the same file at the same time, each for the kinds of arguments that it compiles for."""
    source = KERNEL + "answer(7j)\n"
    run(cache, source)
    first, second = sorted(cache.rglob("*.nbc"))
    second.write_bytes(first.read_bytes())
    assert run(cache, source) == (42.0, 1)
    assert run(cache, source) == (42.0, 2)


def test_a_full_disk_costs_only_what_would_have_been_kept(cache, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        assert run(cache) == (42.0, 0)
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    assert [run(cache), run(cache)] == [(42.0, 0), (42.0, 1)]


def test_files_of_numba_itself_are_neither_read_nor_touched(cache):
    run(cache, KERNEL.replace("@keep\n@njit", "@njit(cache=True)"))
    before = {path: path.read_bytes() for path in cache.rglob("*.nb[ic]")}
    assert len(before) == 2
    assert run(cache) == (42.0, 0)
    assert {path: path.read_bytes() for path in before} == before


def test_processes_that_begin_at_the_same_time(cache):
    """Each has another version to keep, in files that all of them write to."""
    code = "import sys; from small import answer; print(answer(eval(sys.argv[1])))"
    given = {"7.0": "42.0", "7": "42.0", "7j": "42j", "True": "6.0"}
    started = {
        argument: subprocess.Popen([sys.executable, "-c", code, argument], cwd=cache.parent, stdout=subprocess.PIPE)
        for argument in given
    }
    found = {argument: process.communicate()[0].decode().strip() for argument, process in started.items()}
    assert found == given
    assert all(map(is_whole, cache.rglob("*.nb[ic]")))


PLANNER = f"{Path(__file__).parents[2] / 'examples' / 'random_shooter.py'}:RandomShooter"  # compiled soon
COMMAND = f"evaluate tiger --planner {PLANNER} --episodes 1 --steps 300 --set max_steps=8 --workers 1 --json"


@pytest.mark.slow
def test_a_command_goes_on_whatever_has_happened_to_the_cache(cache):
    def start(result):
        command = [sys.executable, "-m", "magic_pomdp", *COMMAND.split(), result]
        return subprocess.Popen(command, cwd=cache.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def result(name):
        found = json.loads((cache.parent / name).read_text())
        return {key: value for key, value in found.items() if not key.startswith("plan_s")}

    def check_fine(process):
        error = process.communicate()[1]
        assert (process.returncode, b"Traceback" in error) == (0, False), error

    for process in [start("one.json"), start("two.json")]:  # at the same time, with nothing compiled yet
        check_fine(process)
    assert result("one.json") == result("two.json")
    files = sorted(cache.rglob("*.nb[ic]"))
    assert len(files) > 10
    for path, damage in zip(files, itertools.cycle(DAMAGES.values()), strict=False):
        path.write_bytes(damage(path.read_bytes()))
    check_fine(start("three.json"))
    assert result("three.json") == result("one.json")
    assert all(map(is_whole, files))
