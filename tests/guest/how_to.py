#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does what a how-to says, in an empty folder, and compares what commands print with what the page shows.

how_to.py PROGRAM SOURCE PAGE

Blocks: ```LANGUAGE FILE is a file, ```diff a patch, ```console commands (`$ …`) and what they print on stdout. A line `…` is any number
of lines, `…` in a line any text, and numbers may be others but for how many findings there are and for exit statuses.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(0x)?[0-9][0-9.]*")
EXACT = re.compile(r"(findings +)?[0-9]+")


def without_numbers(line):
    return line if EXACT.fullmatch(line) else NUMBER.sub("#", line)


def fits(shown, printed):
    pattern = ""
    for line in shown:
        pattern += r"(?:[^\n]*\n)*?" if line == "…" else ".*".join(map(re.escape, without_numbers(line).split("…"))) + r"\n"
    text = "".join(without_numbers(line) + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


def commands(block):
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


class Session:
    """Commands in one folder; the exit status of the last one and variables are kept, as in a shell."""

    def __init__(self, program, folder):
        self.folder = folder
        self.environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
        self.status = 0

    def run(self, command):
        script = f"[ -f .variables ] && . ./.variables; (exit {self.status}); {command}\nstatus=$?; declare -p release >.variables 2>/dev/null; exit $status"
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
        self.status = done.returncode
        return done.stdout


def main():
    program, source, page = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    wrong = ran = 0
    with tempfile.TemporaryDirectory(prefix="fencepost-how-to-") as folder:
        (pathlib.Path(folder) / "source").symlink_to(source)
        session = Session(program, folder)
        for language, file, text in BLOCK.findall(page.read_text()):
            if file:
                (pathlib.Path(folder) / file).write_text(text)
            elif language == "diff":
                subprocess.run(["patch", "-p0", "--quiet"], cwd=folder, input=text, text=True, check=True)
            elif language == "console":
                for command, shown in commands(text):
                    ran += 1
                    printed = session.run(command)
                    if fits(shown, printed):
                        continue
                    wrong += 1
                    print(f"{page.name}: $ {command}\n--- shown\n" + "\n".join(shown) + f"\n--- printed (exit status {session.status})\n{printed}---")
    print(f"{page.name}: {ran} commands, {wrong} not as shown")
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
