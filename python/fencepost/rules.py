# SPDX-License-Identifier: GPL-2.0-or-later
"""Detection rules of your own: classes that look at the events of a trace, all of them in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fencepost.errors import UsageError
from fencepost.trace import KINDS, Block, Event, Trace, trace_of

if TYPE_CHECKING:
    from fencepost.run import Run

__all__ = ["Rule", "apply"]

SEVERITIES = ("bug", "warning", "performance")
SEQS = 10_000  # that are looked up at once
MOST_LINES = 8  # that a finding lists


class Rule:
    """A rule. Override `block` to look at arrays, which is quick, or `event` for the few kinds that matter.

    >>> class WideStore(fencepost.Rule):
    ...     name = "wide-store"
    ...     severity = "warning"
    ...     summary = "a store of more than 32 bytes"
    ...     kinds = ("store",)
    ...
    ...     def event(self, event):
    ...         if event.size > 32:
    ...             self.report(event.seq, f"a store of {event.size} bytes")
    >>> fencepost.apply([WideStore()], trace)

    What it reports at the same code is one finding, with the keys of docs/reference/findings.schema.json.
    """

    name = ""
    severity = "bug"  #: or warning, or performance
    summary = ""  #: the same whenever the same thing is wrong
    fix: str | None = None  #: what would have made it right
    kinds: Iterable[str] | str = KINDS  #: that it wants to see

    def __init__(self) -> None:
        self._reported: list[tuple[int, str, int | None, str]] = []

    def start(self, trace: Trace) -> None:
        """Before the first event."""

    def block(self, block: Block) -> None:
        """Up to 65,536 events. `block.matching` are those of `kinds`; by default each goes to `event`."""
        if type(self).event is not Rule.event:
            for event in block:
                self.event(event)

    def event(self, event: Event) -> None:
        """One event of `kinds`."""

    def finish(self) -> None:
        """After the last event."""

    def report(self, seq: int, title: str | None = None, *, other: int | None = None, role: str = "other") -> None:
        """This event is wrong; `other` is an event that belongs to it, and `role` what it is."""
        self._reported.append((int(seq), title or self.summary, None if other is None else int(other), role))


def _kinds(rule: Rule) -> tuple[str, ...]:
    return (rule.kinds,) if isinstance(rule.kinds, str) else tuple(rule.kinds)


def _check(rules: list[Rule]) -> None:
    for rule in rules:
        if not isinstance(rule, Rule):
            raise TypeError(f"a rule is an instance of fencepost.Rule, not {rule!r}")
        if not hasattr(rule, "_reported"):
            raise UsageError(f"{type(rule).__name__}.__init__ does not call super().__init__()")
        if not rule.name or not rule.summary:
            raise UsageError(f"{type(rule).__name__} needs a name and a summary")
        if rule.severity not in SEVERITIES:
            raise UsageError(f"{rule.name}: there is no severity '{rule.severity}'; there are {', '.join(SEVERITIES)}")
        for kind in _kinds(rule):
            if kind not in KINDS:
                raise UsageError(f"{rule.name}: there is no kind of event '{kind}'")


def _narrowed(block: Block, kinds: tuple[str, ...]) -> Block:
    """The events of these kinds among those of a block."""
    if set(kinds) == set(KINDS):
        return block
    wanted = np.zeros(256, dtype=bool)
    wanted[[KINDS.index(kind) for kind in kinds]] = True
    if block.selected is None:
        selected = np.flatnonzero(wanted[block.events["kind"]])
    else:
        selected = block.selected[wanted[block.events["kind"][block.selected]]]
    return Block(block.first_seq, block.events, selected, block.wide_values)


class _Places:
    """Code by event, looked up once for each."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sites: dict[int, dict[str, Any]] = {}
        self._stacks: dict[int, list[dict[str, Any]]] = {}
        for site, *code, disassembly in trace.rows(
                "SELECT site, function, offset, module, source_file, source_line, disassembly FROM site_name"):
            self._sites[site] = self._code(*code)
            if disassembly:
                self._sites[site]["instruction"] = disassembly

    @staticmethod
    def _code(function: str, offset: int | None, module: str, file: str | None, line: int | None) -> dict[str, Any]:
        return {"function": function, "offset": offset or 0, "named": offset is not None, "module": module,
                "source_file": file, "source_line": line}

    def _stack(self, stack: int) -> list[dict[str, Any]]:
        if stack not in self._stacks:
            self._stacks[stack] = [self._code(*row) for row in self._trace.rows(
                "SELECT function, pc - (SELECT max(address) FROM symbol WHERE name = function AND address <= pc), module,"
                f" source_file, source_line FROM stack_line WHERE stack = {stack} ORDER BY depth")] if stack else []
        return self._stacks[stack]

    def events(self, seqs: Iterable[int]) -> dict[int, tuple[int, int, int | None]]:
        """Site, stack and line of events."""
        listed = sorted(set(seqs))
        found: dict[int, tuple[int, int, int | None]] = {}
        for first in range(0, len(listed), SEQS):  # a query for each would open the trace for each
            wanted = ", ".join(map(str, listed[first:first + SEQS]))
            for seq, *event in self._trace.rows(f"SELECT seq, site, stack, line FROM event WHERE seq IN ({wanted})"):
                found[seq] = (event[0], event[1], event[2])
        for seq in listed:
            if seq not in found:
                raise UsageError(f"there is no event {seq}")
        return found

    def at(self, seq: int, role: str, event: tuple[int, int, int | None]) -> tuple[dict[str, Any], int | None]:
        """The place of an event, and its line."""
        site, stack, line = event
        unknown = self._code("unknown code", None, "", None, None)
        return {"role": role, "seq": seq, "site": self._sites.get(site, unknown), "stack": self._stack(stack or 0),
                "operation": None}, line


