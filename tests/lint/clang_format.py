# SPDX-License-Identifier: GPL-2.0-or-later
"""Fails when clang-format would change a file of C or C++; `--fix` lets it. Versions differ in what they want: with
another one than the tree's this is skipped."""
import re
import subprocess
import sys

from sources import ROOT, sources

VERSION = "14"
SKIPPED = 77


def main(arguments):
    try:
        said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit("clang-format is missing: ./setup --tests installs it")
    if not re.search(rf"version {VERSION}\.", said):
        print(f"this tree is formatted by clang-format {VERSION}, and this is {said.strip()}")
        sys.exit(SKIPPED)
    mode = ["-i"] if arguments == ["--fix"] else ["--dry-run", "--Werror"]
    files = map(str, sources(".h", ".cpp", ".c"))
    sys.exit(subprocess.run(["clang-format", *mode, *files], cwd=ROOT).returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
