// SPDX-License-Identifier: GPL-2.0-or-later
// See function_window.h.
#include "replayer/states/function_window.h"

#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "trace/inlined_calls.h"

namespace fencepost::states {

using trace::Event;
using trace::EventKind;

namespace {

std::string plain(const std::string &name)
{
    return name.substr(0, name.find('.'));
}

// The code of a function: its own sites, and the call stacks that it is part of.
struct FunctionCode {
    std::unordered_set<trace::SiteId> sites;
    std::unordered_set<trace::StackId> stacks;

    FunctionCode(const trace::TraceReader &reader, const std::string &function)
    {
        std::unordered_set<std::uint32_t> symbols;
        std::set<std::pair<std::uint64_t, std::uint64_t>> inlined;
        std::vector<std::string> names;
        for (const auto &[code, chain] : trace::inlined_calls(reader))
            for (const trace::InlinedCall &call : chain) {
                names.push_back(plain(call.function));
                if (names.back() == plain(function))
                    inlined.insert(code);
            }
        for (const trace::Symbol &symbol : reader.symbols()) {
            names.push_back(plain(symbol.name));
            if (names.back() == plain(function))
                symbols.insert(symbol.id);
        }
        if (symbols.empty() && inlined.empty()) {
            const std::string meant = meant_name(function, names);
            fail(ErrorKind::usage, "the trace has no function '{}'{}", function,
                 meant.empty() ? "" : "; did you mean " + meant + "?");
        }
        for (const trace::SiteRow &row : reader.sites())
            if (symbols.contains(row.location.symbol) ||
                inlined.contains({row.site.address_space, row.site.pc}))
                sites.insert(row.site.id);
        std::unordered_set<std::uint32_t> frames;
        for (const trace::StackFrameRow &row : reader.stack_frames())
            if (symbols.contains(row.location.symbol) ||
                inlined.contains({row.frame.address_space, row.frame.pc}))
                frames.insert(row.frame.id);
        for (const trace::Stack &stack : reader.stacks()) // callers before those whom they call
            if (frames.contains(stack.frame) || stacks.contains(stack.parent))
                stacks.insert(stack.id);
    }

    bool executes(const Event &event) const
    {
        return event.kind != EventKind::marker && event.kind != EventKind::load &&
               (sites.contains(event.site) || stacks.contains(event.stack));
    }
};

bool is_explicit_fence(const Event &event)
{
    return event.kind == EventKind::fence &&
           event.subkind <= static_cast<std::uint8_t>(trace::FenceKind::mfence);
}

} // namespace

Window function_window(const trace::TraceReader &reader, const std::string &function)
{
    const FunctionCode code(reader, function);
    Window window;
    bool open = false;    // the last span may become longer
    bool pending = false; // the function did something since the last fence
    reader.scan().for_each([&](std::uint64_t seq, const Event &event, auto) {
        if (code.executes(event)) {
            if (!open)
                window.spans.push_back({seq, seq});
            window.spans.back().last_seq = seq;
            open = true;
            pending = !is_explicit_fence(event);
        } else if (open && (!pending || is_explicit_fence(event))) {
            if (pending)
                window.spans.back().last_seq = seq;
            open = false;
        }
    });
    if (window.spans.empty())
        fail(ErrorKind::usage, "the function '{}' does nothing to PM in this trace", function);
    if (open && pending)
        window.spans.back().last_seq = reader.event_count();
    window.first_seq = window.spans.front().first_seq;
    window.last_seq = window.spans.back().last_seq;
    return window;
}

} // namespace fencepost::states
