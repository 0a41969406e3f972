"""The live server, without a browser."""

import errno
import json
import math
import os
import random
import re
import signal
import socket
import string
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from types import SimpleNamespace
from unittest.mock import MagicMock

import msgspec
import pytest

from magic_pomdp import Budget, make
from magic_pomdp.running import PlannerFactory

pytest.importorskip("websockets")
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from magic_pomdp.core.scene import Handle, Scene
from magic_pomdp.running.commands import LONGEST_MESSAGE, Watchers, read_command
from magic_pomdp.show import live
from magic_pomdp.show.door import Door, Meter, hang_up
from magic_pomdp.show.live import Board, LiveServer

SCENE = Scene((-5.0, -5.0, 5.0, 5.0), handles=(Handle("one", 0, 1), Handle("other", 2, 3)))
GOOD = [
    {"kind": "play"},
    {"kind": "pace", "pace": 4},
    {"kind": "plan", "planner": "despot", "seconds": 0.1, "macro_length": None},
    {"kind": "plan", "planner": "macro-despot", "seconds": 1, "macro_length": 6},
    {"kind": "move", "handle": 1, "x": -5.0, "y": 4},
]
STRANGE = [
    None, True, False, -1, 2, 10**400, -(10**400), 1e308, 0.5, "", "1", [], [1], {}, {"x": 1}, 1e-300, 61,
    "../../etc/passwd", "é\u0000",
]  # fmt: skip


def test_good_messages_are_read():
    for message in GOOD:
        assert msgspec.to_builtins(read_command(json.dumps(message), SCENE)) == message


def malformed(random):
    """A message that is no command: nonsense, or a good one with something wrong about it."""
    message = dict(random.choice(GOOD))
    how = random.randrange(7)
    if how == 0:
        return "".join(random.choices(string.printable, k=random.randrange(60)))
    if how == 1:
        return json.dumps(message)[: random.randrange(len(json.dumps(message)) - 1)]
    if how == 2:
        return json.dumps(random.choice(STRANGE))
    if how == 3:
        del message[random.choice(list(message))]
        return json.dumps({**message, "kind": random.choice(STRANGE)})
    if how == 4:
        return json.dumps({**message, random.choice("abc"): 1})
    if how == 5:
        bad = random.choice(("NaN", "Infinity", "-Infinity", "1e999", "null", '"1"', "[0]", "true"))
        return f'{{"kind":"move","handle":0,"x":{bad},"y":0}}'
    return random.choice(("[" * 900, '{"kind":' * 100, b"\xff\xfe\x00", json.dumps(message).encode(), "9" * 900))


def test_a_thousand_malformed_messages_are_refused():
    luck = random.Random(0)
    for _ in range(1000):
        message = malformed(luck)
        with pytest.raises(ValueError, match=r"\.$"):
            read_command(message, SCENE)
    with pytest.raises(ValueError, match="short"):
        read_command(json.dumps(GOOD[0]) + " " * LONGEST_MESSAGE, SCENE)
    for bad in ({"handle": 2}, {"handle": 0.0}, {"handle": True}, {"x": 5.1}, {"y": None}):
        with pytest.raises(ValueError, match=r"number|expected"):
            read_command(json.dumps({**GOOD[-1], **bad}), SCENE)
    with pytest.raises(ValueError, match="Nothing can be moved"):
        read_command(json.dumps(GOOD[-1]), None)


def test_a_board_tells_what_is_new():
    board = Board()

    def news(seen, rows):
        return board.news(seen, rows, lambda: True)

    board.post("episode", 0)
    board.post("row", (0, "a"))
    board.post("row", (1, "b"))
    told, seen, rows = news(0, 0)
    assert told == {"episode": 0, "rows": {"from": 0, "rows": ["a", "b"]}}
    board.post("row", (1, "B"))
    board.post("row", (2, "c"))
    told, seen, rows = news(seen, rows)
    assert told == {"rows": {"from": 1, "rows": ["B", "c"]}}
    board.post("episode", 1)
    board.post("row", (0, "d"))
    assert news(seen, rows)[0] == {"episode": 1, "rows": {"from": 0, "rows": ["d"]}}


