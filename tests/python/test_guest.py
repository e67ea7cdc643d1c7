# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests by hand."""

import os
import pathlib
import subprocess
import sys

import pytest

import fencepost


def children():
    return pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


def test_a_guest_by_hand():
    with fencepost.Guest("ext4", pm_size="64M") as guest:
        assert repr(guest) == f"<fencepost.Guest Linux {guest.kernel_release}>"
        guest.write("/mnt/pm/a", "hello\n")
        finished = guest.run("cp a b; cat b; echo oops >&2", directory="/mnt/pm")
        assert isinstance(finished, fencepost.Finished)
        assert (finished.status, finished.text, finished.errors) == (0, "hello\n", b"oops\n")
        assert not finished.truncated and finished.seconds < 60
        assert guest.read("/mnt/pm/b") == b"hello\n"
        assert guest.tree() == ["a", "b", "lost+found"]
        guest.write("/mnt/pm/one\nname", bytearray(b"x"))
        guest.write("/mnt/pm/one\u2028name", memoryview(b"y"))
        assert guest.tree() == ["a", "b", "lost+found", "one\nname", "one\u2028name"]
        guest.run(["rm", "/mnt/pm/one\nname", "/mnt/pm/one\u2028name"])
        for wrong in (5, [1, 2], None):
            with pytest.raises(TypeError, match="content is bytes or a str, not"):
                guest.write("/mnt/pm/a", wrong)
        assert guest.run(["sh", "-c", "echo $NAME; cat"], environment={"NAME": "x"}, input=b"in").output == b"x\nin"
        assert "EXT4-fs (pmem0): mounted" in guest.kernel_log
        pm_file = pathlib.Path(guest.pm_file)
        guest.unmount()
        assert b"hello\n" in pm_file.read_bytes()
        guest.mount()
        assert guest.read("/mnt/pm/a") == b"hello\n"
    assert not pm_file.exists() and children() == []
    assert repr(guest).endswith(", closed>")
    for ask in (lambda: guest.read("/a"), lambda: guest.run("true"), lambda: guest.kernel_log):
        with pytest.raises(fencepost.UsageError, match="^the guest is closed$"):
            ask()


def test_what_fails_in_a_guest():
    with fencepost.Guest(None, pm_size="64M") as guest:
        with pytest.raises(fencepost.GuestError, match="ended with status 3: why"):
            guest.run("echo why >&2; exit 3")
        assert guest.run("exit 3", check=False).status == 3
        assert guest.run("kill -9 $$", check=False).status == -9
        with pytest.raises(fencepost.GuestError, match="did not end in 0.5 s"):
            guest.run("sleep 60", seconds=0.5)
        with pytest.raises(fencepost.GuestError, match="reading /nowhere: .*No such file"):
            guest.read("/nowhere")
        with pytest.raises(fencepost.GuestError, match="mount"):
            guest.mount()
        with pytest.raises(TypeError):
            guest.run([1, 2])
        for wrong in (-1, 0, float("nan"), float("inf")):
            with pytest.raises(fencepost.UsageError, match=f"^{wrong} seconds is an invalid duration$"):
                guest.run("true", seconds=wrong)
        # A limit of the shortest time is one; of 2**32 ms and 704 more it is not one of 704 ms.
        assert guest.run("sleep 60", seconds=1e-9, check=False).status is None
        assert guest.run("sleep 1; echo slept", seconds=4294968).text == "slept\n"
        for ask in (lambda: guest.run("a\0b"), lambda: guest.run("true", directory="/\0"), lambda: guest.read("/a\0"),
                    lambda: guest.run("true", environment={"A": "\0"}), lambda: guest.write("/a\0", b"")):
            with pytest.raises(fencepost.UsageError, match="there is a zero byte in the (command|directory|path|env)"):
                ask()
        assert guest.run("cat", input=b"\0").output == b"\0"
        assert guest.run("echo still here").text == "still here\n"


def test_wrong_guests():
    for wrong in ({"pm_size": "1K"}, {"pm_size": "much"}, {"backend": "cloud"}, {"attach": "usb"}, {"mount_options": "dax\0"}, {"image": "none-of-that-name"}):
        with pytest.raises(fencepost.Error):
            fencepost.Guest(**wrong)
    with pytest.raises(fencepost.Error):
        fencepost.Guest("ntfs")
    assert children() == []


def test_an_exception_ends_the_guest():
    with pytest.raises(LookupError):
        with fencepost.Guest(None, pm_size="64M"):
            raise LookupError
    assert children() == []


def test_nothing_is_left(journal):
    """The short form of what tests/long/python_leaks does with 200 guests."""
    script = pathlib.Path(__file__).resolve().parents[1] / "long" / "python_leaks"
    said = subprocess.run([sys.executable, script, "--build", os.environ["FENCEPOST_BUILD"], "--guests", "20", "--traces",
                           "100", journal], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.count("nothing left behind") == 4
