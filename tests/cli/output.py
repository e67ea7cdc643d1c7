# SPDX-License-Identifier: GPL-2.0-or-later
"""Every verb that prints ends the same way when nobody reads its output, and when it cannot be written."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

MAKE_TRACE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
# Enough stores for a list of states that fills the buffer of stdout several times.
TRACE = "".join(f"store pmem0+{64 * i} 8 = {i + 1} @f\nflush clwb pmem0+{64 * i} @f\nfence sfence @f\n"
                for i in range(400))
COMMANDS = [
    ["info", "RUN"],
    ["info", "RUN", "--json"],
    ["sql", "RUN", "SELECT seq, kind FROM event"],
    ["analyze", "RUN"],
    ["analyze", "--list-rules"],
    ["show", "RUN"],
    ["report", "RUN", "--format", "markdown"],
    ["report", "RUN", "-o", "-"],
    ["states", "RUN"],
    ["states", "RUN", "--list"],
    ["states", "RUN", "--list", "--json"],
    ["states", "RUN", "--epochs"],
    ["states", "RUN", "--show", "STATE"],
    ["--help"],
    ["states", "--help"],
    ["--version"],
]


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.run_directory = pathlib.Path(cls.directory.name)
        subprocess.run([MAKE_TRACE, "-", cls.run_directory / "trace.db"], input=TRACE, text=True, check=True)
        listed = subprocess.run([PROGRAM, "states", cls.run_directory, "--list"], capture_output=True, text=True,
                                check=True).stdout
        assert len(listed) > 1 << 14
        cls.state = listed.splitlines()[0].split()[0]

    def check_each(self, stdout, status, says):
        for command in COMMANDS:
            with self.subTest(" ".join(command)):
                words = [{"RUN": str(self.run_directory), "STATE": self.state}.get(word, word) for word in command]
                result = subprocess.run([PROGRAM, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual((result.returncode, result.stderr), (status, says))

    def test_a_closed_pipe_is_a_quiet_end(self):
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "w") as closed:
            self.check_each(closed, -signal.SIGPIPE, "")

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            self.check_each(full, 4, "fencepost: cannot write the result to stdout\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
