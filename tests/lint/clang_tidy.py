# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs clang-tidy with the checks of .clang-tidy, each a failure, over the folders below.

clang_tidy.py BUILD [FILE...]    BUILD has the compile_commands.json; FILEs instead of the folders

The rest of the tree includes headers that cost clang-tidy five seconds a file: all of it would take a quarter of an
hour. These folders are where memory is handled by hand, and the hot loops.
"""
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sources import ROOT, sources

FOLDERS = ("analyzer/model/", "base/", "qemu-plugin/", "replayer/image/", "replayer/states/", "trace/")


def main(arguments):
    build, *files = arguments
    files = files or [file for file in map(str, sources(".cpp")) if file.startswith(FOLDERS)]

    def tidy(file):
        return subprocess.run(["clang-tidy", "-p", build, "--quiet", file], cwd=ROOT, capture_output=True, text=True)

    if not shutil.which("clang-tidy"):
        sys.exit("clang-tidy is missing: ./setup --tests installs it")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(tidy, files))
    for result in results:
        if result.returncode:
            print(result.stdout or result.stderr)
    wrong = sum(result.returncode != 0 for result in results)
    print(f"{len(files)} files, {wrong} of them with warnings")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
