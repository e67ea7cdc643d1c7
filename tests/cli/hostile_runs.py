# SPDX-License-Identifier: GPL-2.0-or-later
"""Run folders from strangers: whatever is in them, nothing outside changes, each ends in one sentence and soon."""
import hashlib
import os
import pathlib
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

MAKE_TRACE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
TRACE = "".join(f"store pmem0+{64 * i} 8 = {i + 1} @f\nflush clwb pmem0+{64 * i} @f\nfence sfence @f\n" for i in range(40))
READERS = [["info", "RUN"], ["sql", "RUN", "SELECT count(*) FROM event"], ["analyze", "RUN"], ["states", "RUN"],
           ["show", "RUN"], ["report", "RUN", "--format", "json"], ["verify", "RUN", "--times", "0"]]
MAGIC = bytes.fromhex("d9d505f920a163d7")
MEMORY = 3 << 30  # of address space: a giant that is read whole does not fit
SPARSE = 1 << 40


def tree_digest(folder):
    """Names, types, contents and links of everything below, but for the lock of a run."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.name == "lock" and path.lstat().st_size == 0:
            continue
        digest.update(f"{path.relative_to(folder)} {path.lstat().st_mode} {path.lstat().st_size}\0".encode())
        if path.is_symlink():
            digest.update(os.readlink(path).encode())
        elif path.is_file() and path.lstat().st_size < 1 << 30:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def leave_hot_journal(database):
    """What a writer leaves that is killed with half a transaction in the file."""
    script = ("import os, sqlite3, sys\n"
              "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
              "db.execute('PRAGMA cache_size = 2'); db.execute('BEGIN')\n"
              "for i in range(20000): db.execute('INSERT INTO meta VALUES (?, ?)', (f'half {i}', 'x' * 50))\n"
              "os._exit(0)\n")
    subprocess.run([sys.executable, "-c", script, database], check=True)
    assert os.path.getsize(f"{database}-journal") > 512


def name_super_journal(database, name):
    text = str(name).encode()
    with open(f"{database}-journal", "ab") as journal:
        journal.write(struct.pack(">I", 1 << 30) + text + struct.pack(">II", len(text), sum(struct.unpack(f"{len(text)}b", text)))
                      + MAGIC)


class HostileRun(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.home.cleanup)
        cls.good = pathlib.Path(cls.home.name) / "good"
        cls.good.mkdir()
        subprocess.run([MAKE_TRACE, "-", cls.good / "trace.db"], input=TRACE, text=True, check=True)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.home.name))
        self.run_folder = self.place / "run"
        shutil.copytree(self.good, self.run_folder)
        self.trace = self.run_folder / "trace.db"
        # Everything that must stay as it is.
        self.canary = self.place / "canary"
        (self.canary / "folder").mkdir(parents=True)
        (self.canary / "important").write_text("do not lose this")
        (self.canary / "folder/note").write_text("nor this")
        (self.place / "good.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n')
        self.before = tree_digest(self.canary)

    def ends(self, command, status, says, quiet=True):
        """The command, with that exit status and one sentence."""
        words = [{"RUN": str(self.run_folder), "SPEC": str(self.place / "good.toml")}.get(word, word) for word in command]
        result = subprocess.run([PROGRAM, "-q", *words], capture_output=True, text=True, timeout=60,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
        what = f"{command}: {result.stderr}"
        self.assertEqual(result.returncode, status, what)
        if status in (2, 3, 4):
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, what)
            self.assertIn(says, result.stderr)
        else:
            self.assertIn(says, result.stdout)
        self.assertEqual(tree_digest(self.canary), self.before, what)
        return result

    def refused_everywhere(self, says, status=3, commands=READERS):
        inside = tree_digest(self.run_folder)
        for command in commands:
            self.ends(command, status, says)
            self.assertEqual(tree_digest(self.run_folder), inside, f"{command} changed the run")

    def test_readers_leave_a_journal_alone_and_repair_does_not(self):
        leave_hot_journal(self.trace)
        self.refused_everywhere(f"`fencepost repair {self.run_folder}`")
        self.ends(["repair", "RUN"], 0, "trace.db: rolled back to what was written whole")
        self.ends(["repair", "RUN"], 0, "nothing to repair")
        for command in READERS[:6]:
            self.ends(command, 0, "")
        self.assertFalse((self.run_folder / "trace.db-journal").exists())
        count = sqlite3.connect(self.trace).execute("SELECT count(*) FROM meta WHERE key LIKE 'half%'").fetchone()
        self.assertEqual(count, (0,))

    def test_a_journal_that_names_a_super_journal(self):
        leave_hot_journal(self.trace)
        name_super_journal(self.trace, self.canary / "important")
        self.refused_everywhere("fencepost repair")
        self.refused_everywhere("names a super-journal", commands=[["repair", "RUN"]])
        self.ends(["test", "RUN"], 3, "names a super-journal")
        self.ends(["record", "SPEC", "-o", "RUN"], 2, "holds a recording already")

    def test_a_super_journal_with_a_relative_name(self):
        leave_hot_journal(self.trace)
        name_super_journal(self.trace, "../canary/important")
        self.refused_everywhere("names a super-journal", commands=[["repair", "RUN"]])

    def test_a_journal_that_is_a_link(self):
        (self.run_folder / "trace.db-journal").symlink_to(self.canary / "important")
        self.refused_everywhere("trace.db-journal is not a regular file", commands=[["repair", "RUN"], ["test", "RUN"]])
        self.refused_everywhere("trace.db", commands=READERS)

    def test_a_journal_that_is_a_pipe(self):
        os.mkfifo(self.run_folder / "trace.db-journal")
        self.refused_everywhere("trace.db", commands=READERS[:1])
        self.refused_everywhere("is not a regular file", commands=[["repair", "RUN"]])

    def test_a_trace_that_is_a_link(self):
        self.trace.rename(self.canary / "trace.db")
        self.before = tree_digest(self.canary)
        self.trace.symlink_to(self.canary / "trace.db")
        self.refused_everywhere("is a symbolic link")

    def test_a_link_that_the_user_names_is_followed(self):
        (self.place / "mine").symlink_to(self.trace)
        self.ends(["info", str(self.place / "mine")], 0, "pmem0")

    def test_a_run_with_2400_characters_in_its_path(self):
        # Longer than SQLite's own limit for names of files.
        deep = self.place
        for _ in range(12):
            deep = deep / ("x" * 200)
            deep.mkdir()
        shutil.copytree(self.run_folder, deep / "run")
        self.assertGreater(len(str(deep)), 2400)
        self.ends(["info", str(deep / "run")], 0, "pmem0")
        self.ends(["states", str(deep / "run"), "--index", str(deep / "index")], 0, "states")
        leave_hot_journal(self.trace)
        for name in ("trace.db", "trace.db-journal"):
            shutil.copy(self.run_folder / name, deep / "run" / name)
        self.ends(["repair", str(deep / "run")], 0, "rolled back")

    def test_a_write_ahead_log(self):
        connection = sqlite3.connect(self.trace)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO meta VALUES ('x', 'y')")
        connection.commit()
        for suffix in ("-wal", "-shm"):  # as they are while it is open
            shutil.copy(f"{self.trace}{suffix}", f"{self.place}/kept{suffix}")
        connection.close()
        for suffix in ("-wal", "-shm"):
            (self.place / f"kept{suffix}").rename(f"{self.trace}{suffix}")
        self.refused_everywhere("write-ahead log")

    def test_a_log_beside_a_trace_that_has_none_is_not_looked_at(self):
        (self.run_folder / "trace.db-wal").symlink_to(self.canary / "important")
        self.ends(["info", "RUN"], 0, "pmem0")

    def test_findings_and_legal_states_that_are_links(self):
        for name in ("findings", "legal_states"):
            link = self.run_folder / name
            link.symlink_to(self.canary / "folder")
            self.ends(["test", "RUN"], 3, f"{link} is a symbolic link, not a folder")
            self.ends(["record", "SPEC", "-o", "RUN", "--force"], 3, f"{link} is a symbolic link, not a folder")
            self.assertTrue(self.trace.exists())
            link.unlink()

    def test_a_lock_that_is_a_link(self):
        (self.run_folder / "lock").symlink_to(self.canary / "made-by-us")
        for command in (["repair", "RUN"], ["test", "RUN"]):
            self.ends(command, 4, "lock: Too many levels of symbolic links")

    def test_sparse_giants(self):
        os.truncate(self.trace, SPARSE)
        self.ends(["info", "RUN"], 0, "pmem0")
        shutil.copy(self.good / "trace.db", self.trace)
        (self.run_folder / "inputs.json").touch()
        os.truncate(self.run_folder / "inputs.json", SPARSE)
        for command in (["analyze", "RUN"], ["test", "RUN"]):
            self.ends(command, 3, "which is more than fencepost ever writes there")

    def test_a_sparse_giant_of_a_journal(self):
        leave_hot_journal(self.trace)
        os.truncate(f"{self.trace}-journal", SPARSE)
        self.ends(["info", "RUN"], 3, "fencepost repair")
        self.ends(["repair", "RUN"], 0, "rolled back")
        self.ends(["info", "RUN"], 0, "pmem0")

    def test_inputs_that_are_links_or_pipes(self):
        (self.run_folder / "inputs.json").symlink_to("/dev/zero")
        self.ends(["analyze", "RUN"], 3, "inputs.json is a symbolic link")
        (self.run_folder / "inputs.json").unlink()
        os.mkfifo(self.run_folder / "inputs.json")
        self.ends(["analyze", "RUN"], 3, "inputs.json is not a regular file")

    def test_a_region_larger_than_any_memory(self):
        connection = sqlite3.connect(self.trace)
        connection.execute(f"UPDATE region SET size = {1 << 50}")
        connection.commit()
        connection.close()
        self.ends(["states", "RUN"], 4, "cannot map memory for a PM image")
        self.ends(["info", "RUN"], 0, "pmem0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
