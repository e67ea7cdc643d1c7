# SPDX-License-Identifier: GPL-2.0-or-later
"""The package as a whole: its names, its help, its types."""

import inspect
import pathlib
import pydoc
import re
import shutil
import subprocess

import fencepost

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python" / "fencepost"


def public_members():
    for name in fencepost.__all__:
        thing = getattr(fencepost, name)
        yield name, thing
        if inspect.isclass(thing) and thing.__module__.startswith("fencepost"):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    yield f"{name}.{member}", value


def test_everything_public_is_used_by_a_test():
    tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    missing = [name for name, _ in public_members()
               if not re.search(rf"\b{re.escape(name.split('.')[-1])}\b", tests.replace("missing = [", ""))]
    assert missing == []


def test_everything_public_has_help():
    plain = ("path", "closed", "KINDS", "SUBKINDS", "__version__")  # their names say it
    assert [name for name, thing in public_members()
            if name.split(".")[-1] not in plain and not inspect.getdoc(thing)] == []


def test_help_teaches():
    text = pydoc.plain(pydoc.render_doc(fencepost))
    for word in ("fencepost.Run(", "help(fencepost.Trace)", "fencepost.Error"):
        assert word in text


def test_types():
    """The stubs of the core, and what the package does with it."""
    assert shutil.which("mypy"), "./setup --tests installs it"
    checked = subprocess.run(["mypy", "--config-file", PACKAGE.parent / "mypy.ini", PACKAGE],
                             capture_output=True, text=True, cwd=PACKAGE.parent)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_stubs_name_what_there_is():
    stub = (PACKAGE / "_core.pyi").read_text()
    said = set(re.findall(r"^(?:def|class) (\w+)|^(\w+):", stub, re.MULTILINE))
    named = {one or other for one, other in said}
    there = {name for name in vars(fencepost._core) if not name.startswith("_")}
    assert named == there
