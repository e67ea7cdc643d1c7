# SPDX-License-Identifier: GPL-2.0-or-later
"""Every mistake in bad_input.toml gets its exit status and one sentence, and leaves nothing behind."""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
import unittest

MAKE_TRACE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
SOURCE = pathlib.Path(__file__).parents[2]
CASES = tomllib.loads(pathlib.Path(__file__).with_name("bad_input.toml").read_text())["case"]


def cache_directory():
    if own := os.environ.get("FENCEPOST_CACHE"):
        return pathlib.Path(own)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "fencepost"


def make_files(directory):
    (directory / "text").write_text("this is not what you are looking for\n" * 200)
    (directory / "no-workload.toml").write_text("[guest]\ncpus = 1\n")
    (directory / "typo.toml").write_text('[workload]\nkind = "ops"\ntext = """\nsync\n  dance x\n"""\n')
    (directory / "field.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n[guest]\ncpu = 2\n')
    (directory / "outside.toml").write_text('[workload]\nkind = "script"\nfile = "/etc/passwd"\n')
    (directory / "image.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n[guest]\nimage = "nothing"\n')
    for name, line in {"semantics": 'semantics = "sync"', "promise": 'promise = "magic"',
                       "promise-field": 'promise = { bytes = "new" }', "promise-name": 'promise = { fast = true }',
                       "recovery": "recovery = []", "other": 'other_file_system = "fat"',
                       "oracle": 'oracles = ["./nothing"]'}.items():
        (directory / f"test-{name}.toml").write_text(f'[workload]\nkind = "script"\ntext = "true"\n[test]\n{line}\n')
    (directory / "table.txt").write_text("transaction mine\n  comit f\n")
    for name, file in {"missing": "nothing.txt", "wrong": "table.txt"}.items():
        (directory / f"analyze-{name}.toml").write_text(
            f'[workload]\nkind = "script"\ntext = "true"\n[analyze]\ntransactions = ["{file}"]\n')
    (directory / "outside.order").write_text("struct pmem0 sh in /bin/sh\n")
    (directory / "order-outside.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n[analyze]\norder = ["outside.order"]\n')
    (directory / "xfs-small.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n[pm]\nsize = "16M"\n'
                                              '[file_system]\ntype = "xfs"\n')
    (directory / "unknown-fs.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n[file_system]\ntype = "frobfs"\n')
    (directory / "type.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n[pm]\nsize = 128\n')
    (directory / "good.toml").write_text('[workload]\nkind = "script"\ntext = "true"\n')
    (directory / "quote.toml").write_text('[workload]\nkind = "script"\ntext = "echo \'x"\n')
    (directory / "full").mkdir()
    (directory / "full/file").write_text("x")
    (directory / "fake").mkdir()
    (directory / "fake/trace.db").write_text("not a trace" * 100)
    (directory / "loop").symlink_to("loop")
    (directory / "looping").mkdir()
    (directory / "looping/trace.db").symlink_to("trace.db")
    os.mkfifo(directory / "pipe")
    foreign = sqlite3.connect(directory / "foreign.db")
    foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    old_qemu = directory / "old-qemu"
    old_qemu.write_text("#!/bin/sh\necho 'QEMU emulator version 7.2.0'\n")
    old_qemu.chmod(0o755)
    # A real module of the guest image's own kernel, with another release in its vermagic.
    package = max((cache_directory() / "packages").rglob("linux-image-*cloud*.deb"), key=os.path.getmtime)
    listing = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True).stdout
    tar = directory / "kernel.tar"
    tar.write_bytes(listing)
    names = subprocess.run(["tar", "-tf", tar], capture_output=True, text=True, check=True).stdout.splitlines()
    name = next(n for n in names if re.search(r"/nd_btt\.ko$", n))
    module = subprocess.run(["tar", "-xOf", tar, name], capture_output=True, check=True).stdout
    release = re.search(rb"vermagic=([^ ]+)", module).group(1)
    other = b"9.9.9-other".ljust(len(release), b"x")[: len(release)]
    (directory / "other.ko").write_bytes(module.replace(b"vermagic=" + release, b"vermagic=" + other))
    tar.unlink()


STATE = "00000000-aea-1-n"  # looked for only when all else is right
TRACE = "store pmem0 8 = 1 @f\nflush clwb pmem0 @f\nfence sfence @f\n"


def make_runs(directory):
    """Runs without guests: one that is whole, and what `kill -9` leaves of others."""
    for name, text in {"traced": TRACE, "interrupted": TRACE + "recording running\n", "killed": TRACE,
                       "judged": TRACE, "unreadable": TRACE}.items():
        (directory / name).mkdir()
        subprocess.run([MAKE_TRACE, "-", directory / name / "trace.db"], input=text, text=True, check=True)
    (directory / "unreadable/trace.db").chmod(0)
    (directory / "link").symlink_to("text")
    # A writer that ends with half a transaction in the file.
    writer = ("import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
              "db.execute('PRAGMA cache_size = 2'); db.execute('BEGIN');"
              "db.executemany('INSERT INTO meta VALUES (?, ?)', ((str(i), 'x' * 50) for i in range(20000))); os._exit(0)")
    subprocess.run([sys.executable, "-c", writer, directory / "killed/trace.db"], check=True)
    digest = sqlite3.connect(directory / "judged/trace.db").execute("SELECT event_digest FROM recording").fetchone()[0]
    results = sqlite3.connect(directory / "judged/results.db")
    results.executescript((SOURCE / "replayer/test/results.sql").read_text())
    results.executemany("INSERT INTO about VALUES (?, ?)", [("trace", digest), ("oracles", "usable")])
    results.commit()
    results.close()


def make_cache(directory):
    """A cache of this test's own, as others may be at work in the user's."""
    cache = directory / "cache"
    (cache / "images").mkdir(parents=True)
    (cache / "packages").symlink_to(cache_directory() / "packages")
    shutil.copytree(cache_directory() / "images/default", cache / "images/default")
    return cache


def snapshot(cache):
    # Lock files stay for the next process that wants the lock.
    return sorted(str(p) for folder in ("scratch", "images", "templates") for p in (cache / folder).glob("*")
                  if not p.name.endswith("lock"))


class BadInput(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        make_files(pathlib.Path(cls.directory.name))
        make_runs(pathlib.Path(cls.directory.name))
        (pathlib.Path(cls.directory.name) / "small").mkdir()
        cls.cache = make_cache(pathlib.Path(cls.directory.name))

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def fill(self, text):
        return text.replace("{dir}", self.directory.name).replace("{state}", STATE).replace("{long}", "/long" * 480)

    def command(self, case):
        command = [PROGRAM, "-q"] + [self.fill(word) for word in case["command"]]
        if disk := case.get("disk"):
            # The cache on a disk of that many bytes; what it holds already is reached by links.
            links = "; ".join(f"ln -s {self.cache / part} {self.directory.name}/small/{part}"
                              for part in ("images", "packages"))
            command = ["bwrap", "--dev-bind", "/", "/", "--size", str(disk), "--tmpfs", f"{self.directory.name}/small",
                       "--setenv", "FENCEPOST_CACHE", f"{self.directory.name}/small",
                       "sh", "-c", f'{links}; exec "$@"', "sh"] + command
        if folder := case.get("read_only"):
            folder = str((self.cache / folder).resolve())
            command = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", folder, folder, *command]
        if case.get("unprivileged") and os.geteuid() == 0:
            # Files without permissions are closed to it then, as they are to others.
            command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
        return command


def add_case(case):
    def test(self):
        before = snapshot(self.cache)
        environment = dict(os.environ) | {"FENCEPOST_CACHE": str(self.cache)}
        environment |= {k: self.fill(v) for k, v in case.get("environment", {}).items()}
        result = subprocess.run(self.command(case), env=environment, capture_output=True, text=True, timeout=120)
        self.assertIn(self.fill(case["says"]), result.stderr)
        self.assertEqual(result.returncode, case["exit"], result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(snapshot(self.cache), before)

    setattr(BadInput, "test_" + re.sub(r"\W+", "_", case["name"]), test)


for each in CASES:
    add_case(each)

if __name__ == "__main__":
    unittest.main(verbosity=2)
