# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns: a generator of workloads, an oracle and a strategy, and nothing but Python."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import HERE, command

import fencepost

sys.path.insert(0, str(HERE.parent / "targets"))
import scoreboard_targets  # noqa: E402

BUILD = pathlib.Path(os.environ["FENCEPOST_BUILD"])
SPEC = {"pm": {"size": "64M"}, "file_system": {"type": "ext4"}}
FEW = {"strategy": "none-all", "jobs": 1, "limit": 2, "confirm": 0, "minimize_seconds": None}


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text() == ""


# --- the campaign: twenty lines

def names(seed):
    """Workloads of names that come, move and go."""
    while True:
        chosen = random.Random(seed)
        lines = ["mkdir d"] + [f"symlink {number}-{'x' * chosen.randrange(200)} s{number}" for number in range(2)]
        lines += [f"rename s{number} d/moved-{number}" for number in chosen.sample(range(2), 2)]
        yield "\n".join(lines)
        seed += 1


def names_are_whole(guest):
    for entry in guest.tree().values():
        assert not entry.failed_step, f"cannot {entry.failed_step} {entry.path}"
        assert entry.type != "symlink" or entry.target[:1] == entry.path[-1], f"{entry.path} is of another link"


def one_line_alone(point):
    yield point.none()
    for item in point.items:
        yield point.only(item)


@pytest.fixture(scope="module")
def fencefs_cache(tmp_path_factory):
    """A cache of its own for the guest image with the own file system: the user may have one of that name."""
    default = pathlib.Path(json.loads(command("image", "build", "--json").stdout)["directory"])
    cache = tmp_path_factory.mktemp("cache")
    shutil.copytree(default, cache / "images" / "default")
    (cache / "packages").symlink_to(default.parent.parent / "packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_CACHE", str(cache))
        scoreboard_targets.build_fencefs(tmp_path_factory.mktemp("fencefs"), BUILD,
                                         lambda *words: json.loads(command(*words, "--json").stdout))
    return cache


@pytest.fixture
def fencefs(fencefs_cache, monkeypatch):
    monkeypatch.setenv("FENCEPOST_CACHE", str(fencefs_cache))

    def spec(bug):
        return {"guest": {"image": "fencefs"}, "pm": {"size": "16M"},
                "file_system": {"type": "fencefs", "mkfs_program": "mkfs.fencefs", "first_mount_options": "dax",
                                "mount_options": "dax" + (f",bug={bug}" if bug else "")},
                "workload": {"unmount": True}, "test": {"promise": {"preset": "strict"}, "time_limit": 5}}
    return spec


def test_a_campaign_finds_a_planted_bug(fencefs, tmp_path):
    campaign = fencepost.campaign(names(seed=1), fencefs("commit_first"), tmp_path / "campaign", oracles=names_are_whole,
                                  strategy=one_line_alone, bugs=1, jobs=2, minimize_seconds=None)
    bug = campaign.findings[0]
    assert bug["severity"] == "bug"
    functions = {place["site"]["function"] for place in bug["places"]}
    assert "commit_records" in functions or "commit_records" in json.dumps(bug), bug
    assert len(campaign.workloads) <= 2 and campaign.workloads[-1].findings


def test_correct_code_is_silent(fencefs, tmp_path):
    two = (workload for _, workload in zip(range(1), names(seed=1)))
    campaign = fencepost.campaign(two, fencefs(""), tmp_path / "campaign", oracles=names_are_whole, strategy=one_line_alone,
                                  jobs=2, minimize_seconds=None)
    assert campaign.findings == [] and campaign.workloads[0].stop == "end" and campaign.workloads[0].tested > 20


# --- what becomes of it

def two():
    for name in "ab":
        yield f"open f {name} rdwr|creat\nwrite f 100\nfsync f\nclose f\n"


def never(guest):
    if guest.crashed:
        return "a state"


