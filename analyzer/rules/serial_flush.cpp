// SPDX-License-Identifier: GPL-2.0-or-later
// serial-flush: a range is flushed with clflush, line after line.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

#include <vector>

namespace fencepost::rules {

namespace {

class SerialFlush : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "serial-flush",
        "a clflush right after another one of its vCPU: each waits for the one before",
        Severity::performance,
        "certain where the CPU has clflushopt or clwb, whose flushes overlap and need one fence at "
        "the end",
        "suppress it for the function that flushes, or for its callers"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kFlushes; }

    void flush(const FlushSeen &seen) override
    {
        if (seen.event.flush_kind() != trace::FlushKind::clflush)
            return;
        if (seen.event.vcpu >= last_.size())
            last_.resize(seen.event.vcpu + 1u);
        Last &last = last_[seen.event.vcpu];
        const Origin origin = {seen.seq, seen.event.site, seen.event.stack};
        // With a store between them the order of the two may be wanted.
        if (last.valid && last.origin.seq + 1 == seen.seq)
            report(origin, last.origin, seen.event.first_line());
        last = {true, origin};
    }

private:
    void report(const Origin &at, const Origin &before, std::uint64_t line)
    {
        Draft *draft = context_.findings.hit(kInfo, Severity::performance, at, line);
        if (!draft)
            return;
        draft->message = "lines are flushed one after the other";
        draft->fix = "clwb or clflushopt for each line, and one sfence after the last";
        draft->other_role = "clflush before";
        draft->other = before;
    }

    struct Last {
        bool valid = false;
        Origin origin = {};
    };
    std::vector<Last> last_; // clflush of each vCPU
};

} // namespace

CatalogEntry serial_flush()
{
    return catalog_entry<SerialFlush>();
}

} // namespace fencepost::rules
