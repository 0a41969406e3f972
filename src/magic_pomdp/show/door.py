"""The door of a small server: how many may come in, and how often each of them may speak."""

import math
import socket
import threading
import time
from contextlib import suppress
from typing import Any

_PAUSE = 0.1
"""Seconds until accepting is tried again."""
_CROWDED_PAUSE = 0.01
"""Seconds between two who come in while all places are taken: so each has some time for its request."""


class Door(socket.socket):
    """A listening socket that accepts on, whatever happens, until it is closed.

    Who comes in is a stranger until `admit` is called. There is room for `places` strangers; one more takes the place
    of the one that came first, so that nobody can keep others out by holding connections open.
    """

    def __init__(self, listening: socket.socket, places: int) -> None:
        super().__init__(fileno=listening.detach())
        self.settimeout(_PAUSE)  # who is waited for may have gone again, and `close` wakes nobody
        self.places = places
        self._strangers: list[socket.socket] = []
        self._changing = threading.Lock()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection."""
        while True:
            try:
                guest, address = super().accept()
            except OSError:
                if self.fileno() < 0:
                    raise
                time.sleep(_PAUSE)  # there may be no file descriptor left; one will be free again
                continue
            if self._make_room():
                time.sleep(_CROWDED_PAUSE)
            with self._changing:
                self._strangers.append(guest)
            return guest, address

    def admit(self, guest: socket.socket) -> None:
        """This one is no stranger any more."""
        with self._changing, suppress(ValueError):
            self._strangers.remove(guest)

    def _make_room(self) -> bool:
        """Whether somebody had to go."""
        with self._changing:
            self._strangers = [stranger for stranger in self._strangers if stranger.fileno() >= 0]
            if len(self._strangers) < self.places:
                return False
            hang_up(self._strangers.pop(0))
            return True


class Meter:
    """Counts what somebody says: `burst` times at once and `rate` times a second in the long run are fine."""

    def __init__(self, rate: float, burst: int) -> None:
        self._interval, self._credit = 1.0 / rate, burst / rate
        self._due = -math.inf

    def count(self, now: float) -> float:
        """Count once more; for how many seconds to listen no longer."""
        self._due = max(self._due, now - self._credit) + self._interval
        return max(0.0, self._due - now)


def hang_up(guest: socket.socket) -> None:
    """End a connection, so that whoever reads from it or writes to it stops and closes it."""
    with suppress(OSError):  # it has ended already
        guest.shutdown(socket.SHUT_RDWR)
