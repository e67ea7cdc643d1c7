# SPDX-License-Identifier: GPL-2.0-or-later
"""Events and answers as Arrow's C data interface gives them to other libraries."""

import gc
import importlib
import subprocess
import sys

import arrow_reader
import pytest

import fencepost

EVENT_FIELDS = [("seq", "l", None), ("kind", "c", "u"), ("subkind", "c", "u"), ("vcpu", "S", None),
                ("address", "l", None), ("size", "C", None), ("value", "z", None), ("site", "I", None),
                ("stack", "I", None), ("atomic", "b", None)]
EVENT_SQL = "SELECT seq, kind, subkind, vcpu, address, size, value, site, stack, atomic FROM event"


def rows_of(batches):
    return [row for batch in batches for row in zip(*batch.values())]


def test_events(journal):
    with fencepost.Trace(journal) as trace:
        fields, batches = arrow_reader.read_stream(trace.blocks().__arrow_c_stream__())
        assert fields == EVENT_FIELDS
        assert rows_of(batches) == list(trace.rows(EVENT_SQL))
        (block,) = trace.blocks()
        assert arrow_reader.read_array(block.__arrow_c_array__()) == batches[0]


@pytest.mark.parametrize("children_first", [False, True])
def test_events_block_by_block(long_run, children_first):
    with fencepost.Trace(long_run) as trace:
        blocks = trace.blocks(kinds=["nt_store", "fence"])
        assert isinstance(blocks, fencepost.Blocks)
        first = next(blocks)
        fields, batches = arrow_reader.read_stream(blocks.__arrow_c_stream__(), children_first)
        assert fields == EVENT_FIELDS and len(batches) == 2
        batches.insert(0, arrow_reader.read_array(first.__arrow_c_array__()))
        assert rows_of(batches) == list(trace.rows(f"{EVENT_SQL} WHERE kind IN ('nt_store', 'fence')"))
        assert next(blocks, None) is None
        assert arrow_reader.read_stream(blocks.__arrow_c_stream__())[1] == []
        without, _ = arrow_reader.read_stream(trace.blocks(values=False).__arrow_c_stream__())
        assert without == [field for field in EVENT_FIELDS if field[0] != "value"]


QUERY = """
WITH t (i, r, t, b, n) AS (VALUES (1, 0.5, 'a', x'00ff', NULL), (NULL, 2, NULL, NULL, NULL), (-1, NULL, 'é', x'', NULL),
                                  (9223372036854775807, 1e300, 'a', x'01', NULL))
SELECT *, i AS i, CAST(x'61ff' AS TEXT) AS broken FROM t
"""


def test_answers(journal):
    with fencepost.Trace(journal) as trace:
        answer = trace.arrow(QUERY)
        assert answer.names == ["i", "r", "t", "b", "n", "i:1", "broken"] and len(answer) == 4
        expected = [(1, 0.5, "a", b"\0\xff", None, 1, "a\\xff"), (None, 2.0, None, None, None, None, "a\\xff"),
                    (-1, None, "é", b"", None, -1, "a\\xff"), (2**63 - 1, 1e300, "a", b"\1", None, 2**63 - 1, "a\\xff")]
        fields = [("i", "l", None), ("r", "g", None), ("t", "i", "u"), ("b", "Z", None), ("n", "n", None),
                  ("i:1", "l", None), ("broken", "i", "u")]
        for _ in range(2):  # an answer may be read any number of times
            assert arrow_reader.read_schema(answer.__arrow_c_schema__()) == fields
            streamed = arrow_reader.read_stream(answer.__arrow_c_stream__())
            assert streamed[0] == fields and rows_of(streamed[1]) == expected
            assert rows_of([arrow_reader.read_array(answer.__arrow_c_array__())]) == expected
        empty = trace.arrow("SELECT seq, kind FROM event WHERE seq > 99")
        assert len(empty) == 0
        assert arrow_reader.read_stream(empty.__arrow_c_stream__())[1] == [{"seq": [], "kind": []}]


