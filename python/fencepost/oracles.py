# SPDX-License-Identifier: GPL-2.0-or-later
"""Oracles of your own: a function that is given a recovered guest, and says what is wrong with it."""

from __future__ import annotations

import functools
import inspect
import json
import os
import posixpath
import re
import stat
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from fencepost import _core
from fencepost._versions import version
from fencepost.errors import UsageError
from fencepost.guest import Finished, content

__all__ = ["Entry", "Operation", "Oracle", "RecoveredGuest", "WorkloadProgress"]

#: `oracle(guest)` or `oracle(guest, progress)`: None where the image is right, else a text that says what is not. An
#: AssertionError says it too. With `progress` it is told how far the workload was when power failed.
Oracle = Callable[..., Union[str, None]]


@dataclass(frozen=True)
class Operation:
    """An operation of the workload: its number, and how it is written."""

    number: int
    text: str


@dataclass(frozen=True)
class WorkloadProgress:
    """How far the workload was when power failed."""

    returned: Operation | None  #: the last operation that has returned
    in_progress: tuple[Operation, ...]  #: those that had begun and not returned
    checkpoint: Operation | None  #: the last checkpoint that it has passed


@dataclass(frozen=True)
class Entry:
    """A name in a recovered file system."""

    path: str  #: below the mount point
    type: str  #: file, directory, symlink, fifo, socket, character, block or unknown
    size: int  #: of files only
    mode: int  #: permission bits
    user: int
    group: int
    link_count: int
    inode: int  #: tells links of one file from files that are alike
    target: str  #: of a symbolic link
    attributes: dict[str, bytes]  #: extended ones
    block_hashes: bytes  #: of a file, 8 bytes a block of 4096; equal contents have equal ones
    failed_step: str  #: what could not be done with it: stat, list, open, read, readlink or xattr
    error_number: int  #: and why

    @property
    def is_file(self) -> bool:
        """A regular file."""
        return self.type == "file"

    @property
    def is_directory(self) -> bool:
        """A directory."""
        return self.type == "directory"


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


class RecoveredGuest:
    """The guest that an oracle is given: it has recovered a crash image, and its file system is mounted.

    >>> def accounts_add_up(guest):
    ...     total = sum(int(line) for line in guest.read("accounts").split())
    ...     assert total == 1000, "money is lost"

    The guest has mounted the image, looked at it, unmounted it, and has mounted it once more for you: what you see is
    what recovery has left in persistent memory. It is good until the oracle returns. Paths are below the mount point
    unless they begin with a slash.

    What the guest refuses (a file that is not there, one that cannot be read) is an OSError, as from `open`. One that
    an oracle does not catch is a finding, as an AssertionError is; every other exception of yours ends the test.
    """

    def __init__(self, core: _core.Visit) -> None:
        self._core = core
        self._refused: OSError | None = None

    @property
    def mount_point(self) -> str:
        """Where the file system is; empty if the run has none."""
        return self._core.root

    @property
    def crash_seq(self) -> int:
        """The event before which power failed."""
        return self._core.crash_seq

    @property
    def crashed(self) -> bool:
        """False: it is an image without a crash, from before the workload or after it."""
        return self._core.crashed

    def _path(self, path: str | os.PathLike[str]) -> str:
        return posixpath.join(self.mount_point or "/", os.fspath(path))

    def _watched(self, error: OSError) -> OSError:
        self._refused = error
        return error

    def run(self, command: str | Sequence[str], *, directory: str = "", environment: Mapping[str, str] | None = None,
            input: bytes = b"", seconds: float | None = None, check: bool = False) -> Finished:
        """Runs a command, by a shell if it is text, in the mount point. With `check`, one that fails is a finding.

        One that takes longer than `seconds` has no status. Without them it has the time of the image: one that does not
        end in it is a hang, which is the image's verdict.
        """
        words = ["sh", "-c", command] if isinstance(command, str) else [os.fspath(word) for word in command]
        try:
            finished = Finished(**self._core.run(words, directory, dict(environment or {}), input, seconds))
        except OSError as error:
            raise self._watched(error)
        if check and finished.status != 0:
            said = finished.errors or finished.output
            words_said = said.decode(errors="backslashreplace").strip().rpartition("\n")[2]
            ended = f"ended with status {finished.status}" if finished.status is not None else "did not end in its time"
            raise AssertionError(f"{command!r} {ended}" + (f": {words_said}" if words_said else ""))
        return finished

    def read(self, path: str | os.PathLike[str]) -> bytes:
        """The content of a file."""
        try:
            return self._core.read(self._path(path))
        except OSError as error:
            raise self._watched(error)

    def write(self, path: str | os.PathLike[str], data: bytes | str) -> None:
        """Writes a file. The image is not changed for others by that, but oracles that come later see it."""
        try:
            self._core.write(self._path(path), content(data))
        except OSError as error:
            raise self._watched(error)

    def tree(self) -> dict[str, Entry]:
        """Everything below the mount point, by its path; contents as hashes."""
        if not self.mount_point:
            raise UsageError("the run has no file system, so there is no tree")
        found = {}
        for path, kind, size, mode, user, group, links, inode, target, attributes, hashes, step, error in self._core.tree():
            entry = Entry(_text(path).removeprefix("./"), kind, size, stat.S_IMODE(mode), user, group, links, inode,
                          _text(target), attributes, hashes, step, error)
            if entry.path != ".":
                found[entry.path] = entry
        return found


