# SPDX-License-Identifier: GPL-2.0-or-later
"""How far a long call has come: the caller's function, or a line in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Called with a line of text, and with numbers by name where there are some (`tested`, `findings`, `events`, ...).
#: What it raises stops the call and comes out of it.
Progress = Callable[[str, dict[str, float]], Any]


class Bar:
    """The line of the command: numbers change in place, other lines stay."""

    def __init__(self) -> None:
        self._open = False

    def __call__(self, text: str, numbers: dict[str, float]) -> None:
        sys.stderr.write(f"\r{text}\033[K" if numbers else f"{self._end()}{text}\n")
        self._open = bool(numbers)
        sys.stderr.flush()

    def _end(self) -> str:
        return "\n" if self._open else ""

    def close(self) -> None:
        sys.stderr.write(self._end())
        self._open = False


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress | None]:
    if progress is not None or not sys.stderr.isatty():
        yield progress
        return
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()
