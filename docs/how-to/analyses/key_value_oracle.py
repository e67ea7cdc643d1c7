# SPDX-License-Identifier: GPL-2.0-or-later
"""An oracle for a key-value store: what was acknowledged is there, and a put under way is there whole or not at all.

key_value_oracle.py FOLDER [careless]

The store keeps each value in a file and replaces it by a rename. A careless one acknowledges what it has not synced.
"""

import sys

import fencepost

PUTS = [("apple", "1" * 100), ("pear", "2" * 100), ("apple", "3" * 100)]
SPEC = {"pm": {"size": "64M"}, "file_system": {"type": "ext4"}}


def put(number, key, value, careless):
    """The store's file operations. It acknowledges when the last one has returned."""
    yield f"open f{number} {key}.new rdwr|creat|trunc"
    yield f'write f{number} "{value}"'
    yield f"fsync f{number}"
    yield f"close f{number}"
    yield f"rename {key}.new {key}"
    yield f"open d{number} . rdonly|directory"
    yield f"close d{number}" if careless else f"fsync d{number}"


def operations(careless):
    return [list(put(number, key, value, careless)) for number, (key, value) in enumerate(PUTS)]


def keeps_promises(guest, progress):
    """Each key has its last acknowledged value, or that of the put that was under way."""
    if not guest.crashed:
        return
    returned = progress.returned.number if progress.returned else 0
    done = returned // len(operations(False)[0])
    names = guest.tree()
    for key in {key for key, _ in PUTS}:
        allowed = [value for name, value in PUTS[:done] if name == key][-1:] or [None]
        allowed += [value for name, value in PUTS[done:done + 1] if name == key]
        there = guest.read(key).decode() if key in names else None
        assert there in allowed, f"{key} is {there}, and may be {' or '.join(map(str, allowed))}"


if __name__ == "__main__":
    text = "\n".join(line for lines in operations(sys.argv[2:] == ["careless"]) for line in lines)
    found = fencepost.campaign([text], SPEC, sys.argv[1], oracles=keeps_promises, strategy="returns,none-all,subsets:1",
                               seconds=60, minimize_seconds=None)
    print(found)
    for finding in found.findings:
        print(f"{finding['severity']}: {finding['title']}")
