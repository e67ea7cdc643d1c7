// SPDX-License-Identifier: GPL-2.0-or-later
// x86-64 with eADR: the caches survive a power failure, write-combining buffers do not.
#pragma once

#include <vector>

#include "analyzer/model/persistence_model.h"

namespace fencepost::model {

// A cached store is guaranteed once executed, together with what was written to its units before.
// A non-temporal store is guaranteed at its vCPU's next fence. Flushes change nothing. Every cached
// store ends an epoch.
class EadrModel final : public PersistenceModel {
public:
    explicit EadrModel(FenceRule rule) : PersistenceModel(ModelKind::eadr, rule, Order::units) {}

    bool raises_guarantee(const trace::Event &event) const override;

private:
    void do_apply(std::uint64_t seq, const trace::Event &event,
                  std::span<const std::byte> bytes) override;
    void note_line(std::uint16_t vcpu, std::uint64_t line);
    void fence(std::uint16_t vcpu);

    // Lines with non-temporal stores since the vCPU's last fence; some may have left since.
    std::vector<std::vector<std::uint64_t>> pending_;
};

} // namespace fencepost::model
