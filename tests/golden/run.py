# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the commands in *.golden and compares what they say with what the files claim (README.md).

run.py [--update] PROGRAM MAKE_TRACE [NAME...]

The same for pages in docs/ that have a line `<!-- golden: NAME.trace -->`: their ```console blocks.
"""

import difflib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
PAGE_TRACE = re.compile(r"^<!-- golden: (\S+) -->$", re.MULTILINE)
PAGE_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


class Mistake(Exception):
    """The golden file itself is wrong."""


def cases(path):
    """The lines of each case of a file, numbered: a line `== NAME` begins one."""
    found = [[]]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("== ") and any(text.startswith("$ ") for _, text in found[-1]):
            found.append([])
        found[-1].append((number, line))
    return found


def parse(path, lines):
    """(lines before the first command, trace text, masks, commands, other files by name)"""
    head, trace, masks, commands, files = [], None, [], [], {}
    in_trace = False
    into = None
    for number, line in lines:
        if line.startswith("$ "):
            commands.append(line[2:])
        if commands:
            continue
        head.append(line)
        if in_trace and (line.startswith((" ", "\t")) or not line.strip()):
            trace.append(line)
            continue
        in_trace = False
        if into is not None and (line.startswith("    ") or not line.strip()):
            into.append(line[4:])
            continue
        into = None
        if line.startswith("file:"):
            into = files[line[len("file:"):].strip()] = []
        elif line.startswith("trace:"):
            name = line[len("trace:"):].strip()
            in_trace = not name
            # Lines before the trace are kept as empty ones, so that mistakes are told with their line here.
            trace = (HERE / name).read_text().splitlines() if name else [""] * number
        elif line.startswith("mask:"):
            masks.append(re.compile(line[len("mask:"):].strip()))
        elif line.strip() and not line.startswith(("#", "== ")):
            raise Mistake(f"{path.name}:{number}: neither a comment, 'trace:', 'file:', 'mask:' nor '$ command'")
    if trace is None or not commands:
        raise Mistake(f"{path.name}: it has no trace or no command")
    return head, "\n".join(trace) + "\n", masks, commands, files


def run(command, program, directory):
    words = shlex.split(command)
    text = ""
    if len(words) >= 2 and words[-2] == "<<<":
        text = words[-1] + "\n"
        words = words[:-2]
    if words[0] != "fencepost":
        raise Mistake(f"'{command}' is not a fencepost command")
    result = subprocess.run([program] + words[1:], cwd=directory, input=text, capture_output=True, text=True,
                            timeout=120)
    yield "$ " + command
    for line in result.stdout.splitlines():
        if line.startswith(("$ ", "! ", "? ")):
            raise Mistake(f"'{command}' prints a line that a golden file cannot hold: {line}")
        yield line
    for line in result.stderr.splitlines():
        yield "! " + line
    if result.returncode:
        yield f"? {result.returncode}"


def answers(name, trace, masks, commands, program, make_trace, files={}):
    """The transcript of commands about one trace."""
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "RUN").mkdir()
        for file, lines in files.items():
            (pathlib.Path(directory) / file).write_text("\n".join(lines) + "\n")
        made = subprocess.run([make_trace, "-", "RUN/trace.db"], cwd=directory, input=trace, text=True,
                              capture_output=True)
        if made.returncode:
            raise Mistake(f"{name}: {made.stderr.strip()}")
        said = []
        for command in commands:
            for line in run(command, program, directory):
                for mask in masks:
                    line = line if line.startswith("$ ") else mask.sub("…", line)
                said.append(line.rstrip())
            said.append("")
    return "\n".join(said).rstrip() + "\n"


def transcript(path, program, make_trace):
    """What the file should say."""
    if path.suffix == ".md":
        text = path.read_text()
        trace = (HERE / PAGE_TRACE.search(text).group(1)).read_text()
        return PAGE_BLOCK.sub(
            lambda block: answers(path.name, trace, [],
                                  [line[2:] for line in block.group().splitlines() if line.startswith("$ ")],
                                  program, make_trace), text)
    said = []
    for lines in cases(path):
        head, trace, masks, commands, files = parse(path, lines)
        said.append("\n".join(head).rstrip() + "\n\n" +
                    answers(path.name, trace, masks, commands, program, make_trace, files))
    return "\n".join(said)


def all_files():
    pages = [page for page in sorted(DOCS.rglob("*.md")) if PAGE_TRACE.search(page.read_text())]
    return sorted(HERE.glob("*.golden")) + pages


def main(arguments):
    update = "--update" in arguments
    program, make_trace, *names = [a for a in arguments if a != "--update"]
    program, make_trace = pathlib.Path(program).resolve(), pathlib.Path(make_trace).resolve()
    paths = [path for path in all_files() if not names or path.stem in names]
    failed = 0
    missing = set(names) - {path.stem for path in paths}
    for path in paths:
        try:
            said = transcript(path, program, make_trace)
        except Mistake as mistake:
            print(f"not ok - {mistake}")
            failed += 1
            continue
        claimed = path.read_text()
        if said == claimed:
            print(f"ok - {path.name}")
        elif update:
            path.write_text(said)
            print(f"updated - {path.name}")
        else:
            failed += 1
            print(f"not ok - {path.name}")
            sys.stdout.writelines(difflib.unified_diff(claimed.splitlines(True), said.splitlines(True),
                                                       "claimed", "said"))
    for name in sorted(missing):
        print(f"not ok - there is no golden file {name}")
    sys.exit(1 if failed or missing or not paths else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
