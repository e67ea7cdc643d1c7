# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the user's own."""

import traceback

import findings_schema
import numpy as np
import pytest

import fencepost


class Unflushed(fencepost.Rule):
    """Stores to a line that no flush follows: as an example of `event` and `finish`."""

    name = "own-unflushed"
    summary = "a store that no flush of its line follows"
    fix = "a flush"
    kinds = ("store", "flush")

    def start(self, trace):
        self.stores = {}

    def event(self, event):
        if event.kind == "store":
            self.stores.setdefault(event.line, event.seq)
        else:
            self.stores.pop(event.line, None)

    def finish(self):
        for seq in self.stores.values():
            self.report(seq)


class Repeated(fencepost.Rule):
    """Stores of the same size in a row: as an example of `block`."""

    name = "own-wide"
    severity = "performance"
    summary = "a wide store"
    kinds = ("store", "nt_store")

    def block(self, block):
        for seq in block.seq[block.matching["size"] >= 64]:
            self.report(seq, "64 bytes at once", other=0, role="first event")


def test_findings(journal):
    with fencepost.Trace(journal) as trace:
        found = fencepost.apply([Repeated(), Unflushed()], trace)
    assert [finding["severity"] for finding in found] == ["performance"]
    (wide,) = found
    assert wide["count"] == 2 and wide["first_seq"] == 1 and wide["last_seq"] == 2
    assert wide["title"] == "64 bytes at once" and wide["places"][1]["role"] == "first event"
    place = wide["places"][0]
    assert (place["site"]["function"], place["site"]["source_line"]) == ("jbd2_commit", 120)
    assert [caller["function"] for caller in place["stack"]] == ["ext4_write", "vfs_write"]
    assert wide["lines"] == [(2**32 + 0x1000) // 64, (2**32 + 0x1040) // 64]


def test_findings_fit_the_schema(make_run):
    run = make_run("store pmem0 8 = 1 @append:12 ^main\nstore pmem0+64 8 = 1 @append:12\nstore pmem0+128 8 = 1\n"
                   "flush clwb pmem0 @f\n")
    with fencepost.Trace(run) as trace:
        found = fencepost.apply([Unflushed()], trace)
    assert [(finding["rule"], finding["first_seq"], finding["fix"]) for finding in found] == [
        ("own-unflushed", 1, "a flush"), ("own-unflushed", 2, "a flush")]
    assert [mistake for finding in found for mistake in findings_schema.mistakes("finding", finding)] == []
    assert len({finding["id"] for finding in found}) == 2
    # The same in the next recording.
    other = make_run("store pmem0 8 = 1 @g\nflush clwb pmem0\nstore pmem0+64 8 = 1 @append:12\n", "other")
    with fencepost.Trace(other) as trace:
        assert fencepost.apply([Unflushed()], trace)[0]["id"] == found[0]["id"]


def test_many_lines(make_run):
    run = make_run("".join(f"store pmem0+{64 * n} 8 = 1 @append\n" for n in range(20)))
    with fencepost.Trace(run) as trace:
        (finding,) = fencepost.apply([Unflushed()], trace)
    assert finding["count"] == 20 and len(finding["lines"]) == 8 and finding["more_lines"]


def test_every_rule_sees_its_kinds(long_run):
    class Counter(fencepost.Rule):
        name = summary = "counter"

        def __init__(self, *kinds):
            super().__init__()
            self.kinds = kinds or fencepost.KINDS
            self.seen = 0
            self.seqs = []

        def block(self, block):
            self.seen += len(block)
            self.seqs.append(block.seq)

    with fencepost.Trace(long_run) as trace:
        rules = [Counter("flush"), Counter("fence", "flush"), Counter(), Counter("load")]
        assert fencepost.apply(rules, trace) == []
    assert [rule.seen for rule in rules] == [30_000, 60_000, 150_000, 0]
    assert (np.concatenate(rules[0].seqs) == np.arange(3, 150_000, 5)).all()


def test_a_rule_is_applied_again(journal):
    rule = Repeated()
    with fencepost.Trace(journal) as trace:
        first = fencepost.apply([rule], trace)
        assert first[0]["count"] == 2 and fencepost.apply([rule], trace) == first


def test_many_reports_are_looked_up_together(long_run, monkeypatch):
    class Odd(fencepost.Rule):
        name = summary = "odd"

        def finish(self):
            for seq in range(1, 25_001):
                self.report(seq, other=seq + 50_000)

    queries = []
    rows = fencepost.Trace.rows
    monkeypatch.setattr(fencepost.Trace, "rows", lambda self, query: queries.append(query) or rows(self, query))
    with fencepost.Trace(long_run) as trace:
        found = fencepost.apply([Odd()], trace)
    assert [finding["count"] for finding in found] == [5_000] * 5 and found[1]["first_seq"] == 2
    assert found[0]["places"][1]["seq"] == found[0]["first_seq"] + 50_000
    assert len(queries) < 20


def test_one_kind_as_text(journal):
    """As Trace.blocks takes it."""
    class Stores(Unflushed):
        name = "stores"
        kinds = "store"

    with fencepost.Trace(journal) as trace:
        found = fencepost.apply([Stores()], trace)
        assert sum(finding["count"] for finding in found) == len({event.line for event in trace.events(kinds="store")})


def test_mistakes_in_a_rule_come_back_as_they_are(journal):
    class Broken(fencepost.Rule):
        name = summary = "broken"

        def event(self, event):
            self.nothing[event.seq]

    with fencepost.Trace(journal) as trace:
        with pytest.raises(AttributeError) as raised:
            fencepost.apply([Broken()], trace)
        assert "self.nothing[event.seq]" in "".join(traceback.format_exception(raised.value))
        assert trace.sql("SELECT 1 AS x")["x"][0] == 1


def test_wrong_rules(journal):
    class Nameless(fencepost.Rule):
        pass

    class Odd(fencepost.Rule):
        name = summary = "odd"
        severity = "terrible"

    class Blind(fencepost.Rule):
        name = summary = "blind"
        kinds = ("stores",)

    class Forgets(fencepost.Rule):
        name = summary = "forgets"

        def __init__(self):
            pass

    class Invents(fencepost.Rule):
        name = summary = "invents"

        def finish(self):
            self.report(10_000)

    with fencepost.Trace(journal) as trace:
        for rule, said in ((Nameless(), "needs a name"), (Odd(), "no severity 'terrible'"),
                           (Blind(), "no kind of event 'stores'"), (Forgets(), "super"), (Invents(), "no event 10000")):
            with pytest.raises(fencepost.UsageError, match=said):
                fencepost.apply([rule], trace)
        with pytest.raises(TypeError):
            fencepost.apply([Unflushed], trace)