def test_watchers_are_counted_when_it_is_their_turn():
    sent = []
    server = LiveServer.__new__(LiveServer)  # without its processes
    server._counting, server._tabs = threading.Lock(), {"a tab"}
    server._mailbox = SimpleNamespace(put=sent.append)
    with server._counting:
        telling = threading.Thread(target=server._tell_watchers)
        telling.start()
        server._tabs.clear()
    telling.join()
    assert sent == [Watchers(count=0)]


@pytest.fixture(scope="module")
def server():
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("the server is tested once, with the JIT on")
    factory = PlannerFactory(budget=Budget(seconds=0.005))
    with LiveServer(make("light-dark"), factory, port=0) as server:
        threading.Thread(target=server.run, daemon=True).start()
        yield server


class Tab:
    """A page's side of the connection: all that it was told, the newest of everything."""

    def __init__(self, server, origin=None, query=None):
        self.told = {}
        own, own_query = server.url.split("/?")
        address = f"ws://127.0.0.1:{server.port}/live?{own_query if query is None else query}"
        self._connecting = connect(address, origin=origin or own, max_size=None)

    def __enter__(self):
        self.connection = self._connecting.__enter__()
        return self

    def __exit__(self, *error):
        self._connecting.__exit__(*error)

    def send(self, **message):
        self.connection.send(json.dumps(message))

    def until(self, true, seconds=240.0):
        deadline = time.monotonic() + seconds
        while not true(self.told):
            self.told |= json.loads(self.connection.recv(timeout=max(0.1, deadline - time.monotonic())))


def planned(told):
    return "plan" in told and "frame" in told


def test_it_runs_and_tells(server):
    with Tab(server) as tab:
        tab.until(planned)
        planners = {planner["name"]: planner for planner in tab.told["about"]["planners"]}
        assert planners["macro-despot"] == {"name": "macro-despot", "label": "Macro-DESPOT", "has_length": True}
        assert not planners["despot"]["has_length"]
        tab.send(kind="new")
        tab.send(kind="step")
        tab.until(lambda told: told["frame"]["step"] == 1 and told["episode"]["number"] > 0)
        tab.send(kind="move", handle=0, x=1.5, y=-1.25)
        tab.until(lambda told: told["frame"]["handles"][0] == [1.5, -1.25])
        tab.send(kind="plan", planner="macro-despot", seconds=0.01, macro_length=6)
        tab.until(lambda told: told["settings"]["planner"]["budget"]["seconds"] == 0.01)


def test_malformed_messages_change_nothing(server):
    luck = random.Random(1)
    with Tab(server) as tab:
        tab.until(planned)
        before = {name: tab.told[name] for name in ("episode", "scene", "settings", "frame")}
        for _ in range(1000):
            tab.told["trouble"] = None
            tab.connection.send(malformed(luck))
            tab.until(lambda told: told["trouble"])
        with Tab(server) as other:
            other.until(planned)
            assert {name: other.told[name] for name in before} == before
        tab.connection.send("x" * 5000)
        with pytest.raises(ConnectionClosed):
            tab.until(lambda _: False)
    with Tab(server) as tab:
        tab.until(planned)


