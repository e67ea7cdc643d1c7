// SPDX-License-Identifier: GPL-2.0-or-later
// Fences that are there for speculation or for other CPUs, by the functions that execute them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "trace/reader.h"

namespace fencepost::trace {

// The functions of Linux whose mfence orders speculation or an MSR write, and what `named` adds.
// The word "none" in it leaves out those of Linux.
std::vector<std::string> incidental_functions(const std::vector<std::string> &named);

class IncidentalFences {
public:
    IncidentalFences() = default; // there are none
    // Inlined code belongs to the function that contains it. What compilers append to a name
    // (`.isra.0`) does not count.
    IncidentalFences(const TraceReader &reader, const std::vector<std::string> &functions);

    // Whether it is an sfence or mfence of such a function.
    bool contains(const Event &event) const
    {
        return event.kind == EventKind::fence && !sites_.empty() &&
               event.subkind <= static_cast<std::uint8_t>(FenceKind::mfence) &&
               sites_.contains(event.site);
    }

    struct Function {
        std::string name = {};
        std::uint64_t fences = 0; // that it executed

        bool operator==(const Function &) const = default;
    };
    // Those that the trace has, by name.
    const std::vector<Function> &functions() const { return functions_; }
    // Eight hexadecimal digits of their names; empty if there are none.
    const std::string &digest() const { return digest_; }

private:
    std::unordered_set<SiteId> sites_;
    std::vector<Function> functions_;
    std::string digest_;
};

} // namespace fencepost::trace
