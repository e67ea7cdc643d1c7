# SPDX-License-Identifier: GPL-2.0-or-later
"""SQL from Python: types of columns, rows while the query runs, what is refused, what stops it."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas
import pytest

import fencepost


@pytest.fixture
def trace(journal):
    with fencepost.Trace(journal) as opened:
        yield opened


def test_columns_have_types(trace):
    rows = trace.sql("SELECT seq, number, kind, value, 1.5 * seq AS half, NULL AS none, address FROM event "
                     "WHERE seq IN (1, 5, 7) ORDER BY seq")
    assert rows["seq"].dtype == np.int64
    assert str(rows["number"].dtype) == "Int64"
    assert rows["number"].isna().tolist() == [True, False, True]
    assert rows["number"][1] == 0x1000
    assert rows["kind"].tolist() == ["nt_store", "store", "flush"]
    assert rows["value"].tolist() == [b"\x5a" * 64, (0x1000).to_bytes(8, "little"), None]
    assert rows["half"].tolist() == [1.5, 7.5, 10.5]
    assert rows["none"].tolist() == [None] * 3
    assert rows["address"].tolist() == [2**32 + 0x1000, 2**32 + 0x8000, 2**32 + 0x8000]


def test_mixed_columns(trace):
    def column(*values):
        return trace.sql(" UNION ALL ".join(f"SELECT {value} AS x" for value in values))["x"]

    assert column("1", "2.5").tolist() == [1.0, 2.5]
    reals = column("1", "NULL", "2.5")
    assert reals.dtype == np.float64 and np.isnan(reals[1])
    assert column("2.5", "'a'").tolist() == [2.5, "a"]
    assert column("NULL", "'a'", "NULL", "'a'").tolist() == [None, "a", None, "a"]
    assert column("'a'", "1", "x'00ff'", "NULL").tolist() == ["a", 1, b"\x00\xff", None]
    assert column("1", "NULL", "'a'").tolist() == [1, None, "a"]
    assert column("NULL", "x'01'").tolist() == [None, b"\x01"]
    assert column("CAST(x'61ff' AS TEXT)").tolist() == ["a\\xff"]


def test_names_of_columns(trace):
    assert list(trace.sql("SELECT 1 AS a, 2 AS a, 3 AS b").columns) == ["a", "a:1", "b"]
    empty = trace.sql("SELECT seq, kind FROM event WHERE seq > 99")
    assert isinstance(empty, pandas.DataFrame) and list(empty.columns) == ["seq", "kind"] and len(empty) == 0


def test_rows_are_plain_python(trace):
    assert list(trace.rows("SELECT seq, kind, number FROM event WHERE seq IN (5, 7)")) == [(5, "store", 4096),
                                                                                       (7, "flush", None)]
    assert list(trace.rows("SELECT 1 WHERE 0")) == []
    numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    endless = trace.rows(numbers)
    assert [next(endless)[0] for _ in range(1000)] == list(range(1000))
    assert [row[0] for row in trace.rows(numbers + " LIMIT 1024")] == list(range(1024))
    # Others ask meanwhile.
    assert trace.sql("SELECT 7 AS x")["x"][0] == 7
    assert next(endless) == (1000,)


def test_store_fate_and_epochs(trace):
    rows = trace.sql("SELECT guaranteed_by, count(*) AS stores FROM store_fate GROUP BY 1 ORDER BY 1")
    assert rows.values.tolist() == [[None, 1], ["sfence", 4]]
    assert trace.sql("SELECT max(epoch) AS last FROM event")["last"][0] == 2


@pytest.mark.parametrize("query, said", [
    ("SELECT nope FROM event", "no such column: nope"),
    ("DELETE FROM site", "the query would do more than read this trace, which is refused"),
    ("SELECT 1; SELECT 2", "there is more than one statement"),
    ("", "the query is empty"),
    ("SELECT '\0'", "zero byte"),
])
def test_mistakes_are_told_in_the_words_of_the_command(trace, query, said):
    for ask in (trace.sql, lambda text: list(trace.rows(text))):
        with pytest.raises(fencepost.UsageError, match=said) as raised:
            ask(query)
        assert raised.value.exit_code == 2
    assert trace.sql("SELECT 1 AS x")["x"][0] == 1  # and it goes on


def test_wrong_types(trace):
    for wrong in (None, 7, b"SELECT 1"):
        with pytest.raises(TypeError):
            trace.sql(wrong)


SILENT = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"


def test_other_threads_go_on(trace):
    """A query that holds the GIL would never let this thread stop it."""
    stopped = []

    def ask():
        try:
            trace.sql(SILENT)
        except KeyboardInterrupt:
            stopped.append(True)

    thread = threading.Thread(target=ask)
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        thread.start()
        while thread.is_alive():
            os.kill(os.getpid(), signal.SIGINT)
            thread.join(0.1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped == [True] and heard


CTRL_C = f"""
import signal, sys, fencepost
trace = fencepost.Trace(sys.argv[1])
try:
    print("ready", flush=True)
    trace.sql({SILENT!r})
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert trace.sql("SELECT 5 AS x")["x"][0] == 5
    print("stopped")
"""


def computed(child):
    """Seconds of the processor."""
    return int(pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")")[-1].split()[11]) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_stops_a_query(journal):
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, journal], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    # Whatever it computes after that is the query.
    before = computed(child)
    while computed(child) < before + 0.5:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "stopped\n"
    assert child.wait() == 0


def test_time_and_thread_that_nobody_told(journal):
    """Of recordings: tests/guest/time_test."""
    with fencepost.Trace(journal) as trace:
        assert list(trace.rows("SELECT count(*), count(time), count(thread) FROM event")) == [(13, 0, 0)]
        assert trace.sql("SELECT time, thread FROM event")["time"].isna().all()


BESIDE = f"""
import os, sys, threading, time, fencepost
trace = fencepost.Trace(sys.argv[1])
asking = threading.Thread(target=lambda: trace.sql({SILENT!r}), daemon=True)
asking.start()
clock = time.pthread_getcpuclockid(asking.ident)
while time.clock_gettime(clock) < 0.2:
    time.sleep(0.01)
print(trace.event_count, trace.closed, repr(trace), sum(map(len, trace.blocks())), list(trace.rows("SELECT 7")))
sys.stdout.flush()
os._exit(0 if asking.is_alive() else 1)
"""


def test_beside_a_query(journal):
    """What is known since the trace was opened, and what has a connection of its own, waits for no query."""
    said = subprocess.run([sys.executable, "-c", BESIDE, journal], capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == f"13 False <fencepost.Trace {journal}/trace.db: 13 events, complete> 13 [(7,)]\n"
