// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost verify`: is a run complete, does it repeat, what do its counters say.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/places.h"
#include "cli/record_verb.h"
#include "replayer/record/record_json.h"

namespace fencepost::cli {

namespace {

using namespace fencepost::record;
using namespace fencepost::run;

struct VerifyOptions {
    std::string run;
    unsigned times = 1;
};

void run_verify(Context &context, const VerifyOptions &options)
{
    const VerifyReport report = verify_run(context, open_run(options.run), options.times);
    if (context.settings.json)
        print_json(record::verification_json(report));
    else
        print_verification(report);
    require_good(report);
}

} // namespace

void print_verification(const VerifyReport &report)
{
    std::printf("recording      %s, %llu events%s%s\n",
                std::string(trace::name_of(report.recording.state)).c_str(),
                static_cast<unsigned long long>(report.recording.event_count),
                report.recording.outcome.empty() ? "" : "; workload ",
                report.recording.outcome.c_str());
    std::printf("completeness   %s\n", to_string(report.completeness));
    if (report.differing_lines != 0)
        std::printf("               %llu lines differ, the first of them:\n",
                    static_cast<unsigned long long>(report.differing_lines));
    for (const std::string &difference : report.differences)
        std::printf("               %s\n", difference.c_str());
    for (const std::string &change : report.changed)
        std::printf("changed        %s\n", change.c_str());
    std::size_t identical = 0;
    for (const Repetition &repetition : report.repetitions) {
        identical += repetition.identical();
        if (!repetition.first_difference.empty())
            std::printf("               %s\n", repetition.first_difference.c_str());
    }
    if (!report.repetitions.empty())
        std::printf("determinism    %zu of %zu recordings are identical\n", identical,
                    report.repetitions.size());
    for (const trace::DataQuality &counter : report.counters)
        if (counter.value != 0)
            std::printf("%-14s %s = %lld: %s\n",
                        std::string(trace::name_of(counter.severity)).c_str(), counter.name.c_str(),
                        static_cast<long long>(counter.value), counter.meaning.c_str());
}

VerifyReport verify_run(const Context &context, const RunFiles &files, unsigned times)
{
    return record::verify_run(files, cache_directory(), times,
                              [&](const std::string &line) { progress(context, line); });
}

void add_verify(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "verify", "Says whether a run is complete, and whether recording it again gives the same");
    auto options = std::make_shared<VerifyOptions>();
    verb->add_option("RUN", options->run, "A run directory, or the trace.db in it")->required();
    verb->add_option("--times", options->times, "How often to record again; 0: only look")
        ->range(0u, 1000u)
        ->capture_default_str();
    verb->examples({{"verify run", "records again once, and compares"},
                    {"verify run --times 0", "looks at what is there"}});
    verb->callback([&context, options] { run_verify(context, *options); });
}

} // namespace fencepost::cli
