# SPDX-License-Identifier: GPL-2.0-or-later
"""Oracles of one's own: what they are given, what becomes of what they say, and of their mistakes."""

import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import traceback

import pytest

import fencepost

SPEC = {
    "pm": {"size": "64M"},
    "file_system": {"type": "ext4"},
    "workload": {"kind": "ops", "text": 'open f a rdwr|creat\nwrite f "hello"\nfsync f\nclose f\nrename a b\nmkdir d\nsync\n'},
    "test": {"time_limit": 3},
}
FEW = {"strategy": "none-all", "jobs": 1, "minimize_seconds": None, "restart": True, "confirm": 0}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return fencepost.record(SPEC, tmp_path_factory.mktemp("own") / "run")


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text() == ""  # no guest is left
    assert threading.active_count() == 1


def test_what_an_oracle_is_given(run):
    seen = []

    def look(guest):
        assert isinstance(guest, fencepost.RecoveredGuest) and guest.mount_point == "/mnt/pm"
        tree = guest.tree()
        assert isinstance(tree["lost+found"], fencepost.Entry)
        seen.append((guest.crashed, guest.crash_seq, sorted(tree), threading.get_ident()))
        if not guest.crashed and "d" in tree:
            assert tree["d"].is_directory and not tree["d"].is_file
            b = tree["b"]
            assert (b.type, b.size, b.mode, b.link_count, b.user) == ("file", 5, 0o644, 1, 0)
            assert guest.read("b") == guest.read("/mnt/pm/b") == b"hello"
            assert guest.run(["cat", "b"]).text == "hello"
            assert guest.run("pwd; cat; echo $X; exit 3", input=b"in", environment={"X": "y"}).output == b"/mnt/pm\niny\n"
            assert guest.run("exit 3").status == 3 and guest.run("sleep 9", seconds=0.2).status is None
            guest.write("new", "text")
            with pytest.raises(TypeError, match="content is bytes or a str, not 5"):
                guest.write("new", 5)
            assert guest.read("new") == b"text" and "new" in guest.tree()
            with pytest.raises(FileNotFoundError):
                guest.read("nothing")
            with pytest.raises(IsADirectoryError):
                guest.read("d")

    report = run.test(oracles=look, limit=5, **FEW)
    assert report["verdicts"] == {"pass": 5} and report["baseline"]["objections"] == []
    healthy, crashed = seen[:2], seen[2:]
    assert [(each[0], each[2]) for each in healthy] == [(False, ["lost+found"]), (False, ["b", "d", "lost+found"])]
    assert len(crashed) == 5 and all(each[0] for each in crashed) and crashed[0][1] > 0
    assert threading.get_ident() not in [each[3] for each in crashed]
    # What an oracle writes is not there for the next.
    assert all("new" not in each[2] for each in seen)


def test_progress(run):
    seen = []

    def look(guest, progress):
        seen.append(progress)

    run.test(oracles=[look], **FEW)
    texts = {(progress.returned.number, progress.returned.text) for progress in seen if progress.returned}
    assert any("mkdir" in text for _, text in texts), texts
    assert any(operation.text.startswith("sync") for progress in seen for operation in progress.in_progress)
    assert all(progress.checkpoint is None for progress in seen)
    assert isinstance(seen[0], fencepost.WorkloadProgress) and seen[0].returned is None
    assert isinstance(next(each.returned for each in seen if each.returned), fencepost.Operation)


def of_states(run):
    return [finding for finding in run.findings() if finding["kind"] == "crash_state"]


def no_b(guest):
    assert not (guest.crashed and "b" in guest.tree()), "b is there, 17 times"


def test_a_finding(run):
    run.test(oracles=no_b, bugs=1, **FEW)
    (finding,) = of_states(run)
    assert finding["severity"] == "bug" and finding["verdict"] == "inconsistent" and "b is there" in finding["title"]
    assert finding["oracle"] == "python:no_b"
    (evidence,) = run.results("SELECT details FROM evidence WHERE oracle = 'python:no_b' LIMIT 1")["details"]
    assert "in no_b" in evidence and "assert not (guest.crashed" in evidence and "__call__" not in evidence

    again = run.reproduce(finding["id"], oracles=no_b)
    assert again["outcome"] == "fails again, 1 of 1"
    assert run.reproduce(finding["state"], oracles=no_b)["outcome"].startswith("fails")
    minimal = run.minimize(finding["id"], seconds=60, oracles=no_b)
    assert [each["finding"] for each in minimal["findings"]] == [finding["id"]]
    # Without the function nobody can say it.
    for ask in (lambda: run.reproduce(finding["id"]), lambda: run.minimize(finding["id"], force=True)):
        with pytest.raises(fencepost.UsageError, match="python:no_b is a function"):
            ask()


