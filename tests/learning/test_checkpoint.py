import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from safetensors.numpy import save_file

from magic_pomdp.learning.checkpoint import CheckpointFile, checkpoints, load_checkpoint, save_checkpoint
from magic_pomdp.magic.arrays import load_arrays, save_arrays, signed
from magic_pomdp.magic.model import ModelFile
from magic_pomdp.magic.shape import GeneratorShape

ARRAYS = {"a.b": np.arange(6, dtype=np.float32).reshape(2, 3), "one": np.array(3.5), "none": np.zeros((0, 2))}


class Thing(msgspec.Struct, tag_field="kind", tag="thing"):
    """What some file tells."""

    α: list[float | None]


def about(updates, plans):
    return CheckpointFile(
        task="target", task_parameters={}, space={}, shape=GeneratorShape(1, 1, 2, 1, "box"), settings={},
        updates=updates, plans=plans, episodes=plans, seconds=1.0, warmed_up=True, history=(),
    )  # fmt: skip


def save_some(folder, updates, keep=3):
    return save_checkpoint(folder, ARRAYS, about(updates, 10 * updates), keep)


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "x.safetensors"
    save_arrays(path, ARRAYS, Thing([1, 2.5, None]))
    arrays, found = load_arrays(path, Thing)
    assert found == Thing([1, 2.5, None])
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


def test_the_same_content_gives_the_same_file():
    assert len({signed(ARRAYS, '{"α": "é/"}') for _ in range(20)}) == 1


def test_any_damage_is_noticed(tmp_path):
    path = tmp_path / "x.safetensors"
    save_arrays(path, ARRAYS, Thing([7]))
    whole = path.read_bytes()
    for cut in (0, 5, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="is damaged"):
            load_arrays(path, Thing)
    for place in range(0, len(whole), 7):
        broken = bytearray(whole)
        broken[place] ^= 4
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"is damaged|is no thing"):
            load_arrays(path, Thing)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(ValueError, match="There is no file"):
        load_arrays(path, ModelFile)
    path.write_text("not a tensor in sight")
    with pytest.raises(ValueError, match="is damaged, or no model at all"):
        load_arrays(path, ModelFile)
    save_file({"x": np.zeros(3)}, path)
    with pytest.raises(ValueError, match=r"is no model of magic-pomdp\.$"):
        load_arrays(path, ModelFile)
    save_arrays(path, ARRAYS, about(1, 1))
    with pytest.raises(ValueError, match=r"is no model, or was made by another version .*'checkpoint'"):
        load_arrays(path, ModelFile)


def test_the_newest_good_checkpoint_is_used_and_few_are_kept(tmp_path):
    said = []
    assert load_checkpoint(tmp_path, said.append) is None
    for updates in (5, 90, 100, 1000):
        newest = save_some(tmp_path, updates)
    assert len(checkpoints(tmp_path)) == 3
    assert load_checkpoint(tmp_path, said.append)[1].updates == 1000
    assert said == []
    newest.write_bytes(newest.read_bytes()[:-20])
    assert load_checkpoint(tmp_path, said.append)[1].updates == 100
    assert len(said) == 1
    assert "is damaged" in said[0]


def test_a_new_checkpoint_is_kept_beside_damaged_ones_of_a_higher_number(tmp_path):
    for updates in (80, 90, 100):
        save_some(tmp_path, updates).write_bytes(b"gone")
    said = []
    assert load_checkpoint(tmp_path, said.append) is None
    assert ["The one before is used" in sentence for sentence in said] == [True, True, False]
    for keep in (3, 1):
        save_some(tmp_path, 10, keep)
        assert load_checkpoint(tmp_path, print)[1].updates == 10
        assert len(checkpoints(tmp_path)) == keep


SAVER = """
import sys
from pathlib import Path
import numpy as np
from test_checkpoint import about, save_checkpoint
arrays = {"x": np.random.default_rng(0).normal(size=500_000)}
for updates in range(1, 10**6):
    save_checkpoint(Path(sys.argv[1]), arrays, about(updates, 0), 2)
    print(updates, flush=True)
"""


def test_a_kill_at_any_moment_leaves_nothing_unreadable(tmp_path):
    for moment in (0.0, 0.003, 0.011, 0.02, 0.05):
        with subprocess.Popen(
            [sys.executable, "-c", SAVER, str(tmp_path)], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
        ) as saver:
            done = int(saver.stdout.readline())
            time.sleep(moment)
            os.kill(saver.pid, signal.SIGKILL)
            done = int(([done, *saver.stdout.read().split()])[-1])
        said = []
        _, found = load_checkpoint(tmp_path, said.append)
        assert (said, found.updates >= done) == ([], True)
        for path in tmp_path.iterdir():
            path.unlink()
