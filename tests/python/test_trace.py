# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces: events one by one and block by block, and what is known about them."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import command

import fencepost


def test_says_what_it_is(journal):
    with fencepost.Trace(journal) as trace:
        assert trace.event_count == len(trace) == 13
        assert trace.state == "complete"
        assert trace.outcome == "exit status 0"
        assert len(trace.digest) == 32
        assert trace.path == str(journal / "trace.db")
        assert repr(trace) == f"<fencepost.Trace {journal}/trace.db: 13 events, complete>"
        assert trace.meta()["tool_version"] == "0.1.0"
        assert fencepost.Trace(journal / "trace.db").digest == trace.digest


def test_events_one_by_one(journal):
    with fencepost.Trace(journal) as trace:
        events = list(trace)
        assert [event.seq for event in events] == list(range(13))
        assert [event.kind for event in events[:5]] == ["marker", "nt_store", "nt_store", "fence", "fence"]
        first = events[1]
        assert first == fencepost.Event(1, "nt_store", "movnt", 0, 2**32 + 0x1000, 64, b"\x5a" * 64, 2, 2, False)
        assert first.line == (2**32 + 0x1000) // 64
        assert events[5].value == (0x1000).to_bytes(8, "little")
        assert events[6].value == b"\7\0\0\0"
        assert events[7].value == b""
        assert events[11].vcpu == 1
        assert [event.seq for event in trace.events(kinds="flush")] == [7, 12]
        assert [event.seq for event in trace.events(kinds=["flush", "fence"], first_seq=4, last_seq=8)] == [4, 7, 8]
        assert [event.seq for event in trace.events(lines=[first.line], vcpus=[0])] == [1]
        assert [event.seq for event in trace.events(sites=[events[11].site])] == [11]


def test_wrong_filters(journal):
    with fencepost.Trace(journal) as trace:
        for name, wrong in (("first_seq", -1), ("last_seq", 1.5), ("lines", [-1]), ("sites", ["a"]), ("vcpus", [65536])):
            with pytest.raises(TypeError) as caught:
                trace.blocks(**{name: wrong})
            assert str(caught.value) == f"{name} cannot be {wrong!r}"
        assert sum(map(len, trace.blocks(first_seq=np.int64(3), lines=np.array([5])))) == 0


def test_kinds_and_subkinds_have_names():
    assert fencepost.KINDS == ("store", "nt_store", "flush", "fence", "marker", "load")
    assert fencepost.SUBKINDS["flush"] == ("clflush", "clflushopt", "clwb", "wbinvd", "wbnoinvd")
    assert set(fencepost.SUBKINDS) == set(fencepost.KINDS)


def test_blocks_are_the_same_events(long_run):
    with fencepost.Trace(long_run) as trace:
        blocks = list(trace.blocks())
        assert len(blocks) == 3 and sum(map(len, blocks)) == trace.event_count == 150_000
        seqs = np.concatenate([block.seq for block in blocks])
        assert (seqs == np.arange(150_000)).all()
        addresses = np.concatenate([block.events["address"] for block in blocks])
        stores = np.concatenate([block.events["kind"] for block in blocks]) == fencepost.KINDS.index("store")
        rows = trace.sql("SELECT seq, address FROM event WHERE kind = 'store' ORDER BY seq")
        assert (rows["seq"].to_numpy() == seqs[stores]).all()
        assert (rows["address"].to_numpy() == addresses[stores]).all()
        wide = next(trace.blocks())
        assert isinstance(wide, fencepost.Block)
        event = wide.events[1]
        assert event["size"] == 16
        at = int(event["value"])
        assert wide.wide_values[at:at + 16].tobytes() == b"\7" * 16
        assert wide.seq.dtype == wide.events["address"].dtype == np.int64  # sums stay integers


def test_blocks_that_match(long_run):
    with fencepost.Trace(long_run) as trace:
        flushes = np.concatenate([block.matching["address"] for block in trace.blocks(kinds="flush")])
        assert len(flushes) == 30_000
        assert (flushes == trace.sql("SELECT address FROM flush ORDER BY seq")["address"].to_numpy()).all()
        assert sum(len(block) for block in trace.blocks(vcpus=[1])) == 30_000
        without = next(trace.blocks(values=False))
        assert not without.events["value"].any() and len(without.wide_values) == 0
        (only,) = trace.blocks(first_seq=70_000, last_seq=70_001)
        assert only.seq.tolist() == [70_000, 70_001]
        assert [event.seq for event in only] == [70_000, 70_001]


