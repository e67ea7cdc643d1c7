# SPDX-License-Identifier: GPL-2.0-or-later
"""The package where `meson install` puts it."""

import json
import os
import pathlib
import site
import subprocess
import sys
import tomllib

import pyproject_metadata

import fencepost

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_an_installed_copy(tmp_path, journal):
    subprocess.run(["meson", "install", "-C", os.environ["FENCEPOST_BUILD"], "--no-rebuild", "--destdir", tmp_path,
                    "--tags", "python-runtime"], check=True, capture_output=True)
    (package,) = tmp_path.rglob("fencepost/__init__.py")
    place = pathlib.Path("/", package.parent.parent.relative_to(tmp_path))
    assert str(place) in site.getsitepackages(), "this Python would not find it"
    asked = ("import sys, fencepost; print(fencepost.__file__);"
             "print(fencepost.Trace(sys.argv[1]).sql('SELECT count(*) AS n FROM store_fate')['n'][0])")
    said = subprocess.run([sys.executable, "-c", asked, journal], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(package.parent.parent)}).stdout
    assert said.split() == [str(package), "5"]
    sources = ROOT / "python" / "fencepost"
    assert {path.name for path in sources.glob("*.py*")} - {path.name for path in package.parent.iterdir()} == set()


def test_what_a_wheel_has(tmp_path):
    """All of it is in the package; tests/long/pip_install builds and uses one."""
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pyproject_metadata.StandardMetadata.from_pyproject(described, ROOT)  # or it throws
    its = described["tool"]["meson-python"]["args"]
    subprocess.run(["meson", "setup", *its["setup"], tmp_path, ROOT], check=True, capture_output=True)
    plan = json.loads(subprocess.run(["meson", "introspect", "--install-plan", tmp_path], check=True, text=True,
                                     capture_output=True).stdout)
    places = {each["destination"] for files in plan.values() for each in files.values()}
    assert {place.split("/")[0] for place in places} == {"{py_platlib}"}
    names = {place.removeprefix("{py_platlib}/fencepost/") for place in places}
    installed = {path.name for path in pathlib.Path(fencepost.__file__).parent.iterdir() if path.is_file()}
    assert {name for name in names if "/" not in name} == installed
    assert {name.removeprefix("parts/") for name in names if "/" in name} == {
        "fencepost-agent", "fencepost-mark", "fencepost-probe.so", "fencepost-tracer.so", "fencepost_trace.so",
        "annotators/ext4", "annotators/xfs", "fsck-oracles/ext4", "fsck-oracles/xfs"}
    version = json.loads((tmp_path / "meson-info" / "intro-projectinfo.json").read_text())["version"]
    assert version == fencepost.__version__
