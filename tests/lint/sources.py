# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that the lints look at."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["analyzer", "annotators", "base", "cli", "fsck-oracles", "guest-images", "qemu-plugin", "replayer", "tests", "trace"]


def files():
    """Paths below the root, sorted."""
    return sorted(file.relative_to(ROOT) for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.is_file())


def sources(*suffixes):
    return [file for file in files() if file.name.endswith(suffixes)]


def python_sources():
    """Also the programs among them, which have no suffix."""
    for file in files():
        if file.suffix == ".py":
            yield file
        elif not file.suffix:
            with (ROOT / file).open("rb") as opened:
                if re.match(rb"#!\S*python3", opened.readline()):
                    yield file
