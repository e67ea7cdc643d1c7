// SPDX-License-Identifier: GPL-2.0-or-later
// See epoch_ends.h.
#include "analyzer/tables/epoch_ends.h"

#include "analyzer/model/persistence_model.h"
#include "base/interrupt.h"

namespace fencepost::tables {

std::vector<std::uint64_t> epoch_ends(trace::EventScan scan, model::ModelKind kind,
                                      model::FenceRule rule)
{
    std::vector<std::uint64_t> ends;
    model::PersistenceModel model(kind, rule);
    while (scan.next()) {
        throw_if_interrupted();
        scan.visit_block([&](std::uint64_t seq, const trace::Event &event, auto wide_values) {
            if (model.raises_guarantee(event))
                ends.push_back(seq);
            model.apply(seq, event, wide_values);
            model.forget_changes();
        });
    }
    return ends;
}

} // namespace fencepost::tables
