"""Ctrl-C during a training."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_noted(note: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C, or a request to end, is only noted, so that the training ends at its next pause; a second one ends it at
    once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)
        note()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
