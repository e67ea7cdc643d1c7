// SPDX-License-Identifier: GPL-2.0-or-later
// See code_book.h.
#include "tests/golden/code_book.h"

#include <stdexcept>

#include <fmt/core.h>

#include "tests/golden/line_tokens.h"

namespace fencepost::golden {

namespace {

constexpr std::uint64_t kFunctionBytes = 0x1000;
constexpr std::uint64_t kKernelText = 0xffffffff81000000;
constexpr std::uint64_t kUserText = 0x400000;

} // namespace

bool CodeBook::declare(Function function)
{
    if (functions_.contains(function.symbol.name))
        return false;
    // Kernel and user functions share one count, so that a declaration added later for one of
    // them does not move the others.
    const std::uint64_t index = functions_.size();
    function.symbol.id = static_cast<std::uint32_t>(index) + 1;
    function.symbol.address =
        (function.privilege == trace::Privilege::kernel ? kKernelText : kUserText) +
        index * kFunctionBytes;
    function.symbol.size = kFunctionBytes;
    functions_.emplace(function.symbol.name, std::move(function));
    return true;
}

CodeBook::Function &CodeBook::function(const std::string &name)
{
    if (!functions_.contains(name))
        declare({.symbol = {.name = name, .module = "kernel"}});
    return functions_.find(name)->second;
}

CodeBook::Place CodeBook::locate(std::string_view place)
{
    if (const auto address = parse_number(place))
        return {.pc = *address};
    const std::size_t colon = place.rfind(':');
    const auto line = colon == place.npos ? 0 : parse_number(place.substr(colon + 1));
    const std::string_view before = place.substr(0, colon);
    const std::size_t plus = before.rfind('+');
    const auto offset = plus == before.npos ? line : parse_number(before.substr(plus + 1));
    const std::string name(before.substr(0, plus));
    if (!line || !offset || name.empty() || *line > UINT32_MAX)
        throw std::invalid_argument(fmt::format(
            "'{}' is no place in code: NAME, NAME+OFFSET, NAME:LINE or an address", place));
    if (*offset >= kFunctionBytes)
        throw std::invalid_argument(fmt::format(
            "a function has {} bytes; give '{}' an offset below that", kFunctionBytes, place));
    const Function &in = function(name);
    return {.pc = in.symbol.address + *offset,
            .privilege = in.privilege,
            .address_space = in.address_space,
            .module = in.symbol.module,
            .location = {.symbol = in.symbol.id,
                         .source_file = *line ? in.source_file : "",
                         .source_line =
                             in.source_file.empty() ? 0 : static_cast<std::uint32_t>(*line)}};
}

trace::SiteId CodeBook::site(std::string_view place, std::string_view disassembly)
{
    if (const auto known = site_ids_.find(place); known != site_ids_.end())
        return known->second;
    Place at = locate(place);
    const auto id = static_cast<trace::SiteId>(sites_.size() + 1);
    sites_.push_back({{.id = id,
                       .pc = at.pc,
                       .privilege = at.privilege,
                       .address_space = at.address_space,
                       .module = at.module,
                       .disassembly = std::string(disassembly)},
                      std::move(at.location)});
    site_ids_.emplace(place, id);
    return id;
}

trace::StackId CodeBook::stack(std::string_view places)
{
    if (places.empty())
        return 0;
    const std::size_t cut = places.find('<');
    const std::string_view inner = places.substr(0, cut);
    const trace::StackId parent = cut == places.npos ? 0 : stack(places.substr(cut + 1));
    auto frame = frame_ids_.find(inner);
    if (frame == frame_ids_.end()) {
        Place at = locate(inner);
        const auto id = static_cast<std::uint32_t>(frames_.size() + 1);
        frames_.push_back({{.id = id,
                            .pc = at.pc,
                            .privilege = at.privilege,
                            .address_space = at.address_space,
                            .module = at.module},
                           std::move(at.location)});
        frame = frame_ids_.emplace(inner, id).first;
    }
    const auto [known, added] =
        stack_ids_.emplace(std::pair(parent, frame->second), stacks_.size() + 1);
    if (added)
        stacks_.push_back({.id = known->second, .parent = parent, .frame = frame->second});
    return known->second;
}

void CodeBook::write_to(trace::TraceWriter &writer) const
{
    for (const auto &row : sites_)
        writer.put_site(row.first);
    for (const auto &row : frames_)
        writer.put_stack_frame(row.first);
    for (const trace::Stack &row : stacks_)
        writer.put_stack(row);
}

void CodeBook::name_in(trace::TraceAmendment &amendment) const
{
    for (const auto &row : functions_)
        amendment.put_symbol(row.second.symbol);
    for (const auto &row : sites_)
        amendment.locate_site(row.first.id, row.second);
    for (const auto &row : frames_)
        amendment.locate_stack_frame(row.first.id, row.second);
}

} // namespace fencepost::golden
