# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: what rules and tests have found, the same as the command says."""

import json

import made_run
import pytest
from conftest import PROGRAM, command

import fencepost


@pytest.fixture
def tested(make_run):
    """A run whose fourth epoch fails."""
    folder = make_run(made_run.trace_text(epochs=6, operations=2))
    with made_run.Results(folder) as results:
        results.session()
        for number, seq in enumerate(made_run.fences_of(folder, PROGRAM), 1):
            results.insert("image", number=number, identity=number.to_bytes(16, "little"), expectation=1, session=1,
                           verdict="inconsistent" if number == 4 else "pass", confirmed=1, judge_seconds=0.25)
            results.insert("origin", image=number, seq=seq, state=results.state(seq), architectural=1)
    return folder


def test_says_what_it_is(tested):
    with fencepost.Run(tested) as run:
        assert repr(run) == f"<fencepost.Run {tested}>"
        assert run.path == tested
        assert run.trace is run.trace
        assert run.trace.state == "complete"
        assert run.info() == json.loads(command("info", tested, "--json").stdout)
    assert run.trace.closed
    assert fencepost.Run(tested / "trace.db").path == tested


def test_findings_are_those_of_the_command(make_run):
    folder = make_run("store pmem0 8 = 1 @append:12 ^main\nfence sfence @append:13\n"
                      "store pmem0+64 8 = 1 @append:14\nflush clwb pmem0+64 @append:15\n")
    run = fencepost.Run(folder)
    said = json.loads(command("show", folder, "--json").stdout)
    assert run.findings() == said["findings"]
    assert run.outcome() == said["test"]
    finding = run.findings()[0]
    assert finding["rule"] == "missing-fence" and finding["severity"] == "bug"
    assert run.finding(finding["id"]) == json.loads(command("show", folder, finding["id"], "--json").stdout)
    with pytest.raises(fencepost.UsageError):
        run.finding("000000000000")
    with pytest.raises(fencepost.UsageError, match="by its id"):
        run.finding("")


def test_verdicts(tested):
    run = fencepost.Run(tested)
    verdicts = run.verdicts()
    assert verdicts["number"].tolist() == [1, 2, 3, 4, 5, 6]
    assert verdicts["verdict"].tolist() == ["pass"] * 3 + ["inconsistent"] + ["pass"] * 2
    assert verdicts["seq"].is_monotonic_increasing
    assert run.results("SELECT count(*) AS n FROM image WHERE verdict = 'pass'")["n"][0] == 5
    assert run.results("SELECT 1 WHERE 0").empty
    for query in ("SELECT nope FROM image", "DELETE FROM image", "SELECT ?", "SELECT '\0'"):
        with pytest.raises(fencepost.UsageError):
            run.results(query)
    several = []
    for ask in (run.results, run.trace.sql):
        with pytest.raises(fencepost.UsageError) as caught:
            ask("SELECT 1; SELECT 2")
        several.append(str(caught.value))
    assert several[0] == several[1]


def test_details_that_are_no_json(make_run):
    """As older tests kept them: a finding without them, in JSON that can be read."""
    folder = make_run(made_run.trace_text(epochs=3, operations=2))
    with made_run.Results(folder) as results:
        results.session()
        results.finding("0123456789ab", made_run.fences_of(folder, PROGRAM)[1], "n", details="<discarded>")
    (evidence,) = json.loads(command("show", folder, "0123456789ab", "--json").stdout)["evidence"]
    assert evidence["details"] is None and evidence["summary"] == "the flag is set and the record is not there"
    assert fencepost.Run(folder).finding("0123456789ab")["evidence"] == [evidence]


def test_shares_and_counts(journal):
    run = fencepost.Run(journal)
    for confirm in (7, -1, 1.01, float("nan")):
        with pytest.raises(fencepost.UsageError, match=f"^confirm cannot be {confirm}: "):
            run.test(confirm=confirm)
    with pytest.raises(fencepost.UsageError, match="^times cannot be 0: "):
        run.reproduce("x", times=0)


def test_what_is_not_there(tmp_path, journal):
    with pytest.raises(fencepost.UsageError) as raised:
        fencepost.Run(tmp_path / "nowhere")
    assert f"fencepost: {raised.value}\n" == command("show", tmp_path / "nowhere").stderr
    run = fencepost.Run(journal)
    with pytest.raises(fencepost.UsageError, match="has no results"):
        run.verdicts()
    with pytest.raises(fencepost.UsageError, match="has no spec"):
        run.spec


def test_spec(make_run):
    folder = make_run("fence sfence\n")
    (folder / "spec.toml").write_text('[workload]\nkind = "script"\n')
    assert fencepost.Run(folder).spec == {"workload": {"kind": "script"}}
    (folder / "spec.toml").write_text("[workload\n")
    with pytest.raises(fencepost.TraceError, match="spec.toml is damaged"):
        fencepost.Run(folder).spec


def test_damage(tmp_path, journal, tested):
    (tmp_path / "trace.db").write_bytes(b"no trace at all")
    with pytest.raises(fencepost.TraceError) as raised:
        fencepost.Trace(tmp_path)
    assert raised.value.exit_code == 3
    assert f"fencepost: {raised.value}\n" == command("info", tmp_path).stderr
    cut = tmp_path / "cut"
    cut.mkdir()
    whole = (journal / "trace.db").read_bytes()
    (cut / "trace.db").write_bytes(whole[:len(whole) // 2])
    with pytest.raises(fencepost.TraceError):
        fencepost.Trace(cut)
    (tested / "results.db").write_bytes(b"SQLite format 3\0 and then nothing")
    with pytest.raises(fencepost.TraceError, match="results.db is damaged"):
        fencepost.Run(tested).verdicts()


def test_errors_are_one_family():
    kinds = {fencepost.UsageError: 2, fencepost.TraceError: 3, fencepost.GuestError: 4, fencepost.MachineError: 4,
             fencepost.InternalError: 70}
    for kind, code in kinds.items():
        assert issubclass(kind, fencepost.Error)
        assert kind("x").exit_code == code and str(kind("x")) == "x"
    assert issubclass(fencepost.UsageError, ValueError)
    assert issubclass(fencepost.MachineError, OSError)


def test_paths_may_be_paths(journal):
    assert fencepost.Trace(str(journal)).event_count == fencepost.Trace(journal).event_count
