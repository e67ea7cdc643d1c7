// SPDX-License-Identifier: GPL-2.0-or-later
// See system_calls.h.
#include "trace/system_calls.h"

#include <algorithm>
#include <string_view>

namespace fencepost::trace {

namespace {

struct SystemCall {
    std::int64_t number;
    std::string_view name;
};

// Ascending; made by system_call_names.py.
constexpr SystemCall kSystemCalls[] = {
#include "trace/system_call_names.inc"
};

} // namespace

std::string system_call_name(std::int64_t number)
{
    const auto *call = std::ranges::lower_bound(kSystemCalls, number, {}, &SystemCall::number);
    if (call != std::end(kSystemCalls) && call->number == number)
        return std::string(call->name);
    return "system call " + std::to_string(number);
}

} // namespace fencepost::trace
