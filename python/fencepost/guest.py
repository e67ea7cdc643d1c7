# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest by hand: a machine with persistent memory, in half a second."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost import _core
from fencepost._progress import Progress, shown
from fencepost.errors import GuestError, UsageError

__all__ = ["Finished", "Guest"]


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    status: int | None  #: exit status, -N: killed by signal N, None: its time was over
    output: bytes
    errors: bytes
    truncated: bool  #: there was more output than a guest may send
    seconds: float  #: that it took in the guest

    @property
    def text(self) -> str:
        """The output as text."""
        return self.output.decode(errors="backslashreplace")


def content(data: object) -> bytes:
    """What is written into a file."""
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"a file's content is bytes or a str, not {data!r}")


class Guest:
    """A guest whose file system is on persistent memory, mounted at /mnt/pm.

    >>> with fencepost.Guest("ext4") as guest:
    ...     guest.write("/mnt/pm/a", b"hello")
    ...     guest.run("cp /mnt/pm/a /mnt/pm/b")
    ...     guest.read("/mnt/pm/b")

    `file_system` is ext4 or xfs; None: the memory is there (`/dev/pmem0`) and nothing is on it. It starts from a
    template, which is made when it is first asked for. It ends with the `with` block, with close(), and with the thread
    that made it. What it did is in `pm_file` until then.
    """

    mount_point = "/mnt/pm"

    def __init__(self, file_system: str | None = "ext4", *, mount: bool = True, mount_options: str = "dax",
                 pm_size: str = "128M", ram: str = "512M", cpus: int = 1, attach: str = "nvdimm",
                 image: str = "default", kernel_arguments: str = "", backend: str = "process",
                 progress: Progress | None = None) -> None:
        if attach not in ("nvdimm", "e820"):
            raise UsageError(f"PM is attached as nvdimm or e820, not as {attach!r}")
        options = {"file_system": file_system, "mount_options": mount_options, "pm_size": pm_size, "ram": ram,
                   "cpus": cpus, "attach": attach, "image": image, "kernel_arguments": kernel_arguments,
                   "backend": backend}
        with shown(progress) as told:
            self._core = _core.Guest(options, told)
        if file_system and mount:
            try:
                self.mount()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<fencepost.Guest Linux {self.kernel_release}{', closed' if self._core.closed else ''}>"

    def close(self) -> None:
        """Ends the machine, as a power failure does."""
        self._core.close()

    def run(self, command: str | Sequence[str], *, directory: str | None = None,
            environment: Mapping[str, str] | None = None, input: bytes = b"", seconds: float = 60,
            check: bool = True) -> Finished:
        """Runs a command, by a shell if it is text. With `check`, one that fails is a GuestError."""
        words = ["sh", "-c", command] if isinstance(command, str) else [os.fspath(word) for word in command]
        finished = Finished(**self._core.run(words, directory or "/", dict(environment or {}), input, seconds))
        if check and finished.status != 0:
            ended = finished.status is not None
            why = f"ended with status {finished.status}" if ended else f"did not end in {seconds} s"
            said = finished.errors.decode(errors="backslashreplace").strip()
            raise GuestError(f"{command!r} {why}" + (f": {said}" if said else ""))
        return finished

    def read(self, path: str) -> bytes:
        """The content of a file in the guest."""
        return self._core.read(path)

    def write(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        """Writes a file in the guest."""
        self._core.write(path, content(data), mode)

    def mount(self) -> None:
        """Mounts the file system at /mnt/pm, with DAX unless other options were given."""
        self._core.mount()

    def unmount(self) -> None:
        """Unmounts it."""
        self._core.unmount()

    def tree(self) -> list[str]:
        """Everything below /mnt/pm, sorted, relative to it."""
        found = self.run(["find", self.mount_point, "-mindepth", "1", "-print0"]).text.split("\0")[:-1]
        return sorted(path.removeprefix(self.mount_point + "/") for path in found)

    @property
    def kernel_log(self) -> str:
        """What the guest's kernel has said."""
        return self._core.kernel_log

    @property
    def kernel_release(self) -> str:
        """Of the guest's kernel."""
        return self._core.kernel_release

    @property
    def pm_file(self) -> str:
        """The host's file that is the guest's persistent memory."""
        return self._core.pm_file
