// SPDX-License-Identifier: GPL-2.0-or-later
// make_trace TEXT TRACE: makes a trace file from its text; `-` as TEXT is stdin.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "tests/golden/trace_text.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: make_trace TEXT TRACE\n");
        return 2;
    }
    try {
        const std::string name = argv[1];
        const std::string text = name == "-"
                                     ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                     : fencepost::read_file(name);
        fencepost::golden::write_trace(text, argv[2], name == "-" ? "stdin" : name);
        return 0;
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "make_trace: %s\n", error.what());
        return error.exit_code();
    }
}
