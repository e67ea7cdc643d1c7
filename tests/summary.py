# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds up Meson's JUnit files: names what failed or was skipped, then prints `N passed, N failed`."""
import argparse
import sys
import xml.etree.ElementTree as ElementTree


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken-builds", type=int, default=0)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    passed, failed, skipped = 0, arguments.broken_builds, 0
    for file in arguments.files:
        if file.endswith("*.xml"):  # the shell found no file
            continue
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                print(f"failed: {name}")
            elif case.find("skipped") is not None:
                skipped += 1
                print(f"skipped: {name}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
