"""What comes from outside costs little, and what is wrong with it is one sentence."""

import gzip
import re
import tracemalloc

import msgspec
import pytest

from magic_pomdp.core import reading
from magic_pomdp.core.reading import (
    DEEPEST,
    Damaged,
    beyond_limits,
    convert,
    count_values,
    in_short,
    plain_json,
    printable,
    read_content,
    read_json,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


def test_what_is_packed_is_unpacked(path):
    path.write_bytes(b"hello")
    assert read_content(path) == b"hello"
    path.write_bytes(gzip.compress(b"hello"))
    assert read_content(path) == b"hello"
    path.write_bytes(b"")
    assert read_content(path) == b""


def test_several_members_are_one_file(path):
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"x" * 500_000) + b"\0" * 100)
    assert read_content(path) == b"one " + b"x" * 500_000


def test_countless_members_are_refused_at_once(path):
    path.write_bytes(gzip.compress(b"") * 200_000)  # 4 MB, each looked at with all that follows it would take minutes
    with pytest.raises(Damaged, match=r"file is damaged: it was packed in more than 10,000 parts\.$"):
        read_content(path)


@pytest.mark.parametrize("cut", [3, 12, -9, -1])
def test_what_ends_too_early_is_refused(path, cut):
    path.write_bytes(gzip.compress(bytes(range(256)) * 100)[:cut])
    with pytest.raises(Damaged, match=r"file is damaged: it ends too early\.$"):
        read_content(path)


def test_what_cannot_be_unpacked_is_refused(path):
    packed = bytearray(gzip.compress(bytes(range(256))))
    packed[-6] ^= 1  # of the checksum
    for content in (bytes(packed), b"\x1f\x8bhello", gzip.compress(b"x") + b"rest"):
        path.write_bytes(content)
        with pytest.raises(Damaged, match=r"file is damaged: it cannot be unpacked\.$"):
            read_content(path)


def test_a_bomb_is_not_unpacked(path):
    path.write_bytes(gzip.compress(gzip.compress(b"\0" * 50_000_000)) + gzip.compress(b"\0" * 50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"file holds more than the 1,000,000 bytes that are read\.$"):
            read_content(path, most=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_sizes_have_limits(path):
    path.write_bytes(b"x" * 11)
    assert read_content(path, most=11) == b"x" * 11
    with pytest.raises(ValueError, match="holds more than the 10 bytes"):
        read_content(path, most=10)


def test_what_is_no_file_is_named(tmp_path):
    for place in (tmp_path, tmp_path / "none", tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(ValueError, match=r"There is no file|cannot be read \(File name too long\)"):
            read_content(place)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not JSON, or is damaged."),
        (b"{]", "is not JSON, or is damaged at byte 1."),
        (b'"\xff"', "is not JSON, or is damaged."),
        (b'{"a": NaN}', "is damaged at byte 6: expected a finite number."),
        (b'{"a": [1, -Infinity]}', "is damaged at byte 11: expected a finite number."),
        (b'{"a": 1e400}', "is damaged at $[...]: number out of range."),
        (b'{"a": [1, 1e101]}', "is damaged at $.a[1]: expected a finite number below 1e+100."),
        (b'{"\\u001b[2J": -1e101}', r"is damaged at $.\x1b[2J: expected a finite number below 1e+100."),
        (b"[" * 41 + b"]" * 41, f"is damaged at ${'[0]' * 40}: expected nothing nested more than 40 deep."),
        (b"[" * 100_000, "is damaged: its JSON is nested more than 40 deep."),
    ],
)
def test_what_is_no_json_within_limits_is_refused(content, sentence):
    with pytest.raises(Damaged) as caught:
        plain_json(content, "x")
    assert str(caught.value) == f"x {sentence}"


def test_values_have_a_limit(monkeypatch):
    assert count_values(b'{"a": [1, 2]}') == 4
    monkeypatch.setattr(reading, "MOST_VALUES", 10)
    assert plain_json(b'["%s"]' % (b",:[{" * 100), "x") == [",:[{" * 100]  # marks in a text are none
    assert plain_json(b'["\\"%s"]' % (b",:[{" * 100), "x") == ['"' + ",:[{" * 100]
    with pytest.raises(ValueError, match=r"^x holds more than the 10 values that are read\.$"):
        plain_json(b"[%s]" % b",".join([b"1"] * 20), "x")


def test_what_is_within_limits_comes_through(path):
    path.write_bytes(b'{"a": [1, 2.5, null, true, "x"], "b": -1e100}')
    assert read_json(path, dict) == {"a": [1, 2.5, None, True, "x"], "b": -1e100}
    nested = []
    for _ in range(DEEPEST - 1):
        nested = [nested]
    assert beyond_limits(nested) is None
    assert beyond_limits([nested]) is not None
    assert beyond_limits({"a": (1.0, float("nan"))}) == ("$.a[1]", "a finite number below 1e+100")


def test_what_it_should_be_is_said():
    class Thing(msgspec.Struct):
        name: str

    with pytest.raises(Damaged, match=re.escape("x is damaged at $[1]: the field name is missing.")):
        convert([{"name": "a"}, {}], list[Thing], "x")
    with pytest.raises(Damaged, match=re.escape("x is damaged at $[0].name: expected str, got int.")):
        convert([{"name": 5}], list[Thing], "x")


def test_text_is_made_short():
    assert in_short("a" * 200) == "a" * 200
    assert in_short("a" * 5000) == "a" * 200 + "…"
    assert in_short("\x1b" * 60, 60) == "\\x1b" * 15 + "…"


def test_text_is_made_harmless():
    assert printable("déjà vu − ok") == "déjà vu − ok"
    assert printable("a\x1b[2J\n\t\x00\x9b\u202e\u2028") == r"a\x1b[2J\n\t\x00\x9b\u202e\u2028"
