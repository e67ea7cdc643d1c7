// SPDX-License-Identifier: GPL-2.0-or-later
// See kallsyms.h. Lines are "ffffffff81000000 T name" with "\t[module]" after them for modules, and
// "ext4 983040 1 - Live 0xffffffffc0300000" (proc(5)).
#include "analyzer/symbols/kallsyms.h"

#include <array>
#include <charconv>
#include <optional>

#include "analyzer/symbols/source_file.h"

namespace fencepost::symbols {

namespace {

// The next word of a line; empty at its end.
std::string_view take_word(std::string_view &line)
{
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

std::optional<std::uint64_t> number(std::string_view text, int base)
{
    if (base == 16 && text.starts_with("0x"))
        text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

template <typename Visit> void for_each_line(std::string_view text, Visit &&visit)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0)
            visit(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// Places that the linker script names; no code is meant by them.
bool is_end_of_text(std::string_view name)
{
    return name == "_etext" || name == "_einittext" || name.ends_with("_text_end");
}

SymbolRank rank_of(char type, std::string_view name)
{
    if (name == "_text" || name == "_stext" || name == "_sinittext" ||
        name.ends_with("_text_start") || name.starts_with("__pfx_"))
        return SymbolRank::marker;
    return type == 'T'                  ? SymbolRank::global
           : type == 'W' || type == 'w' ? SymbolRank::weak
                                        : SymbolRank::local;
}

} // namespace

std::vector<KernelModule> parse_modules(std::string_view text, std::size_t &skipped)
{
    std::vector<KernelModule> modules;
    for_each_line(text, [&](std::string_view line) {
        const std::string_view name = take_word(line);
        const auto size = number(take_word(line), 10);
        for (int i = 0; i < 3; ++i)
            take_word(line); // uses, users, state
        const auto base = number(take_word(line), 16);
        if (!size || !base || name.empty() || *base > UINT64_MAX - *size)
            ++skipped;
        else if (*base > 0)
            modules.push_back({.name = std::string(name), .base = *base, .size = *size});
    });
    return modules;
}

SymbolTable parse_kallsyms(std::string_view text, const std::vector<KernelModule> &modules,
                           std::size_t &skipped)
{
    SymbolTable table;
    for (const KernelModule &module : modules) {
        table.add_limit(module.base);
        table.add_limit(module.base + module.size);
    }
    for_each_line(text, [&](std::string_view line) {
        const auto address = number(take_word(line), 16);
        const std::string_view type = take_word(line);
        const std::string_view name = take_word(line);
        std::string_view module = take_word(line);
        if (!address || type.size() != 1 || name.empty()) {
            ++skipped;
            return;
        }
        const bool bracketed = module.size() > 2 && module.front() == '[' && module.back() == ']';
        module = bracketed ? module.substr(1, module.size() - 2) : "kernel";
        // A kernel that hides its addresses says 0 for all of them.
        if (*address == 0)
            return;
        const bool code = std::string_view("tTwW").find(type[0]) != std::string_view::npos;
        if (code && !is_end_of_text(name))
            table.add({.address = *address,
                       .rank = rank_of(type[0], name),
                       .name = std::string(name),
                       .module = std::string(module)});
        else
            table.add_limit(*address);
    });
    return table;
}

SymbolTable read_kernel_functions(const std::filesystem::path &kallsyms,
                                  const std::filesystem::path &modules,
                                  std::vector<std::string> &notes)
{
    std::size_t skipped = 0;
    std::vector<KernelModule> known;
    if (!modules.empty()) {
        if (const auto text = read_source(modules))
            known = parse_modules(*text, skipped);
        else
            notes.push_back(modules.string() + " cannot be read");
    }
    const auto text = read_source(kallsyms);
    if (!text) {
        notes.push_back(kallsyms.string() + " cannot be read");
        return {};
    }
    SymbolTable functions = parse_kallsyms(*text, known, skipped);
    functions.finish();
    if (functions.size() == 0)
        notes.push_back(kallsyms.string() + " names no function with an address");
    if (skipped > 0)
        notes.push_back(std::to_string(skipped) + " lines of kallsyms or modules make no sense");
    return functions;
}

} // namespace fencepost::symbols
