# SPDX-License-Identifier: GPL-2.0-or-later
"""The targets: their tables, the specs of their rows, and what must be built before they can run."""
import dataclasses
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
FENCEFS = HERE / "fencefs"
PROGRAMS = HERE / "programs"
EXAMPLES = HERE / "examples"
# A few of each kind that take a minute together.
QUICK = ["append_log:correct", "append_log:entry_unfenced", "append_log:flush_twice",
         "fencefs:correct:orphans", "fencefs:orphan_lost", "fencefs:orphan_blocks_leaked",
         "fencefs:correct:attributes", "fencefs:chmod_unfenced"]
# Blocks that were never written are zeroed and mapped by the first store to them, and ext4 without a journal does not
# have that mapping durable by then: what a program then stores is lost with it. So files are written in full before.
WRITE_FILE = "dd if=/dev/zero of={0} bs=1M count=8 2>/dev/null && "


@dataclasses.dataclass
class Row:
    target: str
    bug: str  # "" = the correct variant
    workload: str
    bug_class: str
    severity: str  # correctness, performance, or none
    kind: str  # file_system, program, example
    spec: str
    image: str = "default"  # the guest's: kernel, agent, modules
    files: tuple = ()  # what else the result depends on: the target's programs, the oracle's
    missed: str = ""  # why nothing finds it: known beforehand
    mode: str = ""  # of a target that is correct in several ways; "" is the first one
    mode_name: str = ""  # of the first one too
    title: str = ""  # what a finding must say ...
    place: str = ""  # ... and the function that it must name
    where: str = ""  # the functions of the target in which the bug is
    healthy: tuple = ()  # what oracles must say without any crash
    known: tuple = ()  # warnings that a correct variant is known to have, with their reasons in its table

    @property
    def name(self):
        return ":".join([self.target, self.bug or "correct", self.workload] + ([self.mode] if self.mode else []))


