// SPDX-License-Identifier: GPL-2.0-or-later
// What an analysis assumes about the machine and about the code that it looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model_kind.h"

namespace fencepost::rules {

// What the code counts on for the order of its own persists.
enum class Persistency : std::uint8_t {
    strict, // stores persist in program order
    epoch,  // all of an epoch at its end, in any order
    strand, // as epoch, and strands are independent of each other
};

std::string_view name_of(Persistency persistency);
std::optional<Persistency> persistency_named(std::string_view name);

struct Settings {
    model::ModelKind model = model::ModelKind::adr;
    model::FenceRule fences = model::FenceRule::explicit_only;
    Persistency persistency = Persistency::epoch;
    bool durable_operations = false;     // what an operation wrote is durable when it ends
    std::vector<std::string> rules = {}; // only these; empty: all

    bool eadr() const { return model == model::ModelKind::eadr; }
};

// Errors(usage) for what there is not.
Settings settings_named(const std::string &model, const std::string &fences,
                        const std::string &persistency);

} // namespace fencepost::rules
