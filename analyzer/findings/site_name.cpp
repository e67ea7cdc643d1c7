// SPDX-License-Identifier: GPL-2.0-or-later
// See site_name.h.
#include "analyzer/findings/site_name.h"

#include <algorithm>
#include <array>

namespace fencepost::findings {

using symbols::CodePlace;

namespace {

// Words of names: "__memcpy_flushcache", "pmem_memcpy_persist", "memmove_movnt_avx_clwb".
constexpr std::array<std::string_view, 11> kCopyWords = {
    "memcpy",     "memmove",   "memset",         "mempcpy",        "movnt",    "clear_page",
    "clear_user", "copy_page", "copy_from_iter", "copy_from_user", "copy_user"};

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

} // namespace

bool copies_for_others(std::string_view function)
{
    const std::string_view name = without_variant(function);
    return std::any_of(
               kCopyWords.begin(), kCopyWords.end(),
               [&](std::string_view word) { return name.find(word) != std::string_view::npos; }) ||
           std::find(kBlockDriver.begin(), kBlockDriver.end(), name) != kBlockDriver.end();
}

std::vector<std::string> site_names(const symbols::EventPlace &place, const std::string &operation)
{
    const CodePlace *code = &place.code;
    auto caller = place.callers.begin();
    while (code->named && copies_for_others(code->function) && caller != place.callers.end())
        code = &*caller++;
    if (!code->named)
        return {code->module.empty() && !operation.empty() ? "in: " + operation : code->function};
    std::vector<std::string> names = {name_of(*code)};
    for (; caller != place.callers.end() && caller->named; ++caller)
        names.push_back(name_of(*caller));
    return names;
}

} // namespace fencepost::findings
