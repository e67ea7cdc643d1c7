# SPDX-License-Identifier: GPL-2.0-or-later
"""Crash states as objects, and strategies of one's own: without guests."""

import itertools
import json
import random
import signal
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from conftest import command

import fencepost

# A line with two stores, a line with one, and a line of two non-temporal units; then a fence.
TEXT = """
function append module=ext4
store pmem0 8 = 1 @append:1 ^main
store pmem0+8 8 = 2 @append:2 ^main
store pmem0+64 8 = 3 @log:3 ^main
nt_store pmem0+128 8 = 4 @copy:4 ^main
nt_store pmem0+136 8 = 5 @copy:5 ^main
flush clwb pmem0 @append:6 ^main
flush clwb pmem0+64 @log:7 ^main
fence sfence @append:8 ^main
store pmem0 8 = 6 @append:9 ^main
"""
COPY = "\n".join(f"nt_store pmem0+{at} 8 = 7 @copy:1 ^main" for at in range(0, 64 * 32, 8)) + "\n"


@pytest.fixture
def run(make_run):
    return fencepost.Run(make_run(TEXT))


def listed(folder, *arguments):
    """As the command lists them."""
    said = command("states", folder, "--list", "--json", *arguments)
    return json.loads(said.stdout)


def test_states_are_those_of_the_command(run):
    states = run.states("none-all,subsets:1", window="seq:1-7")
    rows = listed(run.path, "--strategy", "none-all,subsets:1", "--window", "seq:1-7")
    assert [state.id for state in states] == [row["id"] for row in rows["states"]]
    assert [state.identity for state in states] == [row["identity"] for row in rows["states"]]
    summary = {key: value for key, value in rows.items() if key != "states"}
    assert states.summary == summary and states.legal == summary["legal"]["exact"] == 3 * 2 * 2 * 2
    assert len(states) == len(list(states)) == summary["generated"]
    assert [epoch["legal"]["exact"] for epoch in states.epochs] == [24]
    assert repr(states) == f"<fencepost.States {len(states)} by none-all,subsets:1, {summary['images']} images, of 24 legal states>"
    frame = states.frame()
    assert list(frame["id"]) == [state.id for state in states] and frame["is_new"].sum() == summary["images"]
    assert states[1:3] == [states[1], states[2]]
    assert isinstance(states, fencepost.States) and isinstance(states[0], fencepost.State)


def test_count_limit_and_after(run):
    assert len(run.states("count")) == 0 and run.states("count").summary["legal"]["exact"] == 26
    some = run.states("exhaustive", limit=5)
    rest = run.states("exhaustive", after=some[-1].id)
    assert len(some) == 5
    assert [state.id for state in [*some, *rest]] == [state.id for state in run.states("exhaustive")]
    for wrong in ({"limit": 0}, {"strategy": "guess"}, {"window": "moon:1"}, {"after": "x"}, {"model": "line2"}):
        with pytest.raises(fencepost.UsageError):
            run.states(**wrong)


def test_one_state(run):
    (state,) = run.states(lambda point: [[point.items[0]]], window="seq:1-7")
    again = run.state(state.id)
    assert (again.id, again.seq, again.epoch, again.identity) == (state.id, 7, 0, state.identity)
    shown = json.loads(command("states", run.path, "--show", state.id, "--json").stdout)
    assert state.contents() == shown
    assert [piece["persisted"] for piece in shown["items"][0]["lines"][0]["pieces"]] == [True, True]
    with pytest.raises(fencepost.UsageError):
        run.state("nonsense")
    with pytest.raises(fencepost.TraceError):
        run.state("00000000-aea-1-n")


def test_images(run, tmp_path):
    (state,) = run.states(lambda point: [{0: 1}], window="seq:1-7")
    lines = state.lines()
    assert lines["line"].tolist() == [run.trace.sql("SELECT line FROM store LIMIT 1")["line"][0]]
    assert not lines["before"].any() and lines["after"][0, :8].view("u8")[0] == 1 and not lines["after"][0, 8:].any()
    image = state.image()
    assert image[:8] == (1).to_bytes(8, "little") and not any(image[8:])
    assert image == state.image("pmem0")
    with pytest.raises(fencepost.UsageError, match="pmem0"):
        state.image("pmem7")
    file = tmp_path / "image"
    assert state.export(file) == [str(file)] and file.read_bytes() == image
    with pytest.raises(fencepost.UsageError, match="is there already; force=True replaces it"):
        state.export(file)
    with pytest.raises(fencepost.UsageError, match="^limit=0 would test nothing"):
        run.test(limit=0)
    assert state.export(file, force=True) == [str(file)]
    delta = tmp_path / "a.delta"
    state.export(delta)
    assert delta.read_bytes() == state.delta()