def _progress(core: _core.Visit) -> WorkloadProgress:
    said = core.progress
    if said is None:
        return WorkloadProgress(None, (), None)
    returned, open_ones, checkpoint = said
    return WorkloadProgress(Operation(*returned) if returned else None, tuple(Operation(*each) for each in open_ones),
                            Operation(*checkpoint) if checkpoint else None)


class _Adapter:
    """What the core calls: the user's function, its answer as (text, details)."""

    def __init__(self, function: Oracle) -> None:
        self.function = function
        self.name = _name(function, "oracle")
        self.version = version(function)
        self.progress = _takes_progress(function)

    def __call__(self, core: _core.Visit) -> tuple[str, str] | None:
        guest = RecoveredGuest(core)
        try:
            said = self.function(guest, _progress(core)) if self.progress else self.function(guest)
        except AssertionError as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return _objection(str(error) or frame.line or "an assertion failed", error)
        except OSError as error:
            if error is not guest._refused:
                raise
            return _objection(f"{error.filename}: {error.strerror}", error)
        if said is None:
            return None
        if not isinstance(said, str) or not said:
            raise TypeError(f"the oracle {self.name} answers with None or a text, not with {said!r}")
        return _objection(said, None)


def _encodable(text: str) -> str:
    """Names of files that are no UTF-8 have surrogates, which JSON cannot have."""
    return text.encode(errors="backslashreplace").decode()


def _objection(text: str, error: BaseException | None) -> tuple[str, str]:
    details = {"said": text}
    if error is not None and error.__traceback__ is not None:
        of_user = error.__traceback__.tb_next  # the first frame is ours
        details["traceback"] = "".join(traceback.format_exception(type(error), error, of_user))
    return _encodable(text), json.dumps({name: _encodable(value) for name, value in details.items()})


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


_SEVERAL = {"oracle": "oracles", "strategy": "strategies"}


def _name(function: Any, what: str) -> str:
    if not callable(function):
        raise TypeError(f"{_SEVERAL[what]} are names and functions, and {function!r} is neither")
    plain = _plain(function)
    name = getattr(plain, "__name__", type(plain).__name__)
    return "python:" + (re.sub(r"\W+", "_", name).strip("_") or what)


def listed(given: Any) -> Any:
    """The same as often as it is looked at: of a generator, a list."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else given


def version_of(given: object) -> list[str]:
    """Of strategies that are named or functions: other ones when they are others."""
    parts = given if isinstance(given, list) else [given]
    return [version(each) if callable(each) else repr(each) for each in parts]


def _takes_progress(function: Callable[..., Any]) -> bool:
    try:
        wanted = [each for each in inspect.signature(function).parameters.values()
                  if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    except ValueError:  # of a function that is not in Python
        return False
    if len(wanted) not in (1, 2):
        raise TypeError(f"an oracle takes a guest, or a guest and the workload's progress: {function!r} takes {len(wanted)}")
    return len(wanted) == 2


Judges = Union[str, Oracle, Iterable[Union[str, Oracle]], None]


def chosen(oracles: Judges) -> dict[str, Any]:
    """The core's options for oracles that are named or functions."""
    if oracles is None:
        return {"oracles": None, "own_oracles": None}
    if isinstance(oracles, str):
        raise TypeError(f"a list of names is wanted, not the text {oracles!r}")
    names: list[str] = []
    own: list[tuple[str, str, bool, Any]] = []
    given: list[str | Oracle] = [*oracles] if isinstance(oracles, Iterable) else [oracles]
    for each in given:
        if isinstance(each, str):
            names.append(each)
            continue
        adapter = _Adapter(each)
        if adapter.name in names:
            raise UsageError(f"two oracles have the name {adapter.name}")
        names.append(adapter.name)
        own.append((adapter.name, adapter.version, adapter.progress, adapter))
    return {"oracles": names, "own_oracles": own}