def test_the_same_as_sql(long_run):
    query = "SELECT seq, kind, address, value, function FROM event LEFT JOIN site_name USING (site)"
    with fencepost.Trace(long_run) as trace:
        _, batches = arrow_reader.read_stream(trace.arrow(query).__arrow_c_stream__())
        assert rows_of(batches) == list(trace.rows(query))


def test_it_outlives_the_trace(long_run):
    trace = fencepost.Trace(long_run)
    expected = list(trace.rows("SELECT seq, kind FROM event"))
    answer = trace.arrow("SELECT seq, kind FROM event")
    capsule, block = answer.__arrow_c_stream__(), next(trace.blocks()).__arrow_c_array__()
    stream = trace.blocks().__arrow_c_stream__()
    trace.close()
    del answer, trace
    gc.collect()
    assert rows_of(arrow_reader.read_stream(capsule)[1]) == expected
    assert len(arrow_reader.read_array(block)["seq"]) == 65_536
    with pytest.raises(OSError, match=r"Errno 22. the trace is closed"):  # what was not read yet
        arrow_reader.read_stream(stream)


def test_mistakes_are_sentences(journal):
    with fencepost.Trace(journal) as trace:
        with pytest.raises(fencepost.UsageError, match="^column x: its values have several types.*CAST"):
            trace.arrow("SELECT seq, CASE seq WHEN 3 THEN 'three' ELSE seq END AS x FROM event")
        with pytest.raises(fencepost.UsageError, match="no such column: nope"):
            trace.arrow("SELECT nope")
        with pytest.raises(TypeError, match="a query is a str"):
            trace.arrow(3)
        (block,) = trace.blocks()
        changed = block.events.copy()
        changed["subkind"] = 99
        with pytest.raises(ValueError, match="are no events any more"):
            fencepost.Block(0, changed, None, block.wide_values).__arrow_c_array__()
        index = block.events["address"][:1].astype("u4") * 0 + 999
        with pytest.raises(ValueError, match="are no events any more"):
            fencepost.Block(0, block.events, index, block.wide_values).__arrow_c_array__()
        with pytest.raises(TypeError, match="this is no array of a block"):
            fencepost.Block(0, block.events["address"], None, block.wide_values).__arrow_c_array__()
        changed = block.events.copy()
        changed["value"] = 2**63  # of a wide store: where its bytes begin
        read = arrow_reader.read_array(fencepost.Block(0, changed, None, block.wide_values).__arrow_c_array__())
        assert read["value"][1] == b""
    with pytest.raises(fencepost.UsageError, match="^the trace is closed$"):
        trace.arrow("SELECT 1")


LEAKS = """
import gc, resource, sys
sys.path.insert(0, sys.argv[2])
import arrow_reader, fencepost

def once(trace):
    trace.blocks().__arrow_c_stream__()                                     # nobody reads it
    stream = trace.blocks().__arrow_c_stream__()
    arrow_reader.read_stream(stream, children_first=True)
    answer = trace.arrow("SELECT seq, kind, value FROM event")
    answer.__arrow_c_array__()
    arrow_reader.read_array(answer.__arrow_c_array__())
    next(trace.blocks()).__arrow_c_array__()

def memory():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

with fencepost.Trace(sys.argv[1]) as trace:
    for _ in range(100):
        once(trace)
    before = memory()
    for _ in range(1000):
        once(trace)
    grown = memory() - before
assert grown < 2 << 20, f"{grown} bytes more after 1,000 streams"
"""


def test_nothing_leaks(journal):
    subprocess.run([sys.executable, "-c", LEAKS, journal, sys.path[0]], check=True)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_libraries(journal, library):
    try:
        module = importlib.import_module(library)
    except ImportError:
        pytest.skip(f"{library} is not installed (Debian has none)")
    make = module.table if library == "pyarrow" else module.DataFrame
    with fencepost.Trace(journal) as trace:
        events = make(trace.blocks())
        read = events.to_pylist() if library == "pyarrow" else events.to_dicts()
        names = [name for name, *_ in EVENT_FIELDS]
        assert read == [dict(zip(names, row)) for row in trace.rows(EVENT_SQL)]
        assert len(make(trace.arrow(QUERY))) == 4