def test_what_a_strategy_is_given(run):
    seen = []

    def look(point):
        assert isinstance(point, fencepost.CrashPoint) and isinstance(point.items[0], fencepost.Item)
        assert isinstance(point.items[0].first, fencepost.Piece)
        seen.append((point.seq, point.epoch, point.since, point.ends_epoch))
        for item in point.items:
            seen.append((item.number, item.kind, item.levels, item.last_level, item.seq, item.function, len(item.lines),
                         [(piece.seq, piece.size, piece.value, piece.kind, piece.function) for piece in item.pieces]))
            assert item.first == item.pieces[0] and item.last == item.pieces[-1] and item.first.line in item.lines
            assert item.first.vcpu == 0 and item.first.site and item.first.stack and item.first.address // 64 in item.lines

    assert len(run.states(look)) == 0
    assert seen == [
        (7, 0, 0, True),
        (0, "line", 3, 2, 0, "append", 1, [(0, 8, 1, "store", "append"), (1, 8, 2, "store", "append")]),
        (1, "line", 2, 1, 2, "log", 1, [(2, 8, 3, "store", "log")]),
        (2, "unit", 2, 1, 3, "copy", 1, [(3, 8, 4, "nt_store", "copy")]),
        (3, "unit", 2, 1, 4, "copy", 1, [(4, 8, 5, "nt_store", "copy")]),
        (9, 1, 7, True),
        (0, "line", 2, 1, 8, "append", 1, [(8, 8, 6, "store", "append")]),
    ]


def test_choices(run):
    def choose(point):
        yield point.none()
        yield point.all()
        yield point.only(1, point.items[2])
        yield point.all_but(point.items[0])
        yield [3]
        yield {point.items[0]: 1}
        yield fencepost.Choice({0: 1}, "all")
        yield {}  # as none(): offered once

    ids = [state.id for state in run.states(choose, window="seq:1-7")]
    assert [state.split("-", 3)[3] for state in ids] == ["n", "a", "n+1.1+2.1", "a+0.0", "n+3.1", "n+0.1", "a+0.1"]
    # The command makes the same states by their ids.
    for state in run.states(choose, window="seq:1-7"):
        assert json.loads(command("states", run.path, "--show", state.id, "--json").stdout)["identity"] == state.identity


def test_lists_of_strategies(run):
    def mine(point):
        return [point.only(0)]

    states = run.states(["none-all", mine])
    assert states.summary["strategy"] == "none-all,python:mine"
    assert [state.id.split("-", 3)[3] for state in states] == ["n", "a", "n+0.2", "n", "a"]  # the last one is "a" already


def test_runs_can_be_torn(make_run):
    run = fencepost.Run(make_run(COPY))

    def tear(point):
        (item,) = point.items
        assert item.kind == "run" and len(item.lines) == 32
        yield {item: item.cut(3)}
        yield {item: item.cut(3, 2)}
        yield {item: item.cut(3, 2, behind=True)}

    first, second, third = (state.lines() for state in run.states(tear))
    assert len(first) == 3 and len(second) == 4 and len(third) == 29
    assert np.count_nonzero(second["after"][3]) == 2 and np.count_nonzero(third["after"][0]) == 6
    with pytest.raises(fencepost.UsageError, match="cannot be cut"):
        run.states(lambda point: [{0: point.items[0].cut(99)}])


ILLEGAL = [
    (lambda point: [{0: 3}], fencepost.UsageError, "item 0 before event 7 has no level 3: it has 0 to 2"),
    (lambda point: [{9: 1}], fencepost.UsageError, "there is no item 9 before event 7: there are 4"),
    (lambda point: [[9]], fencepost.UsageError, "there is no item 9"),
    (lambda point: [[-1]], TypeError, "-1 is no item"),
    (lambda point: [{0: "all"}], TypeError, "'all' is no level"),
    (lambda point: ["all"], TypeError, "'all' is no choice"),
    (lambda point: [7], TypeError, "7 is no choice"),
    (lambda point: 7, TypeError, "yields choices, or gives a list of them: not 7"),
    (lambda point: [fencepost.Choice({}, "some")], fencepost.UsageError, "none or all, not 'some'"),
]


