"""The live server, without a browser."""

import json
import os
import random
import signal
import socket
import string
import threading
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import msgspec
import pytest

from magic_pomdp import Budget, make
from magic_pomdp.running import PlannerFactory

pytest.importorskip("websockets")
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from magic_pomdp.core.scene import Handle, Scene
from magic_pomdp.running.commands import LONGEST_MESSAGE, Watchers, read_command
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
    server._sending, server._tabs = threading.Lock(), {"a tab"}
    server._connection = SimpleNamespace(send=sent.append)
    with server._sending:
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

    def __init__(self, server, origin=None):
        self.told = {}
        own = f"http://127.0.0.1:{server.port}"
        self._connecting = connect(f"ws://127.0.0.1:{server.port}/live", origin=origin or own, max_size=None)

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


def fetch(server, path="/", method="GET", **headers):
    address = f"http://127.0.0.1:{server.port}"
    request = urllib.request.Request(address + path, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_only_the_page_can_be_fetched(server):
    status, page = fetch(server)
    assert (status, "LivePanel" in page) == (200, True)
    for path in ("/live.js", "/../live.py", "/%2e%2e/live.py", "/palette.json", "//etc/passwd", "/?x", "/live", "/."):
        assert fetch(server, path)[0] == 404, path
    assert fetch(server, Host="example.org")[0] == 403
    assert fetch(server, Host=f"example.org:{server.port}")[0] == 403
    assert fetch(server, Host="localhost:1234")[0] == 200  # a port that is led here
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 404")
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"\x00\xff" * 500 + b"\r\n\r\n")
    assert fetch(server)[0] == 200


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
