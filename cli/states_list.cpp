// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost states`: the counts and the list.
#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "cli/states_verb.h"
#include "replayer/report/states_json.h"
#include "replayer/states/trace_options.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

std::string text_of(const states::StateCount &count)
{
    return count.exact ? fmt::format("{}", *count.exact) : fmt::format("2^{:.1f}", count.log2);
}

std::string counted(std::uint64_t count, const char *what)
{
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Prints while the walk goes on: a list may be longer than memory. The document's parts come in the
// order epochs and states as they are met, then the summary.
class Listing : public image::ImageListener {
public:
    Listing(image::ImageIndex &index, const StatesOptions &options, bool as_json)
        : index_(index), options_(options), as_json_(as_json)
    {
        seen_.wants_epochs = options.epochs && as_json;
    }

    bool image(image::ReadyImage &image) override
    {
        const std::string id = image.id();
        const bool architectural = !options_.list || image.architectural();
        const auto added = index_.add(image.identity(), 0, {image.point().seq, id, architectural});
        seen_.new_images += added.is_new;
        ++states_;
        if (options_.list)
            print(image, id, architectural, added);
        return states_ < options_.limit;
    }

    void epoch(const states::EpochCount &epoch) override
    {
        seen_.add(epoch);
        if (options_.epochs && !as_json_)
            fmt::print("epoch {:>6}  ends before event {:>9}  {:>6} lines in flight  {:>12} states "
                       " {:>6} generated\n",
                       epoch.point.epoch, epoch.point.seq, epoch.lines, text_of(epoch.legal),
                       epoch.generated);
    }

    const collect::StatesSeen &seen() const { return seen_; }

private:
    void print(const image::ReadyImage &image, const std::string &id, bool architectural,
               const image::ImageIndex::Added &added)
    {
        if (as_json_) {
            const json row = collect::state_row(image, id, architectural, added);
            fmt::print("{}\n    {}", states_ == 1 ? "" : ",", json_text(row, BadUtf8::refuse));
            return;
        }
        fmt::print("{}  image {}{}{}\n", id, added.image, added.is_new ? "" : " again",
                   architectural ? "" : ", relies on an incidental locked instruction");
    }

    image::ImageIndex &index_;
    const StatesOptions &options_;
    bool as_json_;
    collect::StatesSeen seen_;
    std::uint64_t states_ = 0;
};

void print_summary(const states::WalkOptions &walk, const states::WalkReport &report,
                   const collect::StatesSeen &seen)
{
    fmt::print("read       {}, model {}, fences {}\n", counted(report.events, "event"),
               name_of(walk.model), name_of(walk.fences));
    if (report.incidental_fences != 0)
        fmt::print("incidental {} that do not count: {} in the trace\n",
                   counted(report.incidental_fences, "fence"), describe(walk.incidental));
    fmt::print("epochs     {}\n", report.epochs);
    fmt::print("legal      {} states\n", text_of(report.legal));
    if (seen.largest)
        fmt::print("largest    epoch {}, before event {}: {} states of {} in flight\n",
                   seen.largest->point.epoch, seen.largest->point.seq, text_of(seen.largest->legal),
                   counted(seen.largest->lines, "line"));
    if (report.failure_points != 0)
        fmt::print("prefix     {}\n", counted(report.failure_points, "failure point"));
    fmt::print("generated  {} by {}{}\n", counted(report.generated, "state"),
               states::text_of(walk.strategies), report.stopped ? ", stopped at the limit" : "");
    if (report.promise_points != 0)
        fmt::print("promise    changes at {} within an epoch\n",
                   counted(report.promise_points, "crash point"));
    fmt::print("images     {}, and {}\n", seen.new_images,
               counted(report.generated - seen.new_images, "duplicate"));
    if (report.capped != 0)
        fmt::print("capped     exhaustive stopped at its cap at {}\n",
                   counted(report.capped, "crash point"));
    if (report.runs != 0)
        fmt::print("grouped    {} in {} at {}, each run as one item that tears at a few places "
                   "(--group off for all states)\n",
                   counted(report.lines_in_runs, "line"), counted(report.runs, "run"),
                   counted(report.grouped_crash_points, "crash point"));
}

} // namespace

void list_states(const trace::TraceReader &reader, const StatesOptions &options,
                 const Incidental &incidental, const Context &context)
{
    states::WalkOptions walk_with =
        states::in_trace(walk_options(options.walk.names), reader, options.walk.window, incidental);
    if (!options.after.empty())
        walk_with.after = states::parse_crash_state(options.after);
    states::require_complete(reader);
    const image::InitialImage initial(reader);
    image::ImageWalk walk(reader, initial, walk_with, {.labels = options.list});
    std::optional<image::ImageIndex> index;
    if (options.index.empty())
        index.emplace();
    else
        index.emplace(image::ImageIndex::File{options.index, reader.recording().event_digest,
                                              states::meaning_of_ids(walk_with)});
    const bool as_json = context.settings.json;
    Listing listing(*index, options, as_json);
    if (as_json && options.list)
        fmt::print("{{\"states\": [");
    const states::WalkReport report = walk.run(listing);
    index->commit();
    if (!as_json) {
        if (options.list || options.epochs)
            fmt::print("\n");
        print_summary(walk_with, report, listing.seen());
        return;
    }
    json summary = collect::states_summary(walk_with, report, listing.seen());
    if (options.epochs)
        summary["each_epoch"] = listing.seen().epochs;
    if (options.list) // the rest of the document that was begun
        fmt::print("],\n{}", json_document(summary, BadUtf8::refuse).substr(2));
    else
        print_json(summary);
}

} // namespace fencepost::cli
