"""What has scratch memory of its own can be used by one thread at a time: a second one is refused."""

import threading
from typing import Self


class Turn:
    """Held, by `with`, while the scratch memory is in use. Who comes meanwhile gets a RuntimeError, not a result that
    two have written at once. A copy in another process has a turn of its own."""

    def __init__(self, refusal: str) -> None:
        self.refusal = refusal
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(self.refusal)
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.refusal,)
