# SPDX-License-Identifier: GPL-2.0-or-later
"""A run: a directory with a recording, what was tested of it, and what was found."""

from __future__ import annotations

import json
import os
import sqlite3
import tomllib
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost import _core
from fencepost._doing import Doing
from fencepost.errors import MachineError, TraceError, UsageError
from fencepost.trace import Trace

if TYPE_CHECKING:
    import pandas

__all__ = ["Run"]


class Run(Doing):
    """A run directory: `Run("run")`.

    >>> run = fencepost.Run("run")
    >>> run.trace.sql("SELECT count(*) FROM store")
    >>> run.test(seconds=60)
    >>> [finding["title"] for finding in run.findings()]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(_core.open_run(os.fspath(path)))
        self._trace: Trace | None = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<fencepost.Run {self.path}>"

    def close(self) -> None:
        """Gives the trace back, if it was opened."""
        if self._trace is not None:
            self._trace.close()

    @property
    def trace(self) -> Trace:
        """What was recorded; opened when it is first asked for."""
        if self._trace is None:
            self._trace = Trace(self.path)
        return self._trace

    @property
    def spec(self) -> dict[str, Any]:
        """What was asked for."""
        try:
            with open(self.path / "spec.toml", "rb") as file:
                return tomllib.load(file)
        except FileNotFoundError:
            raise UsageError(f"{self.path} has no spec: it was not recorded by fencepost record") from None
        except tomllib.TOMLDecodeError as error:
            raise TraceError(f"{self.path / 'spec.toml'} is damaged: {error}") from None

    def info(self, top: int = 10) -> dict[str, Any]:
        """What `fencepost info --json` says."""
        return self.trace.info(top)

    # --- what was found

    def findings(self) -> list[dict[str, Any]]:
        """What rules and tests have found so far, as in `fencepost show --json`; bugs first.

        Each has the keys of docs/reference/findings.schema.json: id, kind, severity, title, summary, places and so on.
        """
        found: list[dict[str, Any]] = json.loads(_core.findings(str(self.path)))["findings"]
        return found

    def finding(self, finding: str) -> dict[str, Any]:
        """One finding with everything about it, as `fencepost show RUN FINDING --json`.

        `finding` is its id or the beginning of it.
        """
        if not finding:
            raise UsageError("a finding is named by its id or the beginning of it")
        found: dict[str, Any] = json.loads(_core.findings(str(self.path), finding))
        return found

    def outcome(self) -> dict[str, Any]:
        """How far tests have come: what was tested, and how it stopped."""
        tested: dict[str, Any] = json.loads(_core.findings(str(self.path)))["test"]
        return tested

    def verdicts(self) -> pandas.DataFrame:
        """The verdict of each crash image that was tested, with the first state that gives it."""
        return self.results("SELECT image.number, origin.seq, image.verdict, image.finding, image.confirmed, "
                            "image.judge_seconds, origin.state FROM image JOIN origin ON origin.image = image.number "
                            "WHERE image.verdict IS NOT NULL GROUP BY image.number HAVING min(origin.seq) "
                            "ORDER BY image.number")

    def results(self, query: str) -> pandas.DataFrame:
        """SQL over what tests have left (docs/reference/results-db.md), also beside a test that goes on."""
        import pandas

        file = self.path / "results.db"
        if not file.exists():
            raise UsageError(f"{self.path} has no results: nothing of it was tested")
        connection = sqlite3.connect(f"file:{urllib.parse.quote(str(file))}?mode=ro", uri=True, timeout=60)
        try:
            cursor = connection.execute(query)
            names = [name for name, *_ in cursor.description or ()]
            return pandas.DataFrame(cursor.fetchall(), columns=names)
        except sqlite3.OperationalError as error:
            if "disk" in str(error) or "I/O" in str(error):
                raise MachineError(f"{file}: {error}") from None
            raise UsageError(str(error)) from None
        except sqlite3.ProgrammingError as error:
            several = "one statement" in str(error)
            raise UsageError("there is more than one statement: ask one at a time, or join them with WITH or UNION ALL"
                             if several else str(error)) from None
        except sqlite3.DatabaseError as error:
            raise TraceError(f"{file} is damaged: {error}") from None
        finally:
            connection.close()