def test_blocks_are_not_copied_and_stay(long_run):
    trace = fencepost.Trace(long_run)
    blocks = trace.blocks()
    first = next(blocks)
    assert not first.events.flags.owndata
    before = first.events.copy()
    second = next(blocks)
    assert not np.shares_memory(first.events, second.events)
    kept = first.events["address"][:10]
    del first, blocks
    trace.close()
    assert (kept == before["address"][:10]).all()
    assert second.events["kind"].max() < len(fencepost.KINDS)


def test_a_closed_trace_says_so(journal):
    trace = fencepost.Trace(journal)
    blocks, events, rows = trace.blocks(), trace.events(), trace.rows("SELECT seq FROM event")
    trace.close()
    trace.close()
    assert trace.closed and repr(trace).endswith(": closed>")
    for ask in (lambda: trace.event_count, lambda: trace.sql("SELECT 1"), lambda: next(blocks), lambda: next(events),
                lambda: next(rows), lambda: list(trace), trace.sites, trace.info, lambda: trace.blocks()):
        with pytest.raises(fencepost.UsageError, match="^the trace is closed$"):
            ask()


def test_wrong_arguments(journal):
    with fencepost.Trace(journal) as trace:
        with pytest.raises(fencepost.UsageError, match="there is no kind of event 'stores'"):
            trace.blocks(kinds="stores")
        for wrong in ({"first_seq": -1}, {"lines": [1.5]}, {"sites": ["a"]}, {"vcpus": [70_000]}, {"kinds": [3]}):
            with pytest.raises(TypeError):
                trace.blocks(**wrong)
        with pytest.raises(TypeError):
            fencepost.Trace(17)


def test_what_is_known_about_events(journal):
    with fencepost.Trace(journal) as trace:
        sites = trace.sites()
        assert sites.loc[2, "function"] == "jbd2_commit"
        assert sites.loc[2, "nt_stores"] == 2
        stacks = trace.stacks()
        assert stacks[["stack", "depth", "function"]].values.tolist()[-2:] == [[2, 0, "ext4_write"], [2, 1, "vfs_write"]]
        assert trace.stack(2) == ["ext4_write (fs/ext4/inode.c:210)", "vfs_write"]
        assert trace.stack(99) == []
        operations = trace.operations()
        assert operations["text"].tolist() == ["write /a", "increment"]
        assert operations["last_seq"].isna().tolist() == [False, True]
        epochs = trace.epochs()
        assert epochs["last_seq"].tolist() == [4, 8, 12]
        assert epochs["stores"].tolist() == [2, 2, 1]
        assert trace.regions().loc["pmem0", "base"] == 2**32
        assert trace.data_quality().loc["undecoded", "value"] == 2
        assert trace.system_calls().empty


def test_system_calls_have_names(make_run):
    run = make_run("syscall_enter 74 (3, 0, 0, 0, 0, 0, 1) in 0x8000\nfence sfence @f\nsyscall_exit 74 (1) = 0 in 0x8000\n")
    with fencepost.Trace(run) as trace:
        assert trace.system_calls()[["first_seq", "last_seq", "name", "result"]].values.tolist() == [[0, 2, "fsync", 0]]


def test_info_is_that_of_the_command(journal):
    with fencepost.Trace(journal) as trace:
        assert trace.info() == json.loads(command("info", journal, "--json").stdout)
        assert len(trace.info(top=1)["most_stores"]) == 1


def test_threads_share_a_trace(long_run):
    trace = fencepost.Trace(long_run)
    answers = []

    def ask():
        answers.append((trace.sql("SELECT count(*) AS n FROM event WHERE kind = 'store'")["n"][0],
                        sum(len(block) for block in trace.blocks(kinds="store"))))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(60_000, 60_000)] * 4


LEAKS = """
import gc, resource, sys
import fencepost

def once():
    with fencepost.Trace(sys.argv[1]) as trace:
        for block in trace.blocks():
            block.events["address"].sum()
        trace.rows("SELECT seq FROM event").__next__()
        list(trace.rows("SELECT kind, count(*) FROM event GROUP BY kind"))
        try:
            list(trace.rows("SELECT nope"))
        except fencepost.UsageError:
            pass

def memory():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

import os
for _ in range(100):
    once()
before, files = memory(), len(os.listdir("/proc/self/fd"))
for _ in range(1000):
    once()
grown = memory() - before
assert len(os.listdir("/proc/self/fd")) == files, "files stay open"
assert grown < 4 << 20, f"{grown} bytes more after 1,000 traces"
"""


def test_nothing_leaks(journal):
    subprocess.run([sys.executable, "-c", LEAKS, journal], check=True)