def load(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def quoted(text):
    return json.dumps(str(text), ensure_ascii=False)


def digest(paths):
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def fencefs_spec(work, workload, options, promise):
    setup = FENCEFS / "workloads" / f"{workload}.setup"
    oracles = [str(work / "oracle"), "usable"]
    if workload != "threads":  # what threads do at the same time has no one legal order
        oracles.append("semantic")
    text = f"""[guest]
image = "fencefs"
cpus = {2 if workload == "threads" else 1}
[pm]
size = "16M"
[file_system]
type = "fencefs"
mkfs_program = "mkfs.fencefs"
first_mount_options = "dax"
mount_options = {quoted(",".join(["dax"] + options))}
"""
    if setup.exists():
        text += f"[setup]\nscript = {quoted(setup.read_text())}\n"
    return text + f"""[workload]
kind = "ops"
unmount = true
text = {quoted((FENCEFS / "workloads" / f"{workload}.ops").read_text())}
[test]
oracles = {json.dumps(oracles)}
promise = {quoted(promise)}
time_limit = 5
"""


def program_spec(program, name, cpus, transactions, bug):
    switch = [f"--bug={bug}"] if bug else []
    path = f"/usr/local/bin/{name}"

    def words(*arguments):
        return "[" + ", ".join(quoted(word) for word in arguments) + "]"

    return f"""[guest]
cpus = {cpus}
[pm]
size = "32M"
[file_system]
type = "ext4"
mkfs_options = ["-O", "^has_journal"]
[[copy]]
from = {quoted(program)}
to = {quoted(path)}
[setup]
script = {quoted(WRITE_FILE.format("/mnt/pm/file") + f"{path} create /mnt/pm/file")}
[workload]
kind = "program"
command = {words(path, "run", "/mnt/pm/file", *switch)}
[test]
oracles = ["program"]
recovery = {words(path, "check", "/mnt/pm/file", *switch)}
[analyze]
transactions = {words(*(PROGRAMS / file for file in transactions))}
"""


def example_spec(work, example):
    copies = "".join(f"[[copy]]\nfrom = {quoted(work / 'examples' / name)}\nto = {quoted('/usr/local/bin/' + name)}\n"
                     for name in example["programs"])
    return f"""[pm]
size = "32M"
[file_system]
type = "ext4"
mkfs_options = ["-O", "^has_journal"]
{copies}[setup]
script = {quoted(WRITE_FILE.format("/mnt/pm/pool") + example["setup"])}
[workload]
kind = "script"
system_calls = true
text = {quoted(example["run"])}
[test]
oracles = ["program"]
recovery = ["sh", "-ec", {quoted(example["check"])}]
"""


def fencefs_rows(work):
    table = load(FENCEFS / "fencefs.toml")
    files = tuple(work / "oracle" / name for name in ("oracle.toml", "check", "fsck.fencefs"))
    modes = {mode["name"]: mode for mode in table["mode"]}
    first = table["mode"][0]["name"]

    def named(mode):
        return "" if mode == first else mode

    def options_of(each):
        return [each["options"]] if "options" in each else []

    for mode in table["mode"]:
        for workload in mode["workloads"]:
            yield Row("fencefs", "", workload, "", "none", "file_system",
                      fencefs_spec(work, workload, options_of(mode), mode["promise"]), "fencefs", files,
                      mode=named(mode["name"]), mode_name=mode["name"], healthy=tuple(mode.get("healthy", [])))
    for bug in table["bug"]:
        options = options_of(bug) or [f"bug={bug['name']}"]
        yield Row("fencefs", bug["name"], bug["workload"], bug["class"], bug["severity"], "file_system",
                  fencefs_spec(work, bug["workload"], options, modes[first]["promise"]), "fencefs", files,
                  bug.get("missed", ""), title=bug.get("title", ""), place=bug.get("place", ""), where=bug["where"])


def program_rows(build):
    for path in sorted(PROGRAMS.glob("*.toml")):
        table = load(path)
        name = table["target"]["name"]
        cpus = table["target"].get("cpus", 1)
        program = build / "tests/targets/programs" / name
        transactions = table["target"].get("transactions", [])
        files = (program, *(PROGRAMS / each for each in transactions))
        known = known_warnings(table["target"])
        for bug in [{"name": "", "class": "", "severity": "none"}, *table["bug"]]:
            yield Row(name, bug["name"], "run", bug["class"], bug["severity"], "program",
                      program_spec(program, name, cpus, transactions, bug["name"]), "default", files,
                      bug.get("missed", ""), title=bug.get("title", ""), place=bug.get("place", ""), where=bug.get("where", ""),
                      known=known)


def example_rows(work):
    table = load(EXAMPLES / "examples.toml")
    for example in table["example"]:
        files = tuple(work / "examples" / name for name in example["programs"])
        yield Row("example-" + example["name"], "", "run", "", "none", "example", example_spec(work, example), "default",
                  files, known=known_warnings(table) + known_warnings(example))


def known_warnings(table):
    """Each with a `summary` and a `why`."""
    return tuple(each["summary"] for each in table.get("known_warning", []))


def all_rows(work, build):
    return [*fencefs_rows(work), *program_rows(build), *example_rows(work)]


def select(rows, only, quick):
    wanted = list(only) + (QUICK if quick else [])
    if not wanted:
        return rows
    chosen = [row for row in rows if any(f"{row.name}:".startswith(each + ":") for each in wanted)]
    # What the correct variant shows too is no sign of a bug, so it is always there.
    against = {(row.target, row.workload) for row in chosen if row.bug}
    return [row for row in rows
            if row in chosen or (not row.bug and not row.mode and (row.target, row.workload) in against)]


def build_fencefs(work, build, fencepost):
    """The image `fencefs`, and the oracle's folder with its program in it. Returns the image's digest."""
    images = fencepost("image", "build")
    release = images["kernel_release"]
    tools = build / "tests/targets/fencefs"
    sources = [FENCEFS / "fencefs.h", FENCEFS / "Kbuild"]
    sources += sorted(path for path in FENCEFS.glob("*.[ch]") if path.name not in ("mkfs.c", "fencefs.h"))
    identity = digest(sources) + release
    module = work / "fencefs" / "module" / "fencefs.ko"
    stamp = work / "fencefs" / "identity"
    if not (module.exists() and stamp.exists() and stamp.read_text() == identity):
        shutil.rmtree(work / "fencefs", ignore_errors=True)
        (work / "fencefs").mkdir()
        subprocess.run([tools / "build_module", release, work / "fencefs", *sources], check=True, stdout=sys.stderr)
        subprocess.run(["strip", "--strip-debug", module], check=True)
        stamp.write_text(identity)
    extra = work / "fencefs-root" / "usr" / "sbin"
    extra.mkdir(parents=True, exist_ok=True)
    shutil.copy2(tools / "mkfs.fencefs", extra)
    image = fencepost("image", "build", "--name", "fencefs", "--module", str(module),
                      "--extra", str(work / "fencefs-root"))
    oracle = work / "oracle"
    oracle.mkdir(exist_ok=True)
    for path in [FENCEFS / "oracle" / "oracle.toml", FENCEFS / "oracle" / "check", tools / "fsck.fencefs"]:
        shutil.copy2(path, oracle)
    return image["digest"]


def build_examples(work):
    subprocess.run([EXAMPLES / "build", work / "examples"], check=True, stdout=sys.stderr)


def prepare(rows, work, build, fencepost):
    """Builds what the rows need. Returns the digests of the guests' images."""
    kinds = {row.kind for row in rows}
    images = {"default": fencepost("image", "build")["digest"]}
    if "file_system" in kinds:
        images["fencefs"] = build_fencefs(work, build, fencepost)
    if "example" in kinds:
        build_examples(work)
    return images
