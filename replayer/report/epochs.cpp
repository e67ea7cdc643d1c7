// SPDX-License-Identifier: GPL-2.0-or-later
// See epochs.h.
#include "replayer/report/epochs.h"

#include <algorithm>

#include "replayer/report/epoch_picture.h"

namespace fencepost::collect {

using report::Epoch;
using report::RunReport;
using trace::Event;
using trace::EventKind;

namespace {

// Bytes of all pictures together; a report stays below 20 MB.
constexpr std::size_t kMostPictures = std::size_t{7} << 20;
// Of these, for pictures of epochs in which something fails.
constexpr std::size_t kForFailures = std::size_t{2} << 20;

class EpochCollector : public states::StateListener {
public:
    EpochCollector(const trace::TraceReader &reader, const symbols::CodeNames &names,
                   model::FenceRule rule, std::span<const CrashPointCount> crash_points,
                   RunReport &report)
        : names_(names), rule_(rule), failure_points_(rule), crash_points_(crash_points),
          report_(report), sites_(names, report.sites), picture_(reader, sites_)
    {
    }

    void event(std::uint64_t seq, const Event &event, std::span<const std::byte>,
               const model::InFlight &in_flight) override
    {
        failure_points_.see(event, true, true);
        if (pending_ || (!started_ && !in_flight.settled().empty())) {
            finish_picture(event, in_flight);
            counts_ = {};
            picture_.begin(seq, in_flight);
        } else if (first_) {
            picture_.begin(seq, in_flight);
        }
        first_ = false;
        counts_.stores += event.is_store();
        counts_.flushes += event.kind == EventKind::flush;
        const bool fence = trace::counts_as_fence(event, rule_);
        counts_.fences += fence;
        // The fence that began the epoch is where the one before it ends.
        if (event.is_store() || event.kind == EventKind::flush || fence)
            picture_.event(seq, event);
    }

    bool state(const states::StateView &) override { return true; }

    void epoch(const states::EpochCount &count) override
    {
        started_ = true;
        pending_ = true;
        Epoch epoch = {.number = count.point.epoch,
                       .first_seq = count.point.since,
                       .end_seq = count.point.seq,
                       .stores = counts_.stores,
                       .flushes = counts_.flushes,
                       .fences = counts_.fences,
                       .lines = count.lines,
                       .legal = count.legal.exact,
                       .legal_log2 = count.legal.log2};
        const auto first = crash_points_.begin() + static_cast<std::ptrdiff_t>(at_crash_point_);
        auto last = first;
        for (; last != crash_points_.end() && last->seq <= epoch.end_seq; ++last) {
            epoch.tested += last->tested;
            epoch.failing += last->failing;
        }
        of_epoch_ = crash_points_.subspan(at_crash_point_, static_cast<std::size_t>(last - first));
        at_crash_point_ += of_epoch_.size();
        epoch.operation = operation_at(epoch.end_seq);
        report_.epochs.push_back(epoch);
    }

    std::uint64_t failure_points() const { return failure_points_.count(); }
    // After the last event.
    void finish()
    {
        if (pending_)
            keep_picture("the end of the recording", model::InFlight(model::Order::units));
    }

private:
    struct Counts {
        std::uint64_t stores = 0;
        std::uint64_t flushes = 0;
        std::uint64_t fences = 0;
    };

    // `event`: the one that has ended the epoch.
    void finish_picture(const Event &event, const model::InFlight &in_flight)
    {
        if (!pending_)
            return;
        keep_picture(std::string(trace::subkind_name(event.kind, event.subkind)) + " " +
                         names_.where(event.site),
                     in_flight);
    }

    void keep_picture(const std::string &ended_by, const model::InFlight &in_flight)
    {
        pending_ = false;
        Epoch &epoch = report_.epochs.back();
        if (picture_.empty())
            return;
        const std::size_t most = epoch.failing != 0 ? kMostPictures : kMostPictures - kForFailures;
        std::string picture = picture_.finish(epoch.end_seq, ended_by, in_flight, of_epoch_);
        if (bytes_ + picture.size() > most) {
            ++report_.pictures_left_out;
            return;
        }
        bytes_ += picture.size();
        epoch.picture = static_cast<std::int64_t>(report_.pictures.size());
        report_.pictures.push_back(std::move(picture));
    }

    // The operation that goes on before the event; epochs come in order.
    std::int64_t operation_at(std::uint64_t seq)
    {
        const auto &operations = report_.operations;
        while (next_operation_ < operations.size() && operations[next_operation_].first_seq < seq)
            ++next_operation_;
        if (next_operation_ == 0)
            return -1;
        const report::Operation &last = operations[next_operation_ - 1];
        return !last.last_seq || *last.last_seq >= seq
                   ? static_cast<std::int64_t>(next_operation_ - 1)
                   : -1;
    }

    const symbols::CodeNames &names_;
    const model::FenceRule rule_;
    states::FailurePoints failure_points_;
    const std::span<const CrashPointCount> crash_points_;
    RunReport &report_;
    PictureSites sites_;
    EpochPicture picture_;
    Counts counts_ = {};
    std::span<const CrashPointCount> of_epoch_ = {};
    std::size_t at_crash_point_ = 0;
    std::size_t next_operation_ = 0;
    std::size_t bytes_ = 0;
    bool first_ = true;
    bool started_ = false;
    bool pending_ = false; // the last epoch's picture, until the event that ended it was seen
};

} // namespace

void add_epochs(const trace::TraceReader &reader, const symbols::CodeNames &names,
                const states::WalkOptions &options, std::span<const CrashPointCount> crash_points,
                RunReport &report)
{
    EpochCollector collector(reader, names, options.fences, crash_points, report);
    const states::WalkReport walk = states::StateWalk(reader, options).run(collector);
    collector.finish();
    report.model = name_of(options.model);
    report.fences = name_of(options.fences);
    report.legal = walk.legal.exact;
    report.legal_log2 = walk.legal.log2;
    report.crash_points = walk.crash_points;
    report.failure_points = collector.failure_points();
}

} // namespace fencepost::collect
