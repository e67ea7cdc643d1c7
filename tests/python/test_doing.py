# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that a verb does, from Python: with guests, as the command does it."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import tomllib

import made_run
import pytest
from conftest import HERE, command

import fencepost

HOW_TO = HERE.parent.parent / "docs" / "how-to"
SMALL = {
    "pm": {"size": "64M"},
    "file_system": {"type": "ext4"},
    "workload": {"kind": "script", "text": "echo hello >a; sync; mv a b; sync"},
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A workload without a bug, recorded once."""
    said = []
    run = fencepost.record(SMALL, tmp_path_factory.mktemp("small") / "run", progress=lambda *line: said.append(line))
    return run, said


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A workload with a planted bug, recorded and tested up to that."""
    run = fencepost.record(HOW_TO / "ledger.toml", tmp_path_factory.mktemp("ledger") / "run")
    run.test(bugs=1, minimize_seconds=None, jobs=1)
    return run


@pytest.mark.parametrize("spec", [
    {},
    SMALL,
    {"text": 'quotes " and \\ and \n and \x7f and \u00e9\U0001f600', "number": -3, "real": 0.5, "flag": True,
     "list": ["a", "b"], "odd key": 1, "inner": {"deep": {"x": 1}, "none": {}},
     "copy": [{"from": "a", "to": "b"}, {"from": "c", "more": {"y": [1, 2]}}]},
])
def test_a_dict_becomes_toml(spec):
    assert tomllib.loads(fencepost.to_toml(spec)) == spec


def test_what_toml_cannot_hold():
    for wrong in ({"a": None}, {1: "a"}, {"a": b"x"}):
        with pytest.raises(TypeError):
            fencepost.to_toml(wrong)


def test_record(small):
    run, said = small
    assert run.trace.state == "complete"
    assert run.spec == SMALL
    assert json.loads((run.path / "record.json").read_text())["events"] == run.trace.event_count
    assert all(isinstance(text, str) and isinstance(numbers, dict) for text, numbers in said)
    assert any("events" in numbers for _, numbers in said)
    with pytest.raises(fencepost.UsageError):  # it is finished
        fencepost.record(SMALL, run.path)


def test_mistakes_in_a_spec(tmp_path):
    for spec, said in (({"workload": {"kind": "dance"}}, "workload.kind is"), ({"colour": 1}, "colour"),
                       (tmp_path / "none.toml", "none.toml")):
        with pytest.raises(fencepost.UsageError, match=said):
            fencepost.record(spec, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_verify(small):
    run, _ = small
    looked = run.verify(times=0)
    assert looked["good"] and looked["repetitions"] == []
    assert looked == json.loads(command("verify", run.path, "--times", 0, "--json").stdout)
    assert run.verify()["deterministic"]


def test_analyze(make_run):
    folder = make_run("store pmem0 8 = 1 @append:12 ^main\nfence sfence @append:13\n")
    run = fencepost.Run(folder)
    assert run.analyze() == json.loads(command("analyze", folder, "--json").stdout)
    assert run.analyze(rules=["torn-store"])["findings"] == []
    assert run.analyze(model="eadr", fences="architectural", persistency="strict") == json.loads(command(
        "analyze", folder, "--json", "--model", "eadr", "--fences", "architectural", "--persistency", "strict").stdout)
    for wrong in ({"rules": ["nope"]}, {"model": "line"}, {"fences": "all"}, {"suppressions": ["/nowhere"]}):
        with pytest.raises(fencepost.Error):
            run.analyze(**wrong)
    with pytest.raises(TypeError, match="list of names"):
        run.analyze(rules="torn-store")


def test_test(small):
    run, _ = small
    said = []
    report = run.test(strategy="none-all", oracles=["mount"], limit=5, jobs=1, minimize_seconds=None,
                      progress=lambda text, numbers: said.append((text, numbers)))
    assert report["tested"] == 5 and report["stop"] == "limit"
    assert any(numbers.get("tested", 0) > 0 for _, numbers in said)
    assert set(run.verdicts()["verdict"]) == {"pass"}
    assert run.outcome()["verdicts"] == {"pass": 5}
    with pytest.raises(fencepost.UsageError, match="strateg"):
        run.test(strategy="guess")
    with pytest.raises(fencepost.UsageError, match="duration"):
        run.test(seconds=0)
    with pytest.raises(TypeError, match="jobs"):
        run.test(jobs="many")


def test_what_a_callback_raises_comes_out(small):
    run, _ = small

    def stop(text, numbers):
        if numbers.get("tested", 0) > 0:
            raise LookupError("enough")

    # Progress is told once a second, so there has to be enough to do.
    with pytest.raises(LookupError, match="enough"):
        run.test(strategy="random:1000", oracles=["mount"], jobs=1, progress=stop, restart=True)
    assert children() == []  # no guest is left
    # What was judged is kept, and the next test goes on.
    assert run.results("SELECT count(*) AS n FROM image WHERE verdict IS NOT NULL")["n"][0] > 0


def test_what_the_last_call_raises_comes_out(small):
    run, _ = small

    def stop(text, numbers):
        if numbers.get("tested", 0) == 1:
            raise LookupError("at the end")

    with pytest.raises(LookupError, match="at the end"):
        run.test(strategy="none-all", oracles=["mount"], jobs=1, limit=1, progress=stop, restart=True, minimize_seconds=None)


def children():
    return [child for child in pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]


def test_findings_again(ledger):
    (finding,) = [finding for finding in ledger.findings() if finding["kind"] == "crash_state"][:1]
    assert finding["severity"] == "bug"
    again = ledger.reproduce(finding["id"])
    assert again["outcome"] == "fails again, 1 of 1" and again["finding"] == finding["id"]
    minimal = ledger.minimize(finding["id"], seconds=60)
    assert [each["finding"] for each in minimal["findings"]] == [finding["id"]]
    with pytest.raises(fencepost.UsageError):
        ledger.reproduce("000000000000")


def test_report(ledger):
    page = pathlib.Path(ledger.report())
    assert page == ledger.path / "report.html" and page.read_text().startswith("<!DOCTYPE html>")
    told, kept = json.loads(ledger.report("json")), json.loads((ledger.path / "report.json").read_text())
    assert told.keys() == kept.keys()
    assert [each["id"] for each in told["findings"]] == [each["id"] for each in kept["findings"]] != []
    with pytest.raises(fencepost.UsageError, match="format"):
        ledger.report("pdf")


def test_results_of_another_python(tested_folder):
    """What rules say needs no guest, and no package but this."""
    assert "pandas" not in subprocess.run(
        [sys.executable, "-c", "import sys, fencepost; fencepost.Run(sys.argv[1]).analyze(); print(*sys.modules)",
         tested_folder], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture
def tested_folder(make_run):
    return make_run(made_run.trace_text(epochs=2, operations=1))


CTRL_C = """
import signal, sys, fencepost
run = fencepost.Run(sys.argv[1])
try:
    run.test(strategy="none-all,random:9", oracles=["mount"], jobs=1, restart=True,
             progress=lambda text, numbers: print("tested", flush=True) if numbers.get("tested") else None)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("stopped")
"""


def test_ctrl_c_stops_a_test(small):
    run, _ = small
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, run.path], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "tested\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.read().splitlines()[-1] == "stopped"
    assert child.wait() == 0


BAR = """
import sys, fencepost
fencepost.Run(sys.argv[1]).test(strategy="none-all", oracles=["mount"], limit=3, jobs=1, minimize_seconds=None,
                                restart=True)
"""


def test_a_terminal_shows_the_line_of_the_command(small):
    run, _ = small
    main, terminal = os.openpty()
    child = subprocess.Popen([sys.executable, "-c", BAR, run.path], stderr=terminal)
    os.close(terminal)
    said = b""
    reader = threading.Thread(target=child.wait)
    reader.start()
    try:
        while more := os.read(main, 4096):
            said += more
    except OSError:  # the end of a terminal
        pass
    reader.join()
    os.close(main)
    assert child.returncode == 0
    assert b"\rtesting: " in said and said.endswith(b"\n")


PAGES = [page for page in sorted(HERE.parent.parent.glob("docs/**/*.md")) if "```python\n" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_pages_do_with_guests(page, tmp_path):
    """The pages' blocks, one after the other, by somebody who has read nothing else."""
    script = "\n".join(re.findall(r"(?<=^```python\n).*?(?=^```$)", page.read_text(), re.MULTILINE | re.DOTALL))
    if "import fencepost" not in script:
        script = "import fencepost\n" + script
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert page.parent.name != "tutorial" or "fails again, 1 of 1" in done.stdout, done.stdout
