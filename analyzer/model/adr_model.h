// SPDX-License-Identifier: GPL-2.0-or-later
// x86-64 with ADR: the memory controller's queues survive a power failure, the caches do not.
#pragma once

#include <vector>

#include "analyzer/model/persistence_model.h"

namespace fencepost::model {

// A cached store is guaranteed once its line was flushed and the flushing vCPU has executed a
// fence (clflush, wbinvd: once flushed). A non-temporal store is guaranteed at its own vCPU's next
// fence. A flush is about caches: it does not reach what is in a write-combining buffer.
class AdrModel : public PersistenceModel {
public:
    explicit AdrModel(FenceRule rule) : AdrModel(ModelKind::adr, rule, Order::units) {}

    bool raises_guarantee(const trace::Event &event) const override;

protected:
    AdrModel(ModelKind kind, FenceRule rule, Order order) : PersistenceModel(kind, rule, order) {}

    void do_apply(std::uint64_t seq, const trace::Event &event,
                  std::span<const std::byte> bytes) override;

private:
    // A line is listed again when it leaves and comes back, so entries can be out of date: an entry
    // means something only while its line is in flight with pieces from before it.
    struct Flush {
        std::uint64_t line;
        std::uint64_t seq;
    };
    // What the next fence of a vCPU completes.
    struct Pending {
        std::vector<Flush> flushes;
        std::vector<std::uint64_t> non_temporal_lines;
    };

    Pending &pending(std::uint16_t vcpu);
    void store(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> bytes);
    void flush(std::uint64_t seq, const trace::Event &event);
    void note_flush(std::uint64_t seq, std::uint16_t vcpu, std::uint64_t line, InFlightLine &state);
    void flush_everything(std::uint64_t seq);
    void fence(std::uint16_t vcpu);
    bool is_effective(const Flush &flush) const;
    void prune(Pending &pending);

    std::vector<Pending> pending_; // by vCPU
};

} // namespace fencepost::model
