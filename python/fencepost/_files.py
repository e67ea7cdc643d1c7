# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are there when they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from fencepost.errors import Error, MachineError


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which has its name once it is written; what was there stays until then."""
    unfinished = f"{os.fspath(path)}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException as error:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        if isinstance(error, OSError) and not isinstance(error, Error):
            raise MachineError(f"{os.fspath(path)}: {os.strerror(error.errno or 0)}") from None
        raise
