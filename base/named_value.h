// SPDX-License-Identifier: GPL-2.0-or-later
// Values of options that have names.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace fencepost {

// `value`: what `text` names, if it names anything.
template <typename Value>
Value named_value(const std::optional<Value> &value, const char *what, const std::string &text,
                  const char *there_are)
{
    if (!value)
        fail(ErrorKind::usage, "there is no {} '{}'; there are {}", what, text, there_are);
    return *value;
}

} // namespace fencepost
