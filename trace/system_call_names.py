# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the system calls of x86-64 as rows of a C++ table, from the kernel's header for programs.

system_call_names.py OUTPUT COMPILER...
"""

import re
import subprocess
import sys
from pathlib import Path


def main(output, *compiler):
    macros = subprocess.run([*compiler, "-m64", "-dM", "-E", "-"], input="#include <asm/unistd.h>\n", text=True,
                            stdout=subprocess.PIPE, check=True).stdout
    calls = {int(number): name for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", macros, re.MULTILINE)}
    if len(calls) < 300:
        sys.exit(f"<asm/unistd.h> names only {len(calls)} system calls")
    Path(output).write_text("".join(f'{{{number}, "{calls[number]}"}},\n' for number in sorted(calls)))


if __name__ == "__main__":
    main(*sys.argv[1:])
