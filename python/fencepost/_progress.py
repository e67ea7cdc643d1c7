# SPDX-License-Identifier: GPL-2.0-or-later
"""How far a long call has come: the caller's function, or a line in a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fencepost.errors import Error

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


def _in_python(sentence: str) -> str:
    """A sentence of the command line with its options as they are written here."""
    sentence = re.sub(r"--(bugs|limit|times) (\d+)", r"\1=\2", sentence)
    return re.sub(r"(?:fencepost test )?--(force|restart)\b", r"\1=True", sentence)


@contextmanager
def asked() -> Iterator[None]:
    """Around a call of the core: what it says of options it says in Python's words."""
    try:
        yield
    except Error as error:
        if len(error.args) == 1:
            error.args = (_in_python(str(error)),)
        raise


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress | None]:
    if progress is not None or not sys.stderr.isatty():
        with asked():
            yield progress
        return
    bar = Bar()
    try:
        with asked():
            yield bar
    finally:
        bar.close()
