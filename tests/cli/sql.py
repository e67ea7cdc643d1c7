# SPDX-License-Identifier: GPL-2.0-or-later
"""`fencepost sql` as a program among others: pipes that close, interrupts, files, long answers."""
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

MAKE_TRACE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
# More rows than anyone waits for.
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' AS x FROM n"
SILENT = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"


class Sql(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.trace = pathlib.Path(self.directory.name) / "trace.db"
        subprocess.run([MAKE_TRACE, "-", self.trace], input="store pmem0 8 = 1 @f\nfence sfence @f\n", text=True,
                       check=True)

    def start(self, *arguments):
        child = subprocess.Popen([PROGRAM, "sql", self.trace, *arguments], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_a_reader_that_has_enough_ends_it_quietly(self):
        for form in ("table", "csv", "json"):
            with self.subTest(form):
                child = self.start(ENDLESS, "--format", form)
                for _ in range(600):
                    child.stdout.readline()
                child.stdout.close()
                self.assertEqual(child.wait(60), -signal.SIGPIPE)
                self.assertEqual(child.stderr.read(), "")

    def test_rows_come_while_the_query_runs(self):
        child = self.start(ENDLESS, "--format", "csv")
        for expected in ("i,x", "1,x", "2,x"):
            self.assertEqual(child.stdout.readline().strip(), expected)

    def test_interrupt(self):
        for query in (ENDLESS, SILENT):
            with self.subTest(query):
                child = self.start(query + " LIMIT 1000000000", "--format", "csv")
                # A row or the header shows that the query has begun.
                child.stdout.readline()
                child.send_signal(signal.SIGINT)
                _, errors = child.communicate(timeout=60)
                self.assertEqual(child.returncode, 130)
                self.assertEqual(errors, "fencepost: interrupted\n")

    def test_long_answers_take_no_memory(self):
        def peak(rows):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            subprocess.run([PROGRAM, "sql", self.trace, f"{ENDLESS} LIMIT {rows}"], check=True,
                           stdout=subprocess.DEVNULL)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before
        peak(1000)
        self.assertLess(peak(1_000_000), 8 << 10)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, "sql", self.trace, f"{ENDLESS} LIMIT 100000"], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 4)
        self.assertIn("cannot write the result", result.stderr)

    def test_query_from_a_file(self):
        query = pathlib.Path(self.directory.name) / "query.sql"
        query.write_text("-- a comment first\nSELECT count(*)\n  AS n FROM event;\n\n-- the end\n")
        ask = [PROGRAM, "sql", self.trace]
        self.assertEqual(subprocess.run(ask + ["--file", query, "--format", "csv"], capture_output=True,
                                        text=True).stdout, "n\n2\n")
        for wrong in (["--file", query, "SELECT 1"], ["--file", "/nonexistent"], ["--file", "/"]):
            result = subprocess.run(ask + wrong, capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stdout), (2, ""), wrong)

    def test_the_trace_is_not_touched(self):
        before = self.trace.read_bytes()
        for query in ("SELECT * FROM event", "DELETE FROM site", "PRAGMA journal_mode = WAL",
                      "UPDATE meta SET value = 1", "WITH x AS (SELECT 1) INSERT INTO meta SELECT 1, 2"):
            subprocess.run([PROGRAM, "sql", self.trace, query], capture_output=True)
        self.assertEqual(self.trace.read_bytes(), before)
        self.assertEqual([p.name for p in self.trace.parent.iterdir()], ["trace.db"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
