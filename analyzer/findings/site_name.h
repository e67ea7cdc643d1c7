// SPDX-License-Identifier: GPL-2.0-or-later
// What code that stores is called, the same in every process, build and run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/code_place.h"

namespace fencepost::findings {

// "function [module]" of the innermost function that does not store what its caller wants stored
// (as do the C library, memcpy() and its kin, and the driver of a block device), without offsets,
// and of its callers as far as they have names. Code without a name: its place in the file; code of
// which not even that is known, as that of the agent that carries out operations: the operation, or
// else the address. Never empty.
std::vector<std::string> site_names(const symbols::EventPlace &place, const std::string &operation);
// The innermost code that stores for itself, as above.
const symbols::CodePlace &responsible_code(const symbols::EventPlace &place);
// The same function with the place in it, and whom it had store: "sign+0x5b (book.c:15) by
// strncpy".
std::string text_of(const symbols::EventPlace &place);
// The function that this function stores for; empty: not known.
std::string caller_name(const symbols::EventPlace &place);
inline std::string site_name(const symbols::EventPlace &place, const std::string &operation)
{
    return site_names(place, operation).front();
}

} // namespace fencepost::findings
