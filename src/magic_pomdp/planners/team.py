"""One search on several threads: its owner puts pieces of work on a board, and everybody takes the next one until
there is none. What a piece gives does not depend on who does it, so neither does the search.

A *round* is a number of pieces that can be done at the same time. Its state is one word, the ticket: the round's
number, how many pieces it has, and which one is next. Who takes a piece writes the next ticket, and succeeds only if
nobody else has; so a piece is done once, and a thread that was asleep cannot take one of a later round by mistake.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Self

import numpy as np
from numba import config

from magic_pomdp.core import atomics
from magic_pomdp.core.clock import is_late
from magic_pomdp.core.compiling import compiled, search_kernel
from magic_pomdp.core.machine import available_cores, is_worker
from magic_pomdp.core.views import borrow

TICKET, DONE, TAKEN, STEPS, SEARCH, HELPERS, FAILED, ROUND = (8 * i for i in range(8))
"""Words of a board, each in a cache line of its own: the ticket; how many pieces of the round are done, how many will
be, and the primitive steps that this took; which search it is, how many helpers it has, and whether one has failed."""
KIND, SUBJECT, FIRST, DEADLINE = range(ROUND, ROUND + 4)
"""What the round is about, in one cache line: its kind of work, its subject, the number of its first piece, and its
deadline."""
BOARD_WORDS = ROUND + 8

NO_SEARCH = -2
"""The number of none."""
NOTHING = -1
"""There is no piece to take."""
BITS = 20
"""Of a ticket, for the next piece and for their number; the rest is the round's number."""
MOST_PIECES = (1 << BITS) - 1
ROUNDS = 1 << 23
"""After so many, their numbers begin anew."""


def default_threads() -> int:
    """All cores, or one in a worker process, which has others beside it."""
    return 1 if is_worker() else available_cores()


class Team:
    """Threads that help with the searches of one planner. Each waits for work, awake, as long as a search lasts."""

    def __init__(self, threads: int) -> None:
        self.threads = 1 if config.DISABLE_JIT else threads  # ordinary Python has no words that threads can share
        self.board = np.zeros(BOARD_WORDS, np.int64)
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def helping(self, serve: Callable[[int, int], object]) -> Iterator[None]:
        """While this lasts, `serve` runs in each helper's thread, with the helper's number and that of the search, for
        as long as the board says that it is this search. What goes wrong there is raised here in the end."""
        self.board[FAILED] = 0
        if self._pool is None and self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads - 1, "magic-pomdp")
        search = int(self.board[SEARCH])
        helpers = (
            [self._pool.submit(self._help, serve, i, search) for i in range(1, self.threads)] if self._pool else []
        )
        try:
            yield
        finally:
            if helpers and not end_search(self.board):
                wait(helpers)
                self.board[HELPERS] = 0
        if self.board[FAILED]:
            for helper in helpers:
                helper.result()

    def _help(self, serve: Callable[[int, int], object], number: int, search: int) -> None:
        try:
            serve(number, search)
        except BaseException:
            self.board[FAILED] = 1
            raise

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (self.threads,)


@search_kernel
def end_search(board):
    """Send the helpers away, and wait until they have gone; whether they have. One that has failed does not tell, and
    one that comes later finds that it is another search. (To wait for their threads, which wait for Python's lock,
    would take a good part of a millisecond.)"""
    board = borrow(board)
    atomics.add(board, SEARCH, 1)
    while atomics.load(board, HELPERS) != 0:
        if atomics.load(board, FAILED) != 0:
            return False
        atomics.pause()
    return True


@compiled
def call_round(board, kind, subject, first, count, deadline):
    """Put a round's pieces on the board: `count` of them, the first of them numbered `first`."""
    board[KIND], board[SUBJECT], board[FIRST], board[DEADLINE] = kind, subject, first, deadline
    atomics.store(board, DONE, 0)
    atomics.store(board, STEPS, 0)
    atomics.store(board, TAKEN, count)
    number = ((atomics.load(board, TICKET) >> (2 * BITS)) + 1) % ROUNDS
    atomics.store(board, TICKET, (number << (2 * BITS)) | (count << BITS))


@compiled
def take_piece(board):
    """The number of a piece that nobody else has taken, from 0, or NOTHING. At the deadline the round is closed."""
    while True:
        ticket = atomics.load(board, TICKET)
        following, count = ticket & MOST_PIECES, (ticket >> BITS) & MOST_PIECES
        if following == count:
            return NOTHING
        if following > 0 and is_late(board[DEADLINE]):
            if atomics.swap(board, TICKET, ticket, (ticket & ~MOST_PIECES) | count):
                atomics.store(board, TAKEN, following)
                return NOTHING
        elif atomics.swap(board, TICKET, ticket, ticket + 1):
            return following


@compiled
def await_round(board):
    """Wait until all pieces that were taken are done: how many that is, or NOTHING if somebody has failed."""
    while atomics.load(board, DONE) != atomics.load(board, TAKEN):
        if atomics.load(board, FAILED) != 0:
            return NOTHING
        atomics.pause()
    return atomics.load(board, DONE)