def test_what_oracles_say(run):
    def text(guest):
        return "it is wrong" if guest.crashed else None

    def bare(guest):
        if guest.crashed:
            raise AssertionError

    def checked(guest):
        if guest.crashed:
            guest.run("echo bad news >&2; exit 9", check=True)

    def missing(guest):
        if guest.crashed:
            guest.read("nothing")

    for oracle, said in ((text, "it is wrong"), (bare, "raise AssertionError"),
                         (checked, "'echo bad news >&2; exit 9' ended with status 9: bad news"),
                         (missing, "/mnt/pm/nothing: No such file or directory")):
        run.test(oracles=oracle, limit=1, **FEW)
        titles = [finding["title"] for finding in of_states(run)]
        assert len(titles) == 1 and said in titles[0], (said, titles)


def test_names_that_are_no_text(run):
    """What guest.tree() calls a file can be said."""
    def says(guest):
        return "\udcff is wrong" if guest.crashed else None

    def raises(guest):
        if guest.crashed:
            raise AssertionError("\udcff is wrong")

    for oracle in (says, raises):
        run.test(oracles=oracle, limit=1, **FEW)
        (finding,) = of_states(run)
        assert "\\udcff is wrong" in finding["title"]
        assert "\\udcff is wrong" in json.dumps(run.finding(finding["id"]))


def test_of_a_healthy_image(run):
    """An oracle that objects to it is told at once."""
    report = run.test(oracles=lambda guest: None if guest.crashed else "never right", limit=1, **FEW)
    assert [each["summary"] for each in report["baseline"]["objections"]] == ["never right", "never right"]
    assert report["verdicts"] == {"pass": 1}


def test_beside_others(run):
    order = []

    def mine(guest):
        order.append(guest.crashed)
        if len(order) == 2:  # what the workload leaves in the end
            assert sorted(guest.tree()) == ["b", "d", "lost+found"], "somebody has removed everything"
        if guest.crashed:
            guest.run("touch litter")

    report = run.test(oracles=["usable", "semantic", mine], limit=3, **FEW)
    # Semantic has seen the tree before, usable comes after and removes it all.
    assert report["verdicts"] == {"pass": 3} and order.count(True) == 3 and report["baseline"]["objections"] == []
    with pytest.raises(fencepost.UsageError, match=r"other oracles .* or restart=True tests anew"):
        run.test(oracles=mine, **{**FEW, "restart": False})


def test_a_text_that_is_no_unicode(run):
    run.test(oracles=lambda guest: "half of \ud83d" if guest.crashed else None, limit=1, **FEW)
    (finding,) = of_states(run)
    (evidence,) = run.finding(finding["id"])["evidence"]
    assert evidence["details"]["said"] == "half of \\ud83d"


def test_without_a_file_system(tmp_path):
    spec = {"pm": {"size": "64M"}, "workload": {"kind": "script", "text": "echo hi >/dev/pmem0; sync"}}
    run = fencepost.record(spec, tmp_path / "run")
    seen = []

    def look(guest):
        assert guest.mount_point == ""
        seen.append((guest.crashed, guest.run("head -c 3 /dev/pmem0; pwd").output))
        with pytest.raises(fencepost.UsageError, match="no file system"):
            guest.tree()

    assert run.test(oracles=look, **FEW)["verdicts"] == {"pass": len(seen) - 2}
    assert seen[:2] == [(False, b"\0\0\0/\n"), (False, b"hi\n/\n")] and (True, b"\0\0\0/\n") in seen[2:]


def frames(caught):
    return [(frame.name, frame.line) for frame in traceback.extract_tb(caught.tb)]


def test_an_exception_ends_the_test(run):
    calls = []

    def broken(guest):
        calls.append(guest)
        if len(calls) == 4:
            raise LookupError("my own mistake")

    with pytest.raises(LookupError, match="my own mistake") as caught:
        run.test(oracles=broken, **FEW)
    assert ("broken", 'raise LookupError("my own mistake")') in frames(caught)
    # The guest was there only for the oracle.
    with pytest.raises(fencepost.UsageError, match="only while its oracle runs"):
        calls[0].tree()
    # What was judged stays, and the test goes on.
    assert run.test(oracles=broken, **{**FEW, "restart": False}, limit=1)["tested"] == 1


def test_wrong_oracles(run):
    with pytest.raises(TypeError, match="None or a text, not with True"):
        run.test(oracles=lambda guest: True, **FEW)
    for wrong, said in ((7, "neither"), ([7], "neither"), (lambda: None, "takes 0"), (lambda a, b, c: None, "takes 3")):
        with pytest.raises(TypeError, match=said):
            run.test(oracles=wrong, **FEW)
    with pytest.raises(fencepost.UsageError, match="two oracles have the name python:no_b"):
        run.test(oracles=[no_b, no_b], **FEW)
    with pytest.raises(TypeError, match="list of names"):
        run.test(oracles="mount", **FEW)
    with pytest.raises(fencepost.UsageError, match="python:mine is a function"):
        run.test(oracles=["python:mine"], **FEW)


