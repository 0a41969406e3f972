"""Every kind of result and recording can be read, written and shown; a few damaged ones are refused in a sentence."""

import json
import random

import pytest
from results_cases import show_recording, show_result, try_recording, try_result, valid_recordings, valid_results

WRONG = (None, True, -1, 1.5, 10**90, "", "[/x]\x1b[2J", [], {}, [[]])


@pytest.mark.parametrize("kind", valid_results())
def test_every_kind_of_result_can_be_shown(kind, tmp_path):
    try_result(valid_results()[kind], tmp_path)
    show_result(valid_results()[kind], tmp_path)


@pytest.mark.parametrize("kind", valid_recordings())
def test_every_kind_of_recording_can_be_shown(kind, tmp_path):
    try_recording(valid_recordings()[kind], tmp_path)
    show_recording(valid_recordings()[kind], tmp_path)


def places(part):
    """Every container in plain data, with every place in it."""
    inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for place, value in inside:
        yield part, place
        yield from places(value)


@pytest.mark.parametrize(
    ("content", "attempt"),
    [(content, try_result) for content in valid_results().values()]
    + [(content, try_recording) for content in valid_recordings().values() if content.startswith(b"{")],
)
def test_what_is_changed_is_refused_in_a_sentence_or_works(content, attempt, tmp_path):
    chance, refused = random.Random(content), []
    for _ in range(100):
        plain = json.loads(content)
        part, place = chance.choice(list(places(plain)))
        part[place] = chance.choice(WRONG)
        try:
            attempt(json.dumps(plain).encode(), tmp_path)
        except ValueError as error:
            refused.append(str(error))
    for sentence in refused:
        assert sentence.startswith(str(tmp_path))
        assert sentence.endswith(".")
        assert sentence.isprintable()
    assert 40 <= len(refused) < 100
