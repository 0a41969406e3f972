"""A page on which the planner runs now: a small server, and a process of its own for the planner.

The page is one file, and nothing else can be fetched. What it shows comes through a WebSocket, always in the newest
version, so that a slow page misses frames instead of lagging behind; what a person wants goes back as small messages.
Only who knows the token in the page's address gets the page, and may connect.
"""

import hmac
import ipaddress
import logging
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from magic_pomdp.core.settings import settings_of
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.planners.registry import find_planner, planner_names
from magic_pomdp.results.recording import to_text
from magic_pomdp.running.commands import LIMITS, LONGEST_MESSAGE, Mailbox, Watchers, read_command
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.session import run_session
from magic_pomdp.running.workers import JobFailed, start_process
from magic_pomdp.show.door import Door, Meter, hang_up
from magic_pomdp.show.pages import render_page

_PORT = 8765
"""Where the page is, unless that port is taken."""
_SCRIPTS = ("data.js", "drawing.js", "charts.js", "tree.js", "panel.js", "controls.js", "live-panel.js", "live.js")
_MOST_TABS = 48
_MOST_STRANGERS = 16
"""Connections that have not become tabs. Each connection costs four file descriptors: far fewer than there are."""
_RATE, _BURST = 200.0, 200
"""Messages of a tab in a second, and at once; a thing that is dragged sends 20 a second."""
_PATIENCE = 2000
"""So many messages in a row that had to wait are a flood."""
_CLOSE_SECONDS = 1.0


