"""Every reader, with 200 damaged inputs, fewer where they are also drawn; `fuzz.py` runs as many as wanted."""

import random

import pytest
from fuzz import LONGEST, Reader, run_cases
from mutations import damaged_bytes, damaged_json
from readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_damage_is_refused_in_a_sentence_or_does_no_harm(name, tmp_path):
    cases = 20 if name in ("reports", "replays") else 200
    found = run_cases(READERS[name], cases, 0, tmp_path)
    assert found.faults == ()
    assert found.refused > cases // 10
    assert found.refused + found.accepted == found.cases == cases
    assert found.slowest < LONGEST


def test_damage_follows_from_the_seed():
    content = b'{"a": [1, 2.5, {"b": null}], "c": "text"}'
    for damage in (damaged_bytes, damaged_json):
        first, again, other = ([damage(content, random.Random(seed)) for _ in range(9)] for seed in (1, 1, 2))
        assert first == again != other


def _breaks(content, folder):
    raise KeyError("nothing")


def _complains(content, folder):
    raise ValueError("\x1b[2J")


def _leaves(content, folder):
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("attempt", "fault"), [(_breaks, "KeyError"), (_complains, "no sentence"), (_leaves, "SystemExit")]
)
def test_what_goes_wrong_is_told_and_kept(attempt, fault, tmp_path):
    reader = Reader("broken", 1, lambda: [b"x"], lambda *given: given[0] == b"x" or attempt(*given), (lambda *_: b"y",))
    found = run_cases(reader, 2, 0, tmp_path, tmp_path / "kept")
    assert len(found.faults) == 2
    assert fault in found.faults[0]
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["broken-0-0", "broken-0-1"]