def _findings(rule: Rule, places: _Places) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    events = places.events(seq for report in rule._reported for seq in (report[0], report[2]) if seq is not None)
    for seq, title, other, role in sorted(rule._reported, key=lambda each: each[0]):
        place, line = places.at(seq, "at", events[seq])
        code = place["site"]
        finding = found.setdefault((code["module"], code["function"], code["offset"]), {
            "kind": "rule", "severity": rule.severity, "rule": rule.name, "title": title, "summary": rule.summary,
            "fix": rule.fix, "note": None, "count": 0, "places": [place], "evidence": [], "related": [],
            "known": False, "first_seq": seq, "last_seq": seq, "lines": [], "more_lines": False, "part_of": None,
            "crash_seq": None,
        })
        if finding["count"] == 0 and other is not None:
            finding["places"].append(places.at(other, role, events[other])[0])
        finding["count"] += 1
        finding["last_seq"] = seq
        if line is not None and line not in finding["lines"]:
            if len(finding["lines"]) < MOST_LINES:
                finding["lines"].append(line)
            else:
                finding["more_lines"] = True
    for (module, function, offset), finding in found.items():
        digest = hashlib.sha256(f"{module}\0{function}\0{offset}".encode()).hexdigest()
        finding["id"] = f"{rule.name}-{digest[:8]}"
    return list(found.values())


def apply(rules: Iterable[Rule], trace: Trace | Run) -> list[dict[str, Any]]:
    """Applies rules to a trace, in one pass; gives what they found, as `Run.findings` does: bugs first.

    An exception in a rule comes out with the rule's own traceback.
    """
    rules, trace = list(rules), trace_of(trace)
    _check(rules)
    kinds = {id(rule): _kinds(rule) for rule in rules}
    wanted = {kind for its in kinds.values() for kind in its}
    for rule in rules:
        rule._reported.clear()  # of an earlier trace
        rule.start(trace)
    for block in trace.blocks(kinds=[kind for kind in KINDS if kind in wanted]):
        for rule in rules:
            if len(theirs := _narrowed(block, kinds[id(rule)])):
                rule.block(theirs)
    for rule in rules:
        rule.finish()
    places = _Places(trace)
    found = [finding for rule in rules for finding in _findings(rule, places)]
    return sorted(found, key=lambda finding: (SEVERITIES.index(finding["severity"]), finding["first_seq"]))
