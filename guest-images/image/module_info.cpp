// SPDX-License-Identifier: GPL-2.0-or-later
// See module_info.h.
#include "guest-images/image/module_info.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/image/elf_file.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestModule = std::size_t(1) << 30;

constexpr std::array<std::pair<const char *, const char *>, 3> kDecompressors = {
    {{".gz", "gzip"}, {".xz", "xz"}, {".zst", "zstd"}}};

std::vector<std::string> split(std::string_view text, std::string_view separators)
{
    std::vector<std::string> parts;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find_first_of(separators, start), text.size());
        if (end > start)
            parts.emplace_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

std::vector<std::string> module_names(std::vector<std::string> names)
{
    for (std::string &name : names)
        name = normal_module_name(name);
    return names;
}

// "pre: a b post: c" gives a and b.
std::vector<std::string> before(std::string_view softdep)
{
    std::vector<std::string> names;
    bool pre = false;
    for (std::string &word : split(softdep, " \t")) {
        if (word.ends_with(':'))
            pre = word == "pre:";
        else if (pre)
            names.push_back(normal_module_name(word));
    }
    return names;
}

void take(ModuleInfo &info, std::string_view key, std::string_view value)
{
    const auto append = [](std::vector<std::string> &to, std::vector<std::string> more) {
        to.insert(to.end(), more.begin(), more.end());
    };
    if (key == "vermagic")
        info.release = value.substr(0, value.find(' '));
    else if (key == "depends")
        append(info.depends, module_names(split(value, ",")));
    else if (key == "softdep")
        append(info.soft_depends, before(value));
    else if (key == "parmtype")
        info.parameters.emplace_back(value.substr(0, value.find(':')));
}

} // namespace

std::string normal_module_name(std::string_view text)
{
    std::string name(text);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::string module_name(const fs::path &file)
{
    std::string name = file.filename().string();
    for (const auto &[suffix, program] : kDecompressors) {
        if (name.ends_with(suffix)) {
            name.resize(name.size() - std::string_view(suffix).size());
            break;
        }
    }
    constexpr std::string_view kSuffix = ".ko";
    if (!name.ends_with(kSuffix))
        return {};
    name.resize(name.size() - kSuffix.size());
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-' || c == '+' || c == '.';
    });
    return plain ? normal_module_name(name) : std::string();
}

std::string read_module(const fs::path &file)
{
    const std::string suffix = file.extension().string();
    for (const auto &[known, program] : kDecompressors) {
        if (suffix != known)
            continue;
        if (!find_program(program))
            fail(ErrorKind::io, "{} is needed to read {}: install it", program, file.string());
        CommandResult result = run_command({program, "-dc", fs::absolute(file).string()},
                                           {.output_limit = kLargestModule});
        if (!result.success())
            fail(ErrorKind::usage, "cannot decompress {}: {}", file.string(), result.last_words());
        return std::move(result.output);
    }
    return read_file(file);
}

ModuleInfo parse_module_info(std::string_view bytes, const fs::path &file)
{
    const auto elf = ElfFile::parse(bytes);
    if (!elf || !elf->relocatable())
        fail(ErrorKind::usage, "{} is not an x86-64 kernel module", file.string());
    const auto section = elf->section(".modinfo");
    if (!section)
        fail(ErrorKind::usage, "{} is not a kernel module, or is damaged: it has no .modinfo",
             file.string());
    ModuleInfo info;
    for (const std::string &entry : split(*section, std::string_view("\0", 1))) {
        const std::size_t equals = entry.find('=');
        if (equals != std::string::npos)
            take(info, std::string_view(entry).substr(0, equals),
                 std::string_view(entry).substr(equals + 1));
    }
    if (info.release.empty())
        fail(ErrorKind::usage, "{} does not say which kernel it is for (no vermagic)",
             file.string());
    return info;
}

} // namespace fencepost::images