class Board:
    """What there is to see, in its newest version, for any number of readers, each at its own speed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._parts: dict[str, tuple[int, Any]] = {}
        self._rows: list[Any] = []
        self._rows_version = 0

    def post(self, name: str, value: Any) -> None:
        """Put up something new. A new `episode` has no rows yet; a `row` is (number, row)."""
        with self._changed:
            self._version += 1
            if name == "row":
                number, row = value
                self._rows[number:] = [row]
                self._rows_version = self._version
            else:
                self._parts[name] = self._version, value
            if name == "episode":
                self._rows = []
            self._changed.notify_all()

    def get(self, name: str) -> Any:
        """A part, or None."""
        with self._changed:
            return self._parts.get(name, (0, None))[1]

    def wake(self) -> None:
        """Let all readers look whether they have to stop."""
        with self._changed:
            self._changed.notify_all()

    def news(self, seen: int, rows_seen: int, stopped: Callable[[], bool]) -> tuple[dict[str, Any], int, int]:
        """Wait for something newer than the version `seen`: it, its version and the number of rows. The last row seen
        may have changed, so the rows from there on are among the news."""
        with self._changed:
            self._changed.wait_for(lambda: stopped() or self._version > seen)
            news = {name: value for name, (version, value) in self._parts.items() if version > seen}
            if self._rows_version > seen:
                first = 0 if "episode" in news else max(0, rows_seen - 1)
                news["rows"] = {"from": first, "rows": self._rows[first:]}
            return news, self._version, len(self._rows)


class LiveServer:
    """Serves the page of one session. `run` lasts until it is interrupted, or until `close` is called."""

    def __init__(
        self, task: Task, factory: PlannerFactory, host: str = "127.0.0.1", port: int | None = None, seed: int = 0
    ) -> None:
        factory(task)  # what is wrong with it is said here
        if port is not None and not 0 <= port <= 65535:
            raise ValueError(f"A port is a number from 0 (any that is free) to 65535, not {port}.")
        self.task, self.factory, self.seed = task, factory, seed
        self.board = Board()
        planners = _describe_planners()
        about = {"task": task_name(task), "planners": planners, "limits": LIMITS}
        self.board.post("about", about)
        self._token = secrets.token_urlsafe(16)
        self._page = render_page("live.html", f"Live: {about['task']}", _SCRIPTS, server=True)
        self._counting = threading.Lock()
        self._tabs: set[ServerConnection] = set()
        self._closed = False
        self._start_process()
        try:
            self._door = Door(_listen(host, port), _MOST_STRANGERS)
        except BaseException:
            self._process.kill()
            raise
        self.host, self.port = host, self._door.getsockname()[1]
        quiet = logging.getLogger("magic_pomdp.live")
        quiet.setLevel(logging.CRITICAL + 1)  # browsers open connections and leave them: that is no news
        self._server = serve(
            self._serve_tab,
            sock=self._door,
            process_request=self._answer,
            max_size=LONGEST_MESSAGE,
            open_timeout=2.0,
            close_timeout=_CLOSE_SECONDS,
            server_header=None,
            logger=quiet,
        )
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is, with the token that opens it."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/?token={self._token}"

    def run(self) -> None:
        """Pass on what the session reports. Should its process die, another takes its place, with a new episode."""
        ready = False
        while not self._closed:
            try:
                name, value = self._connection.recv()
            except (EOFError, OSError):
                if self._closed:
                    return
                sentence = self._say_how_it_ended()
                if not ready:
                    raise JobFailed(sentence) from None
                ready = False
                self._start_process()
                self.board.post("trouble", f"{sentence} A new episode was started.")
                continue
            if name == "failed":
                raise JobFailed(f"Nothing could start because of {value}.")
            if name == "ready":
                ready = True
            elif name == "obeyed":
                self._mailbox.obeyed()
            elif name == "planner":
                self.factory = value
            else:
                self.board.post(name, value)

    def close(self) -> None:
        """End everything that this has started."""
        self._closed = True
        self._process.kill()
        self._process.join()
        self.board.wake()
        self._close_tabs()
        self._server.shutdown()
        self._thread.join()
        self._connection.close()

    def __enter__(self) -> "LiveServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ the session's process

    def _start_process(self) -> None:
        self._process, self._connection = start_process(run_session, self.task, self.factory, self.seed)
        self._mailbox = Mailbox(self._connection.send)
        self._tell_watchers()

    def _tell_watchers(self) -> None:
        """Say how many tabs there are. They are counted while nobody else says so, so that the last count is right."""
        with self._counting:
            self._mailbox.put(Watchers(count=len(self._tabs)))

    def _say_how_it_ended(self) -> str:
        self._process.join(timeout=1.0)
        code = self._process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"The planner's process has ended ({how})."

    # --------------------------------------------------------------------------------------------------------- the tabs

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The page; None lets a tab of that page connect. Whoever comes from elsewhere is refused: another page in the
        same browser, one whose name was made to lead here, or anybody without the token."""
        host = request.headers.get_all("Host")
        if len(host) != 1 or not self._is_own_name(host[0]):
            return _respond(403, "This page is not known by that name.\n")
        is_tab = request.headers.get("Upgrade", "").lower() == "websocket"
        if is_tab and request.headers.get_all("Origin") != [f"http://{host[0]}"]:
            return _respond(403, "Only the page of this server may connect to it.\n")
        path, _, query = request.path.partition("?")
        if path != ("/live" if is_tab else "/"):
            return _respond(404, "There is nothing here.\n")
        if not hmac.compare_digest(query.encode(errors="surrogateescape"), f"token={self._token}".encode()):
            return _respond(403, "This page opens only with the token in its address, as the server has told it.\n")
        if not is_tab:
            return _respond(200, self._page, "text/html")
        return None if len(self._tabs) < _MOST_TABS else _respond(503, "There are too many open pages.\n")

    def _is_own_name(self, host: str) -> bool:
        """Whether a Host header names this server: by an address, as localhost, or as it was told to be called."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.removeprefix("[").removesuffix("]")
        if name in ("localhost", self.host):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self.host not in ("127.0.0.1", "::1", "localhost")

    def _serve_tab(self, tab: ServerConnection) -> None:
        gone = threading.Event()
        self._door.admit(tab.socket)
        self._tabs.add(tab)
        try:
            threading.Thread(target=self._send_news, args=(tab, gone), daemon=True).start()
            self._tell_watchers()
            with suppress(ConnectionClosed):
                self._listen_to(tab)
        finally:
            self._tabs.discard(tab)
            self._tell_watchers()
            gone.set()
            self.board.wake()

    def _listen_to(self, tab: ServerConnection) -> None:
        """Take a tab's messages. Of one that sends too many each has to wait; if it does not stop, that is its end."""
        meter, slowed = Meter(_RATE, _BURST), 0
        for text in tab:
            try:
                self._mailbox.put(read_command(text, self.board.get("scene")))
            except ValueError as error:
                tab.send(to_text({"trouble": str(error)}))
            pause = meter.count(time.monotonic())
            slowed = slowed + 1 if pause > 0.0 else 0
            if slowed == 1:
                sentence = f"More than {_RATE:g} messages a second are too many: they have to wait."
                tab.send(to_text({"trouble": sentence}))
            if slowed == _PATIENCE:
                hang_up(tab.socket)
                return
            time.sleep(pause)

    def _close_tabs(self) -> None:
        """Say goodbye to all tabs, and hang up on those that do not listen."""
        tabs = list(self._tabs)
        goodbyes = [threading.Thread(target=tab.close, args=(1001,), daemon=True) for tab in tabs]
        for goodbye in goodbyes:
            goodbye.start()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for goodbye in goodbyes:
            goodbye.join(max(0.0, deadline - time.monotonic()))
        for tab in tabs:
            hang_up(tab.socket)

    def _send_news(self, tab: ServerConnection, gone: threading.Event) -> None:
        def stopped() -> bool:
            return gone.is_set() or self._closed

        seen = rows = 0
        with suppress(ConnectionClosed):
            while True:
                news, seen, rows = self.board.news(seen, rows, stopped)
                if stopped():
                    return
                tab.send(to_text(news))


def _describe_planners() -> list[dict[str, Any]]:
    """What the page needs to know of planners. One of a package that cannot be imported is left out."""
    found = []
    for name in planner_names():
        with suppress(ValueError):
            entry = find_planner(name)
            has_length = "macro_length" in settings_of(entry.settings)
            found.append({"name": name, "label": entry.label, "has_length": has_length})
    return found


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket at a port; without one at _PORT or, if that is taken, at any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if port is None:
        with suppress(OSError):
            return socket.create_server((host, _PORT), family=family)
    try:
        return socket.create_server((host, port or 0), family=family)
    except OSError as error:
        raise ValueError(f"The page cannot be at {host}, port {port or 'any'}: {error.strerror}.") from None


def _respond(status: int, text: str, kind: str = "text/plain") -> Response:
    body = text.encode()
    headers = Headers(
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Connection": "close",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
        }
    )
    reasons = {200: "OK", 403: "Forbidden", 404: "Not Found", 503: "Service Unavailable"}
    return Response(status, reasons[status], headers, body)
