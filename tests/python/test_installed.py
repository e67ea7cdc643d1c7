# SPDX-License-Identifier: GPL-2.0-or-later
"""The package where `meson install` puts it."""

import os
import pathlib
import site
import subprocess
import sys


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
    sources = pathlib.Path(__file__).resolve().parents[2] / "python" / "fencepost"
    assert {path.name for path in sources.glob("*.py*")} - {path.name for path in package.parent.iterdir()} == set()