def test_findings_are_merged_and_a_campaign_goes_on(tmp_path):
    said, judged = [], []

    def count(guest):
        judged.append(guest.crashed)
        if guest.crashed:
            return "a state"

    def tell(text, numbers):
        said.append((text, numbers))

    def go(**more):
        return fencepost.campaign(two(), SPEC, tmp_path / "campaign", oracles=count, progress=tell, **{**FEW, **more})

    first = go(bugs=1)
    assert len(first.workloads) == 1 and len(first.findings) == 1
    assert first.workloads[0].path.name == "0001" and first.workloads[0].run.spec["workload"]["text"] == next(two())
    before = len(judged)
    whole = go()
    assert len(whole.workloads) == 2 and whole.workloads[0] == first.workloads[0]
    assert judged[before:].count(False) == 2  # healthy images of the second alone: the first was not tested again
    (finding,) = whole.findings
    assert finding["runs"] == [str(each.path) for each in whole.workloads] and "a state" in finding["title"]
    frame = whole.frame()
    assert list(frame["id"]) == [finding["id"]] and list(frame["runs"]) == [2]
    assert repr(whole) == f"<fencepost.Campaign 2 workloads, {sum(each.tested for each in whole.workloads)} images, 1 findings>"
    assert any(text.startswith("workload 2, 1 findings: ") and numbers["workloads"] == 1 for text, numbers in said)

    before = len(judged)
    again = go()
    assert again.workloads == whole.workloads and judged[before:] == []
    assert isinstance(again, fencepost.Campaign) and isinstance(again.workloads[0], fencepost.Tested)
    # What was recorded is not recorded again when options change.
    recorded = (tmp_path / "campaign" / "0001" / "trace.db").stat().st_mtime_ns
    go(limit=3, restart=True)
    assert judged[before:] and (tmp_path / "campaign" / "0001" / "trace.db").stat().st_mtime_ns == recorded


def test_generators_of_oracles_and_strategies(tmp_path):
    """Each workload has all of them."""
    asked = []

    def none(point):
        asked.append(point.seq)
        yield point.none()

    def tell(text, numbers):
        if numbers.get("workloads") == 1 and not asked[:1] == ["second"]:
            asked[:] = ["second"]

    campaign = fencepost.campaign(two(), SPEC, tmp_path / "campaign", oracles=(each for each in [never]),
                                  **{**FEW, "strategy": (each for each in [none])}, progress=tell)
    assert asked[0] == "second" and len(asked) > 1
    assert [len(each.findings) for each in campaign.workloads] == [1, 1]
    assert {image["oracle"] for each in campaign.workloads for image in each.run.findings()
            if image["kind"] == "crash_state"} == {"python:never"}


def test_other_oracles_test_anew(tmp_path):
    """Also what was under way when an earlier call ended."""
    def other(guest):
        return "another state" if guest.crashed else None

    def gives_up(guest):
        if guest.crashed:
            raise LookupError("enough")

    def go(oracles):
        return fencepost.campaign(["mkdir d\n"], SPEC, tmp_path / "campaign", oracles=oracles, **FEW)

    assert "a state" in go(never).findings[0]["title"]
    assert "another state" in go(other).findings[0]["title"]
    with pytest.raises(LookupError):
        go(gives_up)
    assert "another state" in go(other).findings[0]["title"]
    shutil.rmtree(tmp_path / "campaign")
    with pytest.raises(LookupError):
        go(gives_up)
    assert "a state" in go(never).findings[0]["title"]


def test_trouble_does_not_end_a_campaign(tmp_path):
    def workloads():
        yield {"setup": {"script": "exit 3"}, "workload": {"kind": "ops", "text": "mkdir d\n"}}
        yield "mkdir d\n"

    campaign = fencepost.campaign(workloads(), SPEC, tmp_path / "campaign", oracles=never, **FEW)
    first, second = campaign.workloads
    assert first.stop == "trouble" and "set-up failed" in first.trouble and second.trouble == ""
    assert fencepost.campaign(workloads(), SPEC, tmp_path / "campaign", oracles=never, **FEW).workloads == [first, second]


