# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures, exports and differences."""

import json
import sys

import matplotlib.pyplot
import numpy as np
import pytest

import fencepost
from fencepost import plots

matplotlib.use("Agg")

TEXT = """
op_begin 1 "write a"
store pmem0 8 = 1 @f ^main
store pmem0+64 16 = *2 @f
flush clwb pmem0 @g
fence sfence @g
store pmem0 8 = 3 @f
flush clwb pmem0 @g
flush clwb pmem0+64 @g
fence sfence @g
op_end 1 = 0
store pmem0+128 8 = 4 @lost
"""


@pytest.fixture
def trace(make_run):
    with fencepost.Trace(make_run(TEXT)) as opened:
        yield opened


def test_pictures_without_matplotlib_are_one_sentence(trace, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(fencepost.UsageError, match="which is not installed .Debian: python3-matplotlib."):
        plots.event_mix(trace)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def bars(axes):
    return [round(patch.get_height(), 1) for patch in axes.patches]


def test_event_mix(trace):
    axes = plots.event_mix(trace)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fence sfence", "flush clwb", "store"]
    assert [patch.get_width() for patch in axes.patches] == [2, 3, 4]


def test_distance(trace):
    assert bars(plots.distance(trace, most=3)) == [66.7, 33.3, 0]


def test_flush_locality(trace):
    # The first fence guarantees one line, the second two.
    assert bars(plots.flush_locality(trace, most=3)) == [50, 50, 0]


def test_in_flight(trace):
    at, lines = plots.in_flight_lines(trace)
    assert at.tolist() == [1, 2, 4, 5, 8, 10, 11]
    assert lines.tolist() == [1, 2, 1, 2, 0, 1, 0]
    assert plots.in_flight(trace).lines[0].get_ydata().max() == 2


def test_in_flight_is_that_of_every_event(long_run):
    """Against a loop over the fates."""
    with fencepost.Trace(long_run) as trace:
        at, lines = plots.in_flight_lines(trace)
        fates = list(trace.rows("SELECT line, seq, guaranteed_seq FROM store_fate WHERE seq < 5000"))
        for seq in range(0, 3000, 7):
            expected = len({line for line, first, last in fates if first <= seq and (last is None or seq < last)})
            assert lines[np.searchsorted(at, seq, side="right") - 1] == expected


def test_epoch(trace):
    axes = plots.epoch(trace, 1)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0x100000040", "0x100000000"]
    axes.figure.savefig("/dev/null", format="png")
    assert plots.epoch(trace, 0, ax=axes) is axes
    plots.epoch(trace, 2)  # its store is never guaranteed
    with pytest.raises(fencepost.UsageError, match="no epoch 99"):
        plots.epoch(trace, 99)


def test_a_picture_of_nothing(make_run):
    with fencepost.Trace(make_run("fence sfence\n")) as trace:
        for draw in (plots.event_mix, plots.distance, plots.flush_locality, plots.in_flight):
            draw(trace).figure.savefig("/dev/null", format="png")


def test_perfetto(trace, tmp_path):
    fencepost.to_perfetto(trace, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]
    assert slices == [("epoch 0", 0, 5), ("epoch 1", 5, 4), ("epoch 2", 9, 2), ("write a", 0, 10)]
    assert [event["ts"] for event in events if event["ph"] == "i" and event["name"] == "sfence"] == [4, 8]
    assert [event["args"]["lines"] for event in events if event["ph"] == "C"] == [1, 2, 1, 2, 0, 1, 0]


def test_diff(trace, make_run):
    with fencepost.Trace(make_run(TEXT, "again")) as again:
        none = fencepost.diff(trace, again)
        assert none.same and not none and none.first is None and none.sites.empty and none.operations.empty
    changed = TEXT.replace("flush clwb pmem0+64 @g", "flush clwb pmem0+64 @g\nflush clwb pmem0+64 @h")
    with fencepost.Trace(make_run(changed, "changed")) as other:
        found = fencepost.diff(trace, other)
        assert isinstance(found, fencepost.Difference) and found and found.first == 8
        assert found.sites[["function", "flushes_a", "flushes_b"]].values.tolist() == [["h", 0, 1]]
        assert found.operations[["text", "events_a", "events_b"]].values.tolist() == [["write a", 9, 10]]
    for change, first in (("16 = *2", 2), ("8 = 3", 5), ("8 = 4", 10)):
        text = TEXT.replace(change, change[:-1] + "9")
        with fencepost.Trace(make_run(text, f"change{first}")) as other:
            assert fencepost.diff(trace, other).first == first
    with fencepost.Trace(make_run(TEXT.replace("store pmem0+128 8 = 4 @lost\n", ""), "shorter")) as other:
        assert fencepost.diff(trace, other).first == 10
