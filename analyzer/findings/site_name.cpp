// SPDX-License-Identifier: GPL-2.0-or-later
// See site_name.h.
#include "analyzer/findings/site_name.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/symbols/readable_name.h"

namespace fencepost::findings {

using symbols::CodePlace;

namespace {

// Words of names: "__memcpy_flushcache", "pmem_memcpy_persist", "memmove_movnt_avx_clwb".
constexpr std::array<std::string_view, 18> kCopyWords = {
    "memcpy",     "memmove",   "memset",         "mempcpy",        "movnt",     "clear_page",
    "clear_user", "copy_page", "copy_from_iter", "copy_from_user", "copy_user", "strcpy",
    "strncpy",    "stpcpy",    "stpncpy",        "strcat",         "strncat",   "printf"};

// What a file of the C library is called, up to its version.
constexpr std::array<std::string_view, 2> kLibc = {"libc.so.", "libc.musl-"};

// Whole names of the way from a file system to a block device in PM.
constexpr std::array<std::string_view, 9> kBlockDriver = {
    "write_pmem",         "pmem_do_write", "pmem_do_bvec",      "pmem_submit_bio",
    "submit_bio",         "__submit_bio",  "submit_bio_noacct", "submit_bio_noacct_nocheck",
    "__submit_bio_noacct"};

// What compilers add to the name of a part or a variant: "insert.part.0",
// "walk.constprop.0.isra.0".
std::string_view without_variant(std::string_view function)
{
    for (const std::string_view variant : {".part.", ".isra.", ".constprop.", ".cold", ".llvm."})
        if (const auto at = function.find(variant); at != std::string_view::npos && at != 0)
            function = function.substr(0, at);
    return function;
}

std::string name_of(const CodePlace &code)
{
    const std::string_view module = code.module;
    return std::string(without_variant(code.function)) + " [" +
           std::string(module.substr(module.rfind('/') + 1)) + "]";
}

bool is_libc(const CodePlace &code)
{
    const std::string_view path = code.module;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return std::any_of(kLibc.begin(), kLibc.end(),
                       [&](std::string_view libc) { return file.starts_with(libc); });
}

// Stores what its caller wants stored.
bool copies_for_others(const CodePlace &code)
{
    const std::string_view name = without_variant(code.function);
    return is_libc(code) ||
           std::any_of(
               kCopyWords.begin(), kCopyWords.end(),
               [&](std::string_view word) { return name.find(word) != std::string_view::npos; }) ||
           std::find(kBlockDriver.begin(), kBlockDriver.end(), name) != kBlockDriver.end();
}

using Callers = std::vector<CodePlace>;

// The innermost code that stores for itself, and its callers.
std::pair<const CodePlace *, Callers::const_iterator> responsible(const symbols::EventPlace &place)
{
    const CodePlace *code = &place.code;
    auto caller = place.callers.begin();
    while ((code->named || is_libc(*code)) && copies_for_others(*code) &&
           caller != place.callers.end())
        code = &*caller++;
    return {code, caller};
}

} // namespace

std::vector<std::string> site_names(const symbols::EventPlace &place, const std::string &operation)
{
    auto [code, caller] = responsible(place);
    if (!code->named)
        return {code->module.empty() && !operation.empty() ? "in: " + operation : code->function};
    std::vector<std::string> names = {name_of(*code)};
    for (; caller != place.callers.end() && caller->named; ++caller)
        names.push_back(name_of(*caller));
    return names;
}

std::string caller_name(const symbols::EventPlace &place)
{
    const auto [code, caller] = responsible(place);
    const bool known = code->named && caller != place.callers.end() && caller->named;
    return known ? std::string(without_variant(caller->function)) : "";
}

const CodePlace &responsible_code(const symbols::EventPlace &place)
{
    return *responsible(place).first;
}

std::string text_of(const symbols::EventPlace &place)
{
    const CodePlace *code = responsible(place).first;
    const std::string text = symbols::text_of(*code);
    return code == &place.code ? text
                               : text + " by " + symbols::shortened_name(place.code.function);
}

} // namespace fencepost::findings