def test_a_promise_of_ones_own(tmp_path):
    """A promise that ext4 does not make: what has returned is durable."""
    lost = "open f a rdwr|creat\nwrite f \"hello\"\nclose f\nopen g b rdwr|creat\nwrite g 100\nfsync g\n"
    strict = {**SPEC, "test": {"promise": {"preset": "strict", "bytes": "old_or_new"}, "oracles": ["semantic"]}}
    plain = fencepost.campaign([lost], SPEC, tmp_path / "plain", oracles=["semantic"],
                               **{**FEW, "strategy": "durable", "limit": 4})
    assert plain.findings == []
    broken = fencepost.campaign([lost], strict, tmp_path / "strict", **{**FEW, "strategy": "durable", "limit": 4})
    assert broken.findings and broken.workloads[0].run.spec["test"]["promise"]["bytes"] == "old_or_new"
    for wrong in ({"preset": "solemn"}, {"bytes": "some"}, {"colour": "red"}, "solemn"):
        with pytest.raises(fencepost.UsageError, match="promise"):
            fencepost.record({**SPEC, "workload": {"kind": "ops", "text": lost}, "test": {"promise": wrong}}, tmp_path / "no")


def test_mistakes_come_out(tmp_path):
    folder = tmp_path / "campaign"
    with pytest.raises(fencepost.UsageError, match="dance") as caught:
        fencepost.campaign(["dance\n"], SPEC, folder, **FEW)
    assert caught.value.__notes__ == ["in workload 1 of the campaign"]
    with pytest.raises(TypeError, match="not 7"):
        fencepost.campaign([7], SPEC, folder, **FEW)
    with pytest.raises(TypeError, match="neither"):
        fencepost.campaign(two(), SPEC, folder, oracles=7)

    for wrong in ("mkdir d\n", {"workload": {}}):
        with pytest.raises(TypeError, match="a list of workloads is wanted"):
            fencepost.campaign(wrong, SPEC, folder, **FEW)
    with pytest.raises(TypeError, match="no option 'limt'"):
        fencepost.campaign(["mkdir d\n"], SPEC, tmp_path / "none", limt=1)
    assert not (tmp_path / "none").exists()

    def broken():
        yield from two()
        raise LookupError("my own mistake")

    with pytest.raises(LookupError, match="my own mistake"):
        fencepost.campaign(broken(), SPEC, folder, oracles=never, **FEW)
    # What was tested by then is kept.
    assert len(json.loads((folder / "campaign.json").read_text())) == 2
    (folder / "campaign.json").write_text("{")
    with pytest.raises(fencepost.TraceError, match="damaged"):
        fencepost.campaign(two(), SPEC, folder, **FEW)


CTRL_C = """
import os, sys, fencepost
def one(guest):
    if guest.crashed and len(seen) > 5:
        print("begun", flush=True)
        while True:
            pass
    seen.append(guest.crashed)
seen = []
try:
    fencepost.campaign(["mkdir d\\n", "mkdir e\\n"], {"pm": {"size": "64M"}, "file_system": {"type": "ext4"}}, sys.argv[1],
                       oracles=one, strategy="none-all", limit=4, jobs=1, confirm=0)
except KeyboardInterrupt:
    print("stopped", open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read(), flush=True)
"""


def test_ctrl_c_stops_a_campaign(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, tmp_path / "campaign"], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.read().split() == ["stopped"]
    assert child.wait(timeout=60) == 0
    assert list(json.loads((tmp_path / "campaign" / "campaign.json").read_text())) == ["1"]


@pytest.mark.parametrize("careless", [False, True])
def test_key_value_oracle(tmp_path, careless):
    """The worked analysis: a store that keeps its promises, and one that acknowledges too early."""
    script = HERE.parent.parent / "docs" / "how-to" / "analyses" / "key_value_oracle.py"
    said = subprocess.run([sys.executable, script, tmp_path / "campaign"] + careless * ["careless"], capture_output=True,
                          text=True, check=True).stdout
    assert ("bug: apple is " in said) == careless and ("0 findings" in said) == (not careless), said
