# SPDX-License-Identifier: GPL-2.0-or-later
"""Parquet files of events and answers."""

import os

import parquet_reader
import pytest

import fencepost
from fencepost import parquet

EVENT_SQL = "SELECT seq, kind, subkind, vcpu, address, size, value, site, stack, atomic FROM event"
EVENT_FIELDS = [("seq", "int64", False), ("kind", "byte_array", True), ("subkind", "byte_array", True),
                ("vcpu", "int32", False), ("address", "int64", False), ("size", "int32", False),
                ("value", "byte_array", False), ("site", "int64", False), ("stack", "int64", False),
                ("atomic", "boolean", False)]


@pytest.mark.parametrize("made", ["journal", "long_run"])
def test_events(made, request, tmp_path):
    with fencepost.Trace(request.getfixturevalue(made)) as trace:
        fencepost.to_parquet(trace, tmp_path / "events.parquet")
        fields, rows, groups = parquet_reader.read(tmp_path / "events.parquet")
        assert fields == EVENT_FIELDS
        assert rows == list(trace.rows(EVENT_SQL))
        assert groups == [len(block) for block in trace.blocks()]
        assert os.listdir(tmp_path) == ["events.parquet"]


def test_a_trace_without_events(make_run, tmp_path):
    with fencepost.Trace(make_run("")) as trace:
        fencepost.to_parquet(trace, tmp_path / "events.parquet")
    assert parquet_reader.read(tmp_path / "events.parquet") == (EVENT_FIELDS, [], [])


QUERY = """
WITH t (i, r, t, b, n) AS (VALUES (1, 0.5, 'a', x'00ff', NULL), (NULL, 2, NULL, NULL, NULL), (-1, NULL, 'é', x'', NULL),
                                  (9223372036854775807, 1e300, 'a', x'01', NULL))
SELECT * FROM t
"""


@pytest.mark.parametrize("group", [2, 3, 100])
def test_answers(journal, tmp_path, monkeypatch, group):
    monkeypatch.setattr(parquet, "ROWS", group)
    with fencepost.Trace(journal) as trace:
        fencepost.to_parquet(trace, tmp_path / "answer.parquet", QUERY)
        fields, rows, groups = parquet_reader.read(tmp_path / "answer.parquet")
        assert fields == [("i", "int64", False), ("r", "double", False), ("t", "byte_array", True),
                          ("b", "byte_array", False), ("n", "byte_array", True)]
        assert rows == list(trace.rows(QUERY))
        assert groups == {2: [2, 2], 3: [3, 1], 100: [4]}[group]


def test_many_texts(long_run, tmp_path):
    """Numbers of texts of one, two and four bytes."""
    for count in (256, 257, 65_536, 65_537):
        query = f"SELECT 'at ' || seq AS name, seq FROM event WHERE seq < {count}"
        with fencepost.Trace(long_run) as trace:
            fencepost.to_parquet(trace, tmp_path / "answer.parquet", query)
            assert parquet_reader.read(tmp_path / "answer.parquet")[1] == list(trace.rows(query))


def test_mistakes_leave_no_file(journal, tmp_path):
    (tmp_path / "answer.parquet").write_text("was there")
    with fencepost.Trace(journal) as trace:
        for query, said in (("SELECT CASE seq WHEN 3 THEN 'x' ELSE seq END AS x FROM event", "^column x: .*CAST them"),
                            ("SELECT nope", "no such column")):
            with pytest.raises(fencepost.UsageError, match=said):
                fencepost.to_parquet(trace, tmp_path / "answer.parquet", query)
        with pytest.raises(fencepost.MachineError, match="No such file"):
            fencepost.to_parquet(trace, tmp_path / "nowhere" / "events.parquet")
    with pytest.raises(fencepost.UsageError, match="^the trace is closed$"):
        fencepost.to_parquet(trace, tmp_path / "answer.parquet")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["was there"]


@pytest.mark.parametrize("write", [fencepost.to_parquet, fencepost.to_perfetto])
def test_files_are_whole_or_not_there(journal, tmp_path, monkeypatch, write):
    file = tmp_path / "file"
    file.write_text("old")
    with fencepost.Trace(journal) as trace:
        with pytest.raises(fencepost.MachineError, match="/nope/x: No such file or directory"):
            write(trace, "/nope/x")
        with pytest.raises(fencepost.MachineError, match="Is a directory"):
            write(trace, tmp_path)
        for name in ("blocks", "rows"):
            monkeypatch.setattr(fencepost.Trace, name, lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(trace, file)
    assert os.listdir(tmp_path) == ["file"] and file.read_text() == "old"
    assert not os.path.exists(f"{tmp_path}.unfinished")


def test_a_run_is_as_good_as_its_trace(journal, tmp_path):
    class Wide(fencepost.Rule):
        name = summary = "wide"

        def event(self, event):
            if event.size > 8:
                self.report(event.seq)

    with fencepost.Run(journal) as run:
        assert fencepost.apply([Wide()], run) == fencepost.apply([Wide()], run.trace) != []
        assert fencepost.diff(run, run.trace).same
        for write in (fencepost.to_parquet, fencepost.to_perfetto):
            write(run, tmp_path / "run")
            write(run.trace, tmp_path / "trace")
            assert (tmp_path / "run").read_bytes() == (tmp_path / "trace").read_bytes()
        for call in (lambda: fencepost.apply([Wide()], "run"), lambda: fencepost.diff(run, 7),
                     lambda: fencepost.to_parquet("run", tmp_path / "x"), lambda: fencepost.to_perfetto(7, tmp_path / "x")):
            with pytest.raises(TypeError, match="a trace is wanted, or a run: not"):
                call()