def test_a_changed_oracle_begins_anew(run):
    said = []

    def make(source):
        names = {}
        exec(compile(source, "<prompt>", "exec"), names)
        return names["judge"]

    some = {**FEW, "restart": False, "limit": 2}
    run.test(oracles=make("def judge(guest): pass"), **FEW, limit=2)
    run.test(oracles=make("def judge(guest): pass"), progress=lambda text, numbers: said.append(text), **some)
    assert not [line for line in said if "changed" in line]
    run.test(oracles=make("def judge(guest): guest.crashed"), progress=lambda text, numbers: said.append(text), **some)
    assert [line for line in said if "the oracle python:judge has changed" in line]


def test_an_oracle_with_other_arguments_judges_anew(run):
    def check(guest, word):
        return word if guest.crashed else None

    some = {**FEW, "restart": False, "limit": 1}
    run.test(oracles=functools.partial(check, word="apple"), **{**some, "restart": True})
    run.test(oracles=functools.partial(check, word="pear"), **some)
    assert ["pear" in finding["title"] for finding in of_states(run)] == [True]


def test_a_command_that_hangs(run):
    def hang(guest):
        if guest.crashed:
            guest.run("sleep 1000")

    report = run.test(oracles=hang, limit=1, **FEW)
    assert report["verdicts"] == {"guest_hang": 1}


def test_a_guest_that_is_lost(run):
    def crash(guest):
        if guest.crashed:
            try:
                guest.run("echo c >/proc/sysrq-trigger")
            except fencepost.Error:
                pass  # whatever is made of it

    report = run.test(oracles=crash, limit=1, **FEW)
    assert report["verdicts"] == {"guest_crash": 1}


def test_a_wrong_time_limit(run):
    said = []

    def judge(guest):
        if guest.crashed:
            for wrong in (-1, 0, float("nan"), float("inf")):
                with pytest.raises(fencepost.UsageError) as caught:
                    guest.run("true", seconds=wrong)
                said.append(str(caught.value))
            assert guest.run("sleep 9", seconds=1e-9).status is None

    assert run.test(oracles=judge, limit=1, **FEW)["verdicts"] == {"pass": 1}
    assert said == [f"{wrong} seconds is an invalid duration" for wrong in (-1, 0, "nan", "inf")]


def test_zero_bytes(run):
    def judge(guest):
        for ask in (lambda: guest.run("a\0b"), lambda: guest.run("true", directory="/\0"), lambda: guest.read("a\0"),
                    lambda: guest.run("true", environment={"A": "\0"}), lambda: guest.write("a\0", b"")):
            with pytest.raises(fencepost.UsageError, match="there is a zero byte in the (command|directory|path|env)"):
                ask()
        assert guest.run("cat", input=b"\0").output == b"\0"

    assert run.test(oracles=judge, limit=1, **FEW)["verdicts"] == {"pass": 1}


def test_several_guests(run):
    both = threading.Barrier(2, timeout=60)
    met = []

    def meet(guest):
        if guest.crashed and not met:
            both.wait()
            met.append(True)

    assert set(run.test(oracles=meet, **{**FEW, "jobs": 2})["verdicts"]) == {"pass"} and met


def test_both_together(run):
    """A strategy and an oracle: only states without the first item in flight, and what is said of them."""
    def first_lost(point):
        if point.items:
            yield point.all_but(0)

    run.test(strategy=first_lost, oracles=no_b, bugs=1, jobs=1, restart=True, minimize_seconds=None)
    (finding,) = of_states(run)
    assert finding["state"] in [state.id for state in run.states(first_lost)]
    assert run.results("SELECT strategy FROM session")["strategy"].iloc[-1] == "python:first_lost"

    def broken(point):
        raise LookupError("a strategy's mistake")

    with pytest.raises(LookupError, match="a strategy's mistake"):
        run.test(strategy=broken, oracles=no_b, jobs=1, restart=True)


CTRL_C = """
import os, signal, sys, threading, time, fencepost
def loop(guest):
    if guest.crashed:
        print("begun", flush=True)
        while True:
            pass
def wait(guest):
    if guest.crashed:
        print("begun", flush=True)
        guest.run("sleep 100")
try:
    fencepost.Run(sys.argv[1]).test(oracles=globals()[sys.argv[2]], strategy="none-all", jobs=1, restart=True)
except KeyboardInterrupt:
    children = open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read()
    print("stopped", threading.active_count(), children, flush=True)
"""


@pytest.mark.parametrize("what", ["loop", "wait"])
def test_ctrl_c(run, what):
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, run.path, what], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.read().split() == ["stopped", "1"]
    assert child.wait(timeout=60) == 0
