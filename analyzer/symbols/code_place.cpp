// SPDX-License-Identifier: GPL-2.0-or-later
// See code_place.h.
#include "analyzer/symbols/code_place.h"

#include <fmt/format.h>

#include "analyzer/symbols/readable_name.h"

namespace fencepost::symbols {

std::string text_of(const CodePlace &code)
{
    std::string text = code.named ? shortened_name(code.function) : code.function;
    if (code.inlined)
        text += " (inlined)";
    else if (code.named && code.offset)
        text += fmt::format("+0x{:x}", code.offset);
    if (!code.source_file.empty())
        text += fmt::format(" ({}:{})", code.source_file, code.source_line);
    return text;
}

} // namespace fencepost::symbols