@pytest.mark.parametrize("strategy, kind, said", ILLEGAL)
def test_illegal_choices(run, strategy, kind, said):
    with pytest.raises(kind) as caught:
        run.states(strategy)
    assert said in str(caught.value)


def frames(caught):
    return [(frame.name, frame.line) for frame in traceback.extract_tb(caught.tb)]


def test_a_strategys_mistake_has_its_place(run):
    def wrong(point):
        yield point.none()
        yield {0: 77}  # here

    with pytest.raises(fencepost.UsageError, match="no level 77") as caught:
        run.states(wrong)
    assert ("wrong", "yield {0: 77}  # here") in frames(caught)


def test_an_exception_in_a_strategy_comes_out(run):
    def broken(point):
        yield point.none()
        raise LookupError("my own mistake")

    with pytest.raises(LookupError, match="my own mistake") as caught:
        run.states(broken)
    assert ("broken", 'raise LookupError("my own mistake")') in frames(caught)
    assert len(run.states("none-all")) > 0  # nothing stays of it
    with pytest.raises(TypeError, match="strategies are names and functions, and .* neither"):
        run.states(7)
    with pytest.raises(TypeError, match="neither"):
        run.states(["none-all", 7])


def test_items_are_there_only_while_the_strategy_runs(run):
    kept = []

    def keep(point):
        kept.append(point)
        kept.append(point.items[0])

    run.states(keep)
    point, item = kept[:2]
    assert item.levels == 3 and point.seq == 7  # what was asked for stays
    with pytest.raises(fencepost.UsageError, match="only while its strategy runs"):
        item.pieces
    with pytest.raises(fencepost.UsageError, match="only while its strategy runs"):
        kept[-1].cut(1)


def test_a_limit_ends_a_strategy(run):
    ended = []

    def endless(point):
        try:
            while True:
                for item in point.items:
                    yield [item]
        finally:
            ended.append(point.seq)

    assert len(run.states(endless, limit=3)) == 3
    assert ended == [7]


def test_a_strategy_that_repeats_itself_is_ended(run):
    draw = random.Random(1)
    drawn = []
    closed = []

    def endless(point):
        try:
            while True:
                drawn.append(point.seq)
                assert len(drawn) < 10_000, "nobody ends it"
                yield [item for item in point.items if draw.random() < 0.5]
        finally:
            closed.append(point.seq)

    def each(point):
        for chosen in itertools.product((False, True), repeat=len(point.items)):
            yield itertools.compress(point.items, chosen)

    ids = [state.id for state in run.states(endless)]
    assert set(ids) == {state.id for state in run.states(each)} and len(set(ids)) == 18
    assert closed == sorted(set(drawn)) and all(drawn.count(seq) > 1000 for seq in closed)


def test_many_repeats_are_not_the_end(run):
    """Where something new comes in between."""
    def patient(point):
        for chosen in (point.none(), point.all(), point.only(0)):
            yield from [chosen] * 1000

    assert run.states(patient, window="seq:1-7")[-1].id.endswith("-n+0.2")


def test_other_threads_go_on_meanwhile(run):
    """Two walks at once, each with a strategy that waits for the other."""
    barrier = threading.Barrier(2, timeout=30)
    found = {}

    def wait(point):
        barrier.wait()
        yield point.all()

    def walk(number):
        found[number] = len(run.states(wait))

    threads = [threading.Thread(target=walk, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: 2, 1: 2}


CTRL_C = """
import signal, sys, threading, fencepost
def endless(point):
    print("begun", flush=True)
    while True:
        pass
done = threading.Event()
def work():
    try:
        fencepost.Run(sys.argv[1]).states(endless)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    done.set()
if sys.argv[2] == "main":
    work()
else:
    threading.Thread(target=work).start()
while not done.is_set():
    try:
        done.wait()
    except KeyboardInterrupt:
        pass
"""


@pytest.mark.parametrize("thread", ["main", "other"])  # in others Python raises nothing by itself
def test_ctrl_c_ends_a_strategy(run, thread):
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, run.path, thread], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "stopped\n"
    assert child.wait(timeout=60) == 0
