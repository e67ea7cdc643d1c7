# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong, as exceptions: one family, with the sentences of the command line."""

__all__ = ["Error", "GuestError", "InternalError", "MachineError", "TraceError", "UsageError"]


class Error(Exception):
    """Anything that fencepost reports; `exit_code` is what the command would have ended with."""

    exit_code = 70


class UsageError(Error, ValueError):
    """A mistake in what was asked for: a path that is not there, a query or a spec that is wrong."""

    exit_code = 2


class TraceError(Error):
    """A trace that is damaged, incomplete, of another format, or no trace at all."""

    exit_code = 3


class GuestError(Error):
    """A guest that does not start or does not do what it should."""

    exit_code = 4


class MachineError(Error, OSError):
    """This machine's trouble: a full disk, a missing program, a file that cannot be read."""

    exit_code = 4


class InternalError(Error):
    """A bug of fencepost; please report it."""
