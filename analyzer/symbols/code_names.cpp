// SPDX-License-Identifier: GPL-2.0-or-later
// See code_names.h.
#include "analyzer/symbols/code_names.h"

namespace fencepost::symbols {

namespace {

// Rows by id from 1; ids are dense in a file that is not damaged, and rows beyond that are left
// out.
template <typename Row, typename Id>
std::vector<Row> by_id(std::vector<Row> rows, Id &&id_of, std::uint64_t &dangling)
{
    std::vector<Row> result(rows.size() + 1);
    for (Row &row : rows) {
        const std::uint64_t id = id_of(row);
        if (id >= result.size())
            ++dangling;
        else
            result[id] = std::move(row);
    }
    return result;
}

constexpr unsigned kMostCallers = 64;

} // namespace

CodeNames::CodeNames(const trace::TraceReader &reader)
    : sites_(by_id(
          reader.sites(), [](const auto &row) { return row.site.id; }, dangling_)),
      symbols_(by_id(
          reader.symbols(), [](const auto &row) { return row.id; }, dangling_)),
      stacks_(by_id(
          reader.stacks(), [](const auto &row) { return row.id; }, dangling_)),
      frames_(by_id(
          reader.stack_frames(), [](const auto &row) { return row.frame.id; }, dangling_)),
      mapped_(reader), inlined_(trace::inlined_calls(reader))
{
    for (std::size_t id = 1; id < stacks_.size(); ++id) {
        trace::Stack &stack = stacks_[id];
        // A parent is recorded before its children; anything else could be a circle.
        if (stack.parent >= id) {
            ++dangling_;
            stack.parent = 0;
        }
        if (stack.frame >= frames_.size()) {
            ++dangling_;
            stack.frame = 0;
        }
    }
}

CodePlace CodeNames::code_at(std::uint64_t address_space, std::uint64_t pc,
                             const std::string &module, const trace::CodeLocation &location) const
{
    CodePlace place;
    place.module = module;
    place.source_file = location.source_file;
    place.source_line = location.source_line;
    if (location.symbol != 0 && location.symbol < symbols_.size()) {
        const trace::Symbol &symbol = symbols_[location.symbol];
        place.function = symbol.name;
        place.offset = pc - symbol.address;
        place.named = true;
    } else {
        place.function = pc == 0 ? "unknown code" : mapped_.place(address_space, pc, module);
    }
    return place;
}

CodeNames::Places CodeNames::places_at(std::uint64_t address_space, std::uint64_t pc,
                                       const std::string &module,
                                       const trace::CodeLocation &location) const
{
    Places places;
    CodePlace place = code_at(address_space, pc, module, location);
    if (const auto found = inlined_.find({address_space, pc}); found != inlined_.end())
        for (const trace::InlinedCall &call : found->second) {
            CodePlace &inner = places.emplace_back(place);
            inner.function = call.function;
            inner.named = true;
            inner.inlined = true;
            place.source_file = call.source_file;
            place.source_line = call.source_line;
        }
    places.push_back(std::move(place));
    return places;
}

CodeNames::Places CodeNames::site_places(trace::SiteId site) const
{
    if (site == 0 || site >= sites_.size())
        return {code_at(0, 0, "", {})};
    const trace::SiteRow &row = sites_[site];
    Places places = places_at(row.site.address_space, row.site.pc, row.site.module, row.location);
    places.front().instruction = row.site.disassembly;
    return places;
}

CodeNames::Places CodeNames::caller_places(trace::StackId stack) const
{
    const trace::StackFrameRow &row = frames_[stacks_[stack].frame];
    return places_at(row.frame.address_space, row.frame.pc, row.frame.module, row.location);
}

CodePlace CodeNames::code(trace::SiteId site) const
{
    return std::move(site_places(site).front());
}

EventPlace CodeNames::place(const trace::EventRef &event) const
{
    Places code = site_places(event.site);
    EventPlace place = {.event = event, .code = std::move(code.front()), .callers = {}};
    code.erase(code.begin());
    place.callers = std::move(code);
    trace::StackId stack = event.stack < stacks_.size() ? event.stack : 0;
    for (; stack != 0 && place.callers.size() < kMostCallers; stack = stacks_[stack].parent)
        for (CodePlace &caller : caller_places(stack))
            place.callers.push_back(std::move(caller));
    return place;
}

std::vector<std::string> CodeNames::stack(const trace::EventRef &event) const
{
    std::vector<std::string> functions;
    for (CodePlace &caller : place(event).callers)
        functions.push_back(std::move(caller.function));
    return functions;
}

std::uint64_t CodeNames::nameless_sites() const
{
    std::uint64_t count = 0;
    for (std::size_t id = 1; id < sites_.size(); ++id)
        count += sites_[id].location.symbol == 0;
    return count;
}

} // namespace fencepost::symbols
