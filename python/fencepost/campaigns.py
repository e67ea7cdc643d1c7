# SPDX-License-Identifier: GPL-2.0-or-later
"""Many workloads, one answer: each is recorded and tested, and what was found is put together."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from fencepost import oracles as judges
from fencepost._doing import _names, record
from fencepost._progress import Progress, shown
from fencepost.errors import GuestError, TraceError, UsageError
from fencepost.oracles import Judges
from fencepost.run import Run
from fencepost.spec import to_toml
from fencepost.strategies import Strategies

if TYPE_CHECKING:
    import pandas

__all__ = ["Campaign", "Tested", "campaign"]

#: File operations (docs/reference/ops.md), or the part of a spec in which a workload differs from the others.
Workload = Union[str, Mapping[str, Any]]

_KEPT = "campaign.json"
_UNDER_WAY = "under-way.json"


@dataclass(frozen=True)
class Tested:
    """One workload of a campaign."""

    path: Path  #: of its run
    stop: str  #: how its test ended (end, limit, time, bugs, baseline), or trouble
    trouble: str  #: why it could not be recorded or tested; empty: it was
    tested: int  #: images
    findings: tuple[str, ...]  #: ids of crash states that fail, and of workloads that fail by themselves

    @property
    def run(self) -> Run:
        """Its run, opened."""
        return Run(self.path)


class Campaign:
    """What a campaign has come to: `workloads`, and `findings` of all of them, each once."""

    def __init__(self, workloads: list[Tested], findings: list[dict[str, Any]]) -> None:
        self.workloads = workloads
        self.findings = findings

    def __repr__(self) -> str:
        return (f"<fencepost.Campaign {len(self.workloads)} workloads, {sum(each.tested for each in self.workloads)} "
                f"images, {len(self.findings)} findings>")

    def frame(self) -> pandas.DataFrame:
        """One row a finding: its id, severity and title, and in how many runs it was found."""
        import pandas

        return pandas.DataFrame([[each["id"], each["severity"], each["title"], len(each["runs"]), each["runs"][0]]
                                 for each in self.findings], columns=["id", "severity", "title", "runs", "first_run"])


def _merged(spec: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(spec)
    for key, value in part.items():
        old = whole.get(key)
        whole[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return whole


def _spec_of(spec: Mapping[str, Any], workload: object) -> dict[str, Any]:
    if isinstance(workload, str):
        return _merged(spec, {"workload": {"kind": "ops", "text": workload}})
    if isinstance(workload, Mapping):
        return _merged(spec, workload)
    raise TypeError(f"a workload is file operations as text, or a part of a spec as a dict, not {workload!r}")


@contextmanager
def _about(number: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"in workload {number} of the campaign")
        raise


class _Folder:
    """Where a campaign is kept: a run for each workload, and what has come of it."""

    def __init__(self, path: str | os.PathLike[str], how: object) -> None:
        self.path = Path(path).absolute()
        self.path.mkdir(parents=True, exist_ok=True)
        self._how = how
        self._kept = self._read(_KEPT)
        self._under_way = self._read(_UNDER_WAY)  # digests of what was begun, and not tested to the end

    def run(self, number: int) -> Path:
        return self.path / f"{number:04}"

    def _digest(self, spec: Mapping[str, Any]) -> str:
        return hashlib.sha256(json.dumps([to_toml(spec), self._how]).encode()).hexdigest()

    def known(self, number: int, spec: Mapping[str, Any]) -> Tested | None:
        kept = self._kept.get(str(number))
        if not kept or kept["digest"] != self._digest(spec) or not (kept["trouble"] or self.run(number).exists()):
            return None
        return Tested(self.run(number), kept["stop"], kept["trouble"], kept["tested"], tuple(kept["findings"]))

    def begin(self, number: int, spec: Mapping[str, Any]) -> bool:
        """Whether it was tested before in another way, to the end or not. What is known of that is no longer so."""
        digest = self._digest(spec)
        kept = self._kept.pop(str(number), None)
        before = self._under_way.get(str(number), kept and kept["digest"])
        self._under_way[str(number)] = digest
        self._write(_UNDER_WAY, self._under_way)
        if kept:
            self._write(_KEPT, self._kept)
        return before not in (None, digest)

    def keep(self, number: int, spec: Mapping[str, Any], tested: Tested) -> None:
        self._kept[str(number)] = {"digest": self._digest(spec), "stop": tested.stop, "trouble": tested.trouble,
                                   "tested": tested.tested, "findings": tested.findings}
        self._write(_KEPT, self._kept)
        del self._under_way[str(number)]
        self._write(_UNDER_WAY, self._under_way)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads((self.path / name).read_text())
            return known
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise TraceError(f"{self.path / name} is damaged: {error}") from None

    def _write(self, name: str, known: dict[str, Any]) -> None:
        new = self.path / (name + ".new")
        new.write_text(json.dumps(known, indent=1) + "\n")
        new.replace(self.path / name)


def _recorded(path: Path, spec: Mapping[str, Any], told: Progress) -> Run:
    """As it was recorded before, if that was the same."""
    if path.exists():
        try:
            run = Run(path)
            if run.spec == spec and run.trace.state == "complete":
                return run
        except (TraceError, UsageError):
            pass
    return record(spec, path, force=path.exists(), progress=told)


def _found(run: Run) -> list[dict[str, Any]]:
    return [finding for finding in run.findings() if finding["kind"] != "rule"]


def _check(workloads: object, test: Mapping[str, Any]) -> None:
    if isinstance(workloads, (str, bytes, Mapping)):
        raise TypeError(f"a list of workloads is wanted, or a generator, not {workloads!r}")
    for name in test:
        if name not in inspect.signature(Run.test).parameters or name == "self":
            raise TypeError(f"campaign and Run.test have no option {name!r}")


def campaign(workloads: Iterable[Workload], spec: Mapping[str, Any], folder: str | os.PathLike[str], *,
             oracles: Judges = None, strategy: Strategies = None, bugs: int | None = None,
             progress: Progress | None = None, **test: Any) -> Campaign:
    """Records and tests one workload after the other, and puts together what is found, by the ids of findings.

    `workloads`: a generator, or a list. Each is a text of file operations, or the part of a spec in which it differs from
    `spec`. Their runs are in `folder`: 0001, 0002 and so on. The same call goes on where an earlier one was stopped: what
    was tested then is not tested again as long as workload, oracles and options are the same.

    `bugs`: stops when so many different ones are found. All other options are those of Run.test, for each workload:
    `seconds`, `limit`, `jobs` and so on. A workload that cannot be recorded or tested is told as trouble, and does not end
    the campaign; a mistake in its spec does.

    >>> def workloads():
    ...     for size in (1, 100, 5000):
    ...         yield f"open f a rdwr|creat\\nwrite f {size}\\nfsync f\\nrename a b\\n"
    >>> fencepost.campaign(workloads(), {"pm": {"size": "64M"}, "file_system": {"type": "ext4"}}, "campaign").findings
    """
    _check(workloads, test)
    oracles, strategy = judges.listed(oracles), judges.listed(strategy)  # generators give theirs but once
    test = {name: _names(value) if name == "incidental" else value for name, value in test.items()}
    chosen = judges.chosen(oracles)
    how = [chosen["oracles"], [each[:3] for each in chosen["own_oracles"] or []], judges.version_of(strategy),
           {name: repr(value) for name, value in sorted(test.items()) if name not in ("jobs", "restart")}]
    kept = _Folder(folder, how)
    done: list[Tested] = []
    merged: dict[str, dict[str, Any]] = {}
    with shown(progress) as bar:
        def tell(text: str, numbers: dict[str, float]) -> None:
            if bar:
                bar(f"workload {len(done) + 1}, {len(merged)} findings: {text}",
                    {**numbers, "workloads": len(done), "findings": len(merged)})

        for number, workload in enumerate(workloads, 1):
            with _about(number):
                whole = _spec_of(spec, workload)
                tested = kept.known(number, whole)
                if tested is None:
                    options: dict[str, Any] = {**test, "oracles": oracles, "strategy": strategy}
                    if kept.begin(number, whole):
                        options["restart"] = True
                    tested = _tested(kept.run(number), whole, tell, options)
                    kept.keep(number, whole, tested)
            done.append(tested)
            for finding in _found(tested.run) if tested.findings else ():
                merged.setdefault(finding["id"], {**finding, "runs": []})["runs"].append(str(tested.path))
            if bugs is not None and sum(each["severity"] == "bug" for each in merged.values()) >= bugs:
                break
    return Campaign(done, sorted(merged.values(), key=lambda each: (each["severity"] != "bug", -len(each["runs"]))))


def _tested(path: Path, spec: Mapping[str, Any], told: Progress, options: dict[str, Any]) -> Tested:
    try:
        with _recorded(path, spec, told) as run:
            report = run.test(progress=told, **options)
            return Tested(path, report["stop"], "", sum(run.outcome()["verdicts"].values()),
                          tuple(finding["id"] for finding in _found(run)))
    except (GuestError, TraceError) as error:
        return Tested(path, "trouble", str(error), 0, ())
