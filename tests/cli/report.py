# SPDX-License-Identifier: GPL-2.0-or-later
"""`fencepost show` and `fencepost report` on a run made without a guest: every format, hostile texts, mistakes."""
import html.parser
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import findings_schema
import made_run
import sarif_parts

MAKE_TRACE = os.path.abspath(sys.argv.pop(2))
PROGRAM = os.path.abspath(sys.argv.pop(1))
FINDING = "0123456789ab"


class Tags(html.parser.HTMLParser):
    """Elements of a page that could load or run something, and whether all are closed."""

    VOID = {"meta", "br", "input", "link", "img"}

    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.wrong = [], 0, []

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.scripts += tag == "script"
        if tag in ("img", "iframe", "link", "object", "embed") or any(name.startswith("on") or name == "src" for name in names):
            self.wrong.append((tag, attributes))
        if names.get("href", "#").startswith("#") is False:
            self.wrong.append((tag, attributes))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(("end", tag))


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.home.cleanup)
        cls.made = made_run.make_small_run(PROGRAM, MAKE_TRACE, pathlib.Path(cls.home.name) / "made")

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.home.name))
        self.run_folder = self.place / "run"
        shutil.copytree(self.made, self.run_folder)

    def fencepost(self, *words, status=0, **more):
        result = subprocess.run([PROGRAM, "-q", *map(str, words)], capture_output=True, text=True, timeout=120, check=False, **more)
        self.assertEqual(result.returncode, status, f"{words}: {result.stderr}")
        if status:
            self.assertLessEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        return result

    def rendered(self, form, *more, status=0):
        return self.fencepost("report", self.run_folder, "--format", form, *more, status=status).stdout

    # ---- show

    def test_show_lists_what_was_found(self):
        said = self.fencepost("show", self.run_folder).stdout
        self.assertIn(f"  {FINDING} bug inconsistent: ", said)
        self.assertIn("tested     3 images of 5 states: 1 inconsistent, 2 pass", said)
        self.assertNotIn("\x1b", said)
        document = json.loads(self.fencepost("--json", "show", self.run_folder).stdout)
        self.assertEqual(document["findings"][0]["id"], FINDING)
        self.assertEqual(findings_schema.mistakes("finding", document["findings"][0]), [])

    def test_show_tells_everything_about_a_finding(self):
        said = self.fencepost("show", self.run_folder, FINDING).stdout
        for line in ("decides      append+0x1:12", "power fails  before event ", "The store that is lost: event ",
                     "The store that persists: event ", "==== power fails; ", "0000000000000000 -> 0200000000000000",
                     "flushed, no fence: lost  <- decides", "flushed, no fence: persisted  <- decides", "    called by main",
                     "  | line two </pre><b>", f"Next         fencepost reproduce {self.run_folder} {FINDING}"):
            self.assertIn(line.replace("append+0x1:12", "append"), said)
        order = [said.index(text) for text in ("decides", "Oracle mount", "Timeline", "power fails;", "The store that is lost", "Next")]
        self.assertEqual(order, sorted(order))
        self.assertEqual(self.fencepost("show", self.run_folder, FINDING[:3]).stdout, said)

    def test_show_of_a_rules_finding(self):
        document = json.loads(self.fencepost("--json", "show", self.run_folder).stdout)
        for finding in document["findings"]:
            if finding["kind"] == "rule":
                self.assertIn(finding["title"], self.fencepost("show", self.run_folder, finding["id"]).stdout)

    def test_an_unknown_finding_names_the_nearest(self):
        self.assertIn(f"there is no finding 0123456789aa; the nearest is {FINDING}",
                      self.fencepost("show", self.run_folder, "0123456789aa", status=2).stderr)
        self.fencepost("show", self.place / "none", FINDING, status=2)

    def test_show_works_beside_a_test_that_writes(self):
        writer = sqlite3.connect(self.run_folder / "results.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM finding")
        self.assertIn(FINDING, self.fencepost("show", self.run_folder).stdout)
        writer.execute("ROLLBACK")

    def test_a_run_without_results(self):
        (self.run_folder / "results.db").unlink()
        self.assertIn("no crash state was tested yet", self.fencepost("show", self.run_folder).stdout)
        self.assertIn("No crash state was tested", self.rendered("html", "-o", "-"))

    def test_results_of_another_recording_or_version(self):
        database = sqlite3.connect(self.run_folder / "results.db")
        database.execute("UPDATE about SET value = 'other' WHERE name = 'trace'")
        database.commit()
        self.assertIn("is about another recording", self.fencepost("show", self.run_folder, status=2).stderr)
        database.execute("PRAGMA user_version = 1")
        database.close()
        self.assertIn("not hold results of this version", self.fencepost("report", self.run_folder, status=3).stderr)

    def test_a_state_that_lies_costs_the_timeline_only(self):
        database = sqlite3.connect(self.run_folder / "results.db")
        database.execute("UPDATE finding SET state = 'ffffffff-aea-3-n'")
        database.commit()
        self.assertIn("No timeline: ", self.fencepost("show", self.run_folder, FINDING).stdout)
        self.assertIn("No timeline: ", self.rendered("html", "-o", "-"))

    def test_images_without_a_verdict_are_not_tested(self):
        """As Ctrl-C leaves them: seen, and given to a worker."""
        database = sqlite3.connect(self.run_folder / "results.db")
        database.execute("INSERT INTO image(number, identity, expectation) VALUES (9, x'09', 0)")
        database.executemany("INSERT INTO origin VALUES (9, 3, ?, 1)", [("a",), ("b",)])
        database.commit()
        self.assertIn("tested     3 images of 5 states: 1 inconsistent, 2 pass\n", self.fencepost("show", self.run_folder).stdout)
        test = json.loads(self.rendered("json"))["test"]
        self.assertEqual((test["images"], test["states"], test["without_verdict"]), (3, 5, 1))

    def test_a_state_that_is_none(self):
        database = sqlite3.connect(self.run_folder / "results.db")
        database.execute("UPDATE finding SET state = 'nonsense'")
        database.commit()
        for verb in (["show"], ["report"], ["reproduce", FINDING]):
            said = self.fencepost(verb[0], self.run_folder, *verb[1:], status=3).stderr
            self.assertEqual(said, f"fencepost: {self.run_folder}/results.db is damaged: 'nonsense' is not the id of a crash state; "
                                   "fencepost test --restart forgets it and tests anew\n")

    def test_a_damaged_delta(self):
        folder = self.run_folder / "findings" / FINDING
        folder.mkdir(parents=True)
        (folder / "image.delta").write_text("garbage")
        said = self.fencepost("reproduce", self.run_folder, FINDING, status=3).stderr
        self.assertIn(f"{folder}/image.delta is damaged: it is not an image.delta; fencepost reproduce with the id of the state (", said)

    def test_a_run_without_results_has_nothing_to_reproduce(self):
        (self.run_folder / "results.db").unlink()
        self.assertEqual(self.fencepost("reproduce", self.run_folder, FINDING, status=2).stderr,
                         f"fencepost: {self.run_folder} was not tested yet: it has no results.db (fencepost test {self.run_folder})\n")
        self.assertEqual(self.fencepost("show", self.run_folder, FINDING, status=2).stderr,
                         f"fencepost: there is no finding {FINDING}; the run has none\n")

    def test_a_minimized_finding(self):
        folder = self.run_folder / "findings" / FINDING
        folder.mkdir(parents=True)
        (folder / "console.log").write_text("EXT4-fs: \x1b[31mbad </pre>\n")
        document = json.loads(self.fencepost("--json", "show", self.run_folder, FINDING).stdout)
        minimal = {"sentence": "fails exactly when the flag persisted", "of_state": document["state"], "fail": {"state": "x-1"},
                   "pass": None, "earliest": {"state": "x-2", "seq": 4, "operation": ""},
                   "lost": [{"bytes": [{"place": "pmem0+0x40", "belongs_to": "ext4: block of /<b>\x1b[2J at 0"}, 3]}, 4],
                   "differ": [{"bytes": [{"place": "pmem0+0x40", "belongs_to": "said already"}]}]}
        (folder / "minimal.json").write_text(json.dumps(minimal))
        self.assertIn(f"fencepost minimize {self.run_folder} {FINDING}\n", self.fencepost("show", self.run_folder, FINDING).stdout)
        (folder / "minimal.json").write_text(json.dumps({**minimal, "complete": True}))
        said = self.fencepost("show", self.run_folder, FINDING).stdout
        self.assertNotIn("fencepost minimize", said)
        self.assertIn("Minimized\n  fails exactly when the flag persisted\n  fails:    x-1\n  earliest: x-2\n"
                      "  pmem0+0x40: ext4: block of /<b>\\x1b[2J at 0\n\n", said)
        page = self.rendered("html", "-o", "-")
        self.assertIn("fails exactly when the flag persisted", page)
        self.assertIn("EXT4-fs: \\x1b[31mbad &lt;/pre&gt;", page)
        self.assertIn("pmem0+0x40: ext4: block of /&lt;b&gt;\\x1b[2J at 0", page)
        # Of a state that showed the finding before, or not ours at all.
        for text in (json.dumps({**minimal, "of_state": "other"}), "[1, 2", "[]"):
            (folder / "minimal.json").write_text(text)
            self.assertNotIn("Minimized", self.fencepost("show", self.run_folder, FINDING).stdout)

    # ---- report

    def test_the_page_is_whole_and_safe(self):
        self.fencepost("report", self.run_folder)
        page = (self.run_folder / "report.html").read_text()
        tags = Tags()
        tags.feed(page)
        self.assertEqual((tags.wrong, tags.open, tags.scripts), ([], [], 3))
        self.assertIn("&lt;/script&gt;&lt;img src=x", page)
        [nonce] = re.findall(r"script-src 'nonce-([0-9a-f]+)'", page)
        self.assertEqual(re.findall(r'<script(?! type="(?:application/json|text/plain)")[^>]*>', page), [f'<script nonce="{nonce}">'])
        self.assertNotIn("<img", page)
        self.assertNotIn("http", page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", ""))
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
        self.assertEqual(len(data["epochs"]), 4)
        self.assertEqual([(each[8], each[9]) for each in data["epochs"][:3]], [(2, 0), (1, 1), (2, 0)])
        for line in re.search(r'id="pictures">(.*?)</script>', page, re.DOTALL)[1].split("\n"):
            self.assertIn("v", json.loads(line))

    def test_the_same_data_is_beside_it(self):
        self.fencepost("report", self.run_folder)
        document = json.loads((self.run_folder / "report.json").read_text())
        self.assertEqual(document, json.loads(self.rendered("json")))
        [crash] = [each for each in document["findings"] if each["kind"] == "crash_state"]
        self.assertEqual(crash["timeline"]["persisted_stores"], 1)
        fates = [row["fate"] for row in crash["timeline"]["rows"] if row.get("role")]
        self.assertEqual(fates, ["lost", "persisted"])
        self.assertEqual([each["tested"] for each in document["coverage"]["epochs"][:3]], [2, 1, 2])
        self.assertEqual(document["test"]["baseline"]["objections"][0]["summary"], "it is chatty")
        self.assertEqual(document["operations"][0]["text"], f"write 1 {made_run.quoted(made_run.HOSTILE)}")

    def test_nothing_found_is_told_with_what_was_not_covered(self):
        database = sqlite3.connect(self.run_folder / "results.db")
        database.executescript("DELETE FROM finding; DELETE FROM evidence; UPDATE image SET verdict = 'pass', finding = NULL")
        database.close()
        page = self.rendered("html", "-o", "-")
        self.assertIn("nothing found", page)
        self.assertIn("Nothing was found by the rules that ran", page)
        self.assertIn("legal states were tested", page)
        self.assertIn("### fencepost: nothing found", self.rendered("markdown"))

    def test_junit(self):
        root = xml.etree.ElementTree.fromstring(self.rendered("junit", "--fail-on", "bug", status=1))
        self.assertEqual((root.tag, root.get("failures")), ("testsuites", "1"))
        suites = {suite.get("name"): suite for suite in root}
        [failure] = suites["oracle mount"].iter("failure")
        self.assertIn(made_run.HOSTILE, failure.get("message"))
        self.assertIn("power fails", failure.text)
        for suite in root:
            self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
        self.assertIn("rule missing-flush", suites)
        for status, more in [(0, []), (1, ["--fail-on", "bug"])]:
            root = xml.etree.ElementTree.fromstring(self.rendered("junit", *more, status=status))
            self.assertEqual((root.get("failures"), root.get("errors")), ("1", "0"))
        root = xml.etree.ElementTree.fromstring(self.rendered("junit", "--fail-on", "none"))
        self.assertEqual((root.get("failures"), root.get("errors")), ("0", "0"))
        self.fencepost("report", self.run_folder, "--fail-on", "", status=2)

    def no_pass(self, why, results=None, trace=None):
        """What every format says about a run without findings after a change of its databases."""
        shutil.rmtree(self.run_folder)
        shutil.copytree(self.made, self.run_folder)
        nothing = "DELETE FROM finding; DELETE FROM evidence; UPDATE image SET verdict = 'pass', finding = NULL;"
        for name, script in (("results.db", nothing + (results or "")), ("trace.db", trace or "")):
            database = sqlite3.connect(self.run_folder / name)
            database.executescript(script)
            database.close()
        self.assert_no_pass(why)

    def assert_no_pass(self, why):
        root = xml.etree.ElementTree.fromstring(self.rendered("junit", "--fail-on", "bug", status=5))
        self.assertEqual((root.get("failures"), root.get("errors")), ("0", "1"))
        [suite] = [each for each in root if each.get("name") == "run"]
        self.assertEqual((suite.get("errors"), suite.get("tests")), ("1", "5"))
        [error] = root.iter("error")
        self.assertEqual(error.get("message"), f"NOT A PASS: {why}")
        self.assertEqual(xml.etree.ElementTree.fromstring(self.rendered("junit")).get("errors"), "1")
        self.assertEqual(json.loads(self.rendered("json"))["not_a_pass"], why)
        self.assertIn("not a pass", self.rendered("markdown").splitlines()[0])
        self.assertIn(f'<p class="verdict warning">not a pass: {why}', self.rendered("html", "-o", "-"))

    def test_a_run_that_says_nothing_is_no_pass(self):
        self.no_pass("nothing of the workload reached PM",
                     trace="INSERT OR REPLACE INTO data_quality(name, value, severity, meaning) "
                           "VALUES ('nothing_reached_pm', 1, 'warning', 'nothing reached PM')")
        self.no_pass("the workload did not finish: failed: no such program",
                     trace="UPDATE recording SET outcome = 'failed: no such program'")
        self.no_pass("no image has a verdict", "DELETE FROM origin; DELETE FROM image")
        self.no_pass("1 image could not be judged: the guest was lost",
                     "UPDATE image SET verdict = 'infra_error' WHERE number = 1; INSERT INTO evidence(image, oracle, verdict, "
                     "summary, title, details) VALUES (1, 'mount', 'infra_error', 'the guest was lost', '', '{}')")
        self.no_pass("the last test was interrupted; the next one goes on from there", "UPDATE session SET stop = 'interrupted'")
        self.no_pass("semantic judged no crash image: what the workload leaves without a crash is not in the history that it "
                     "compares with",
                     "INSERT INTO baseline(image, oracle, verdict, summary, masked, details) "
                     "VALUES ('final', 'semantic', 'inconsistent', 'missing: foo', 0, '{}')")
        (self.run_folder / "results.db").unlink()
        self.assert_no_pass("no crash state was tested")

    def test_markdown_is_text(self):
        said = self.rendered("markdown")
        self.assertIn("### fencepost: 1 bug", said)
        self.assertNotIn("<img", said)
        self.assertIn("| bug | the flag is set &lt;/script&gt;", said)
        self.assertTrue(said.isprintable() or all(each.isprintable() or each == "\n" for each in said))

    def test_a_recording_of_another_version(self):
        trace = sqlite3.connect(self.run_folder / "trace.db")
        (version,) = trace.execute("PRAGMA user_version").fetchone()
        trace.execute(f"PRAGMA user_version = {version + 1}")
        trace.commit()
        trace.close()
        for verb in (["report"], ["show"], ["minimize"]):
            said = self.fencepost(*verb, self.run_folder, status=3)
            self.assertIn("trace.db has trace format 3, newer than format 2 of this fencepost", said.stderr)

    def test_functions_that_were_not_seen(self):
        (self.run_folder / "kallsyms.zst").write_text(
            "ffffffffc0000000 t append\t[journal]\nffffffffc0000100 t set_flag\t[journal]\n"
            "ffffffffc0000200 t re<b>play\t[journal]\nffffffffc0001000 t main\t[app]\nffffffffc0002000 t idle\t[other]\n"
            "ffffffff81000000 T schedule\n")
        (self.run_folder / "modules.txt").write_text("journal 4096 0 - Live 0xffffffffc0000000\n")
        self.assertEqual(json.loads(self.rendered("json"))["coverage"]["modules"], [
            {"module": "journal", "functions": 3, "seen": 2, "unseen": ["re<b>play"]},
            {"module": "app", "functions": 1, "seen": 1, "unseen": []}])
        page = self.place / "page.html"
        self.rendered("html", "-o", page)
        page = page.read_text()
        self.assertIn("journal: 2 of 3 functions were at work", page)
        self.assertIn("re&lt;b&gt;play", page)

    def test_sarif(self):
        document = json.loads(self.rendered("sarif"))
        self.assertEqual(sarif_parts.mistakes(document), [])
        [run] = document["runs"]
        [crash] = [each for each in run["results"] if each["ruleId"] == "inconsistent"]
        self.assertEqual(run["tool"]["driver"]["rules"][crash["ruleIndex"]]["id"], "inconsistent")
        self.assertEqual(crash["partialFingerprints"]["fencepost/v1"], FINDING)
        broken = json.loads(json.dumps(document))
        del broken["runs"][0]["results"][0]["message"]
        self.assertNotEqual(sarif_parts.mistakes(broken), [])

    def test_fail_on_and_baseline(self):
        self.rendered("json", "--fail-on", "none")
        self.rendered("json", "--fail-on", "bug", status=1)
        self.fencepost("report", self.run_folder, "--fail-on", "sometimes", status=2)
        known = self.place / "known.json"
        known.write_text(json.dumps({"format": "fencepost baseline 1", "findings": [{"id": FINDING}]}))
        document = json.loads(self.rendered("json", "--fail-on", "bug", "--baseline", known))
        self.assertTrue(document["findings"][0]["known"])

    def test_output_files(self):
        target = self.place / "page.html"
        self.fencepost("report", self.run_folder, "-o", target)
        self.assertIn("is there already; --force replaces it", self.fencepost("report", self.run_folder, "-o", target, status=2).stderr)
        self.fencepost("report", self.run_folder, "-o", target, "--force")
        link = self.place / "link"
        link.symlink_to(target)
        self.fencepost("report", self.run_folder, "-o", link, "--force", status=2)
        self.fencepost("report", self.run_folder, "--format", "pdf", status=2)
        # Ours, whatever is there; a link is replaced, not followed.
        target.write_text("mine")
        (self.run_folder / "report.html").symlink_to(target)
        self.fencepost("report", self.run_folder)
        self.assertEqual(target.read_text(), "mine")
        self.assertFalse((self.run_folder / "report.html").is_symlink())

    def test_a_full_disk_leaves_the_old_report(self):
        self.fencepost("report", self.run_folder)
        before = {name: (self.run_folder / name).read_bytes() for name in ("report.html", "report.json")}

        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.fencepost("report", self.run_folder, status=4, preexec_fn=no_room)
        self.assertEqual({name: (self.run_folder / name).read_bytes() for name in before}, before)
        self.assertEqual(sorted(os.listdir(self.run_folder)), ["report.html", "report.json", "results.db", "trace.db"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
