"""What a live page may say: read as commands, or answered with a sentence."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from magic_pomdp.planners import planner_names
from magic_pomdp.running.commands import (
    LIMITS,
    LONGEST_MESSAGE,
    ChangePace,
    ChangePlanner,
    Mailbox,
    Move,
    NewEpisode,
    OneStep,
    Pause,
    Play,
    Watchers,
    newest,
    read_command,
)
from magic_pomdp.scene import Handle, Scene

pytestmark = pytest.mark.jit_off

SCENE = Scene((-4.0, -3.0, 4.0, 3.0), handles=[Handle("goal", 0, 1), Handle("light", 2, None)])
PLAN = {"kind": "plan", "planner": "despot", "seconds": 0.1, "macro_length": None}
MOVE = {"kind": "move", "handle": 1, "x": 1.5, "y": -2}


def read(message, scene=SCENE):
    return read_command(message if isinstance(message, str | bytes) else json.dumps(message), scene)


@pytest.mark.parametrize(
    ("message", "command"),
    [
        ({"kind": "play"}, Play()),
        ({"kind": "pause"}, Pause()),
        ({"kind": "step"}, OneStep()),
        ({"kind": "new"}, NewEpisode()),
        ({"kind": "pace", "pace": 12}, ChangePace(12.0)),
        (PLAN, ChangePlanner("despot", 0.1, None)),
        ({**PLAN, "macro_length": 6, "seconds": 1}, ChangePlanner("despot", 1.0, 6)),
        (MOVE, Move(1, 1.5, -2.0)),
        ({**MOVE, "handle": 0, "x": -4, "y": 3}, Move(0, -4.0, 3.0)),
    ],
)
def test_a_message_is_a_command(message, command):
    assert read(message) == command


@pytest.mark.parametrize("name", planner_names())
def test_every_planner_may_be_asked_for(name):
    assert read({**PLAN, "planner": name}).planner == name


@pytest.mark.parametrize(("name", "limits"), LIMITS.items())
def test_limits_themselves_are_allowed(name, limits):
    for value in limits:
        message = {"kind": "pace", "pace": value} if name == "pace" else {**PLAN, name: value}
        assert getattr(read(message), name) == value


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("", "A message is a JSON object."),
        ("{", "A message is a JSON object."),
        ("play", "A message is a JSON object."),
        ('{"kind": "pace", "pace": NaN}', "A message is a JSON object."),
        ("[" * 900, "A message is a JSON object."),
        (b'{"kind": "play"}', "A message is a short text."),
        (" " * (LONGEST_MESSAGE + 1), "A message is a short text."),
        ([], "A message has a kind: play, pause, step, new, pace, plan, move."),
        (None, "A message has a kind: play, pause, step, new, pace, plan, move."),
        ({}, "A message has a kind: play, pause, step, new, pace, plan, move."),
        ({"kind": "dance"}, "A message has a kind: play, pause, step, new, pace, plan, move."),
        ({"kind": ["play"]}, "A message has a kind: play, pause, step, new, pace, plan, move."),
        ({"kind": "watch", "count": 3}, "A message has a kind: play, pause, step, new, pace, plan, move."),
        ({"kind": "play", "loud": True}, "A message of the kind play is wrong at $: "),
        ({"kind": "pace"}, "A message of the kind pace is wrong at $: the field pace is missing."),
        ({"kind": "pace", "pace": "fast"}, "A message of the kind pace is wrong at $.pace: expected float, got str."),
        ({"kind": "pace", "pace": True}, "A message of the kind pace is wrong at $.pace: expected float, got bool."),
        ({"kind": "pace", "pace": 0}, "pace is a number from 0.1 to 1000."),
        ({"kind": "pace", "pace": 1e300}, "pace is a number from 0.1 to 1000."),
        ({**PLAN, "planner": "oracle"}, "The planner is one of magic, macro-despot, despot, pomcpow"),
        ({**PLAN, "planner": "json:JSONDecoder"}, "The planner is one of magic, macro-despot, despot, pomcpow"),
        ({**PLAN, "seconds": 0}, "seconds is a number from 0.001 to 10."),
        ({**PLAN, "seconds": -1}, "seconds is a number from 0.001 to 10."),
        ({**PLAN, "macro_length": 0}, "macro_length is a number from 1 to 60."),
        ({**PLAN, "macro_length": 61}, "macro_length is a number from 1 to 60."),
        ({**PLAN, "macro_length": 2.5}, "A message of the kind plan is wrong at $.macro_length: expected int | null"),
        ({"kind": "plan"}, "A message of the kind plan is wrong at $: the field planner is missing."),
        ({**MOVE, "handle": 2}, "handle is a number from 0 to 1."),
        ({**MOVE, "handle": -1}, "handle is a number from 0 to 1."),
        ({**MOVE, "handle": 10**30}, "handle is a number from 0 to 1."),
        ({**MOVE, "x": 5}, "x is a number from -4 to 4."),
        ({**MOVE, "y": -3.5}, "y is a number from -3 to 3."),
        ({**MOVE, "y": None}, "A message of the kind move is wrong at $.y: expected float, got null."),
    ],
)
def test_a_bad_message_is_answered_with_one_sentence(message, sentence):
    with pytest.raises(ValueError, match=r"^[^\n]*\.$") as caught:
        read(message)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("scene", [None, Scene((0.0, 0.0, 1.0, 1.0))])
def test_where_there_is_nothing_to_move_nothing_is_moved(scene):
    with pytest.raises(ValueError, match=r"^Nothing can be moved in this task\.$"):
        read(MOVE, scene)


def test_how_many_watch_is_the_servers_to_say():
    """A page cannot pretend that somebody, or nobody, looks on."""
    assert Watchers(3).count == 3
    with pytest.raises(ValueError, match="A message has a kind"):
        read({"kind": "watch", "count": 0})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["kind", "planner", "seconds", "macro_length", "pace", "handle", "x", "y", "other"])
KINDS = st.sampled_from(["play", "pause", "step", "new", "pace", "plan", "move"])


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=60)
    | VALUES.map(json.dumps)
    | st.builds(lambda kind, more: json.dumps({**more, "kind": kind}), KINDS, st.dictionaries(FIELDS, VALUES))
)
@example('{"kind": "pace", "pace": 1e999}')
@example("\ud800")
@example('{"kind": "plan", "planner": "\\ud800", "seconds": 1, "macro_length": null}')
def test_whatever_comes_is_a_command_or_a_sentence(text):
    answer = answer_to(text)
    if isinstance(answer, str):
        assert answer.endswith(".")
        assert "\n" not in answer
        assert len(answer) < 300
    else:
        assert isinstance(answer, Play | Pause | OneStep | NewEpisode | ChangePace | ChangePlanner | Move)


def answer_to(text):
    try:
        return read(text)
    except ValueError as error:
        return str(error)


# --------------------------------------------------------------------------------------------------------- on their way


def test_only_the_newest_of_each_kind_counts():
    commands = [Move(0, 1.0, 1.0), Play(), Move(1, 2.0, 2.0), ChangePace(2.0), Pause(), Move(0, 3.0, 3.0), Play()]
    assert newest(commands) == [Move(1, 2.0, 2.0), ChangePace(2.0), Pause(), Move(0, 3.0, 3.0), Play()]


def test_a_mailbox_holds_few_commands_however_many_come():
    sent = []
    mailbox = Mailbox(sent.append)
    mailbox.put(Play())
    assert sent == [[Play()]]  # a session that is free gets it at once
    for number in range(10_000):
        for command in (Move(number % 3, number, 0.0), ChangePace(1.0 + number % 900), OneStep(), Watchers(number)):
            mailbox.put(command)
    assert len(sent) == 1  # it has not obeyed yet
    mailbox.obeyed()
    assert len(sent) == 2
    assert set(sent[1]) == {
        Move(0, 9999, 0.0), Move(1, 9997, 0.0), Move(2, 9998, 0.0), ChangePace(100.0), OneStep(), Watchers(9999),
    }  # fmt: skip
    mailbox.obeyed()
    mailbox.obeyed()
    assert len(sent) == 2
    mailbox.put(NewEpisode())
    assert sent[2] == [NewEpisode()]


def test_a_session_that_has_died_takes_no_commands():
    def fail(commands):
        raise BrokenPipeError

    Mailbox(fail).put(Play())