@pytest.mark.parametrize("origin", ["http://example.org", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused(server, origin):
    with pytest.raises(InvalidStatus) as refused, Tab(server, origin):
        pass
    assert refused.value.response.status_code == 403


def fetch(server, path=None, method="GET", **headers):
    address = server.url if path is None else f"http://127.0.0.1:{server.port}{path}"
    request = urllib.request.Request(address, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_only_the_page_can_be_fetched(server):
    status, page = fetch(server)
    assert (status, "LivePanel" in page) == (200, True)
    query = server.url.partition("?")[2]
    for path in ("/live.js", "/../live.py", "/%2e%2e/live.py", "/palette.json", "//etc/passwd", "/live", "/."):
        assert fetch(server, path)[0] == 404, path
        assert fetch(server, f"{path}?{query}")[0] == 404, path
    assert fetch(server, Host="example.org")[0] == 403
    assert fetch(server, Host=f"example.org:{server.port}")[0] == 403
    assert fetch(server, Host="localhost:1234")[0] == 200  # a port that is led here
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 404")
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"\x00\xff" * 500 + b"\r\n\r\n")
    assert fetch(server)[0] == 200


def without_the_token(server):
    """What one may try who does not know it."""
    query = server.url.partition("?")[2]
    last = "a" if query[-1] == "b" else "b"
    return "", "x", "token=", query[:-1] + last, query[:-1], query + last, f"{query}&a=b", "token=%ff", "token"


def test_nothing_opens_without_the_token(server):
    assert re.fullmatch(rf"http://127\.0\.0\.1:{server.port}/\?token=[\w-]{{20,}}", server.url)
    sentence = "This page opens only with the token in its address, as the server has told it.\n"
    assert fetch(server, "/") == (403, sentence)
    for query in without_the_token(server):
        status, text = fetch(server, f"/?{query}")
        assert (status, text) == (403, sentence), query
        with pytest.raises(InvalidStatus) as refused, Tab(server, query=query):
            pass
        assert refused.value.response.status_code == 403
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"GET /?token=\xff\xe9 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" not in raw.recv(100)


def test_each_server_has_its_own_token(server, monkeypatch):
    monkeypatch.setattr("magic_pomdp.show.live.start_process", lambda *_: (MagicMock(), MagicMock()))
    with LiveServer(make("light-dark"), PlannerFactory(), port=0) as other:
        assert other.url.partition("?")[2] != server.url.partition("?")[2]


# --------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED, errno.ENOMEM])
def test_the_page_lives_on_when_nobody_can_be_accepted(server, monkeypatch, number):
    troubles, accept = [OSError(number, os.strerror(number))] * 3, socket.socket.accept

    def fail_at_first(listening):
        if troubles:
            raise troubles.pop()
        return accept(listening)

    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "accept", fail_at_first)
        assert fetch(server)[0] == 200
    assert not troubles
    with Tab(server) as tab:
        tab.until(planned)


def test_half_open_connections_take_no_place_from_others(server):
    """Far more of them than there are places: the page opens at once, and those that came first are gone."""
    address = ("127.0.0.1", server.port)
    with ExitStack() as open_ones:
        half_open = [open_ones.enter_context(socket.create_connection(address, timeout=60)) for _ in range(100)]
        assert fetch(server)[0] == 200
        with Tab(server) as tab:
            tab.until(planned)
            assert 0 < len(server._door._strangers) <= 16
            for connection in half_open:
                with suppress(ConnectionResetError):
                    assert connection.recv(1) == b""  # the last of them are closed when their time is up
            tab.send(kind="pause")  # a tab is no stranger
            tab.told.pop("settings")
            tab.until(lambda told: "settings" in told)


def test_a_door_has_places_for_some_strangers():
    with Door(socket.create_server(("127.0.0.1", 0)), places=3) as door, ExitStack() as open_ones:
        clients, guests = [], []
        for _ in range(8):
            clients.append(open_ones.enter_context(socket.create_connection(door.getsockname(), timeout=60)))
            guests.append(open_ones.enter_context(door.accept()[0]))
            if len(guests) == 2:
                door.admit(guests[1])
        assert clients[0].recv(1) == clients[4].recv(1) == b""
        for number in (1, 5, 6, 7):  # the known one, and the last three
            guests[number].sendall(b"x")
            assert clients[number].recv(1) == b"x"
        guests[6].close()  # makes room
        clients.append(open_ones.enter_context(socket.create_connection(door.getsockname(), timeout=60)))
        guests.append(open_ones.enter_context(door.accept()[0]))
        guests[5].sendall(b"x")
        assert clients[5].recv(1) == b"x"


def test_closing_a_door_ends_its_accepting():
    door = Door(socket.create_server(("127.0.0.1", 0)), places=3)
    ended = threading.Event()

    def accept():
        with suppress(OSError):
            door.accept()
        ended.set()

    threading.Thread(target=accept, daemon=True).start()
    door.close()
    assert ended.wait(60)


def test_a_meter_lets_bursts_pass_and_slows_floods():
    meter = Meter(rate=10.0, burst=5)
    assert [meter.count(100.0) for _ in range(7)] == pytest.approx([0, 0, 0, 0, 0, 0.1, 0.2])
    assert meter.count(100.2) == pytest.approx(0.1)  # who has waited may say one more, and waits again
    assert all(meter.count(200.0 + 0.1 * n) == 0.0 for n in range(100))
    dragged = Meter(live._RATE, live._BURST)
    assert all(dragged.count(0.05 * n) == 0.0 for n in range(10_000))


def test_who_floods_is_slowed_and_told_so_while_planning_goes_on(server, monkeypatch):
    monkeypatch.setattr(live, "_PATIENCE", math.inf)
    flooding = threading.Event()

    def flood(tab):
        with suppress(ConnectionClosed):
            while flooding.is_set():
                for number in range(100):
                    tab.send(kind="move", handle=0, x=0.001 * number, y=-2.0)
                    tab.send(kind="pace", pace=1 + number)

    with Tab(server) as flooder, Tab(server) as other:
        flooder.until(planned)
        other.until(planned)
        flooding.set()
        thread = threading.Thread(target=flood, args=(flooder,), daemon=True)
        thread.start()
        try:
            flooder.until(lambda told: "too many" in (told.get("trouble") or ""), 60)
            for _ in range(20):
                del other.told["plan"]
                other.until(planned, 60)
            other.send(kind="step")  # it does not wait behind what the first has sent
            step = other.told["frame"]["step"]
            other.until(lambda told: told["frame"]["step"] > step, 60)
        finally:
            flooding.clear()
            hang_up(flooder.connection.socket)
            thread.join()


def test_who_does_not_stop_flooding_is_cut_off(server, monkeypatch):
    monkeypatch.setattr(live, "_PATIENCE", 20)
    with Tab(server) as tab:
        tab.until(planned)
        with suppress(ConnectionClosed):
            for number in range(10_000):
                tab.send(kind="pace", pace=1 + number % 100)
        with pytest.raises(ConnectionClosed):
            tab.until(lambda _: False, 60)
    with Tab(server) as tab:  # it may come again
        tab.until(planned)


def test_a_tab_that_does_not_read_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr("magic_pomdp.show.live.start_process", lambda *_: (MagicMock(), MagicMock()))
    server = LiveServer(make("light-dark"), PlannerFactory(), port=0)
    own, query = server.url.split("/?")
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        request = {
            "Host": own.removeprefix("http://"),
            "Origin": own,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
        }
        lines = [f"GET /live?{query} HTTP/1.1", *(f"{name}: {value}" for name, value in request.items()), "", ""]
        silent.sendall("\r\n".join(lines).encode())
        assert silent.recv(12) == b"HTTP/1.1 101"
        server.board.post("frame", "x" * 30_000_000)
        closing = threading.Thread(target=server.close, daemon=True)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()


def test_a_dead_process_is_replaced(server):
    with Tab(server) as tab:
        tab.until(planned)
        tab.told.clear()
        os.kill(server._process.pid, signal.SIGKILL)
        tab.until(lambda told: "SIGKILL" in (told.get("trouble") or "") and planned(told))


def test_a_taken_port_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"cannot be at 127.0.0.1, port {port}"):
            LiveServer(make("light-dark"), PlannerFactory(), port=port)
    with pytest.raises(ValueError, match="A port is"):
        LiveServer(make("light-dark"), PlannerFactory(), port=65536)
    with pytest.raises(ValueError, match="No trained generator"):
        LiveServer(make("tiger"), PlannerFactory("magic"), port=0)
