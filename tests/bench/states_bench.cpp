// SPDX-License-Identifier: GPL-2.0-or-later
// Measures the persistence model and crash images against their budgets:
// states_bench [--smoke | EVENTS_IN_MILLIONS…]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#include "base/files.h"
#include "replayer/image/image_index.h"
#include "replayer/image/image_walk.h"
#include "replayer/image/patched_image.h"
#include "replayer/states/state_walk.h"
#include "tests/states/pm_work.h"

namespace fencepost {
namespace {

using trace::PmWork;

double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// What the process holds now, without pages that are only a mapped file's.
std::size_t anonymous_mib()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:"))
            return std::stoul(line.substr(8)) >> 10;
    return 0;
}

// Events through the model alone, from memory.
void measure_model(bool smoke)
{
    trace::EventBuffer buffer(2 << 20);
    PmWork work({.forgetful = true, .mixed_lines = true, .vcpus = 2});
    while (buffer.size() < (smoke ? 200000u : 2000000u))
        work.add_operation(buffer);
    for (const auto kind :
         {model::ModelKind::adr, model::ModelKind::eadr, model::ModelKind::line}) {
        model::PersistenceModel model(kind, model::FenceRule::explicit_only);
        std::uint64_t seq = 0;
        std::uint64_t boundaries = 0;
        const double start = cpu_seconds();
        for (const trace::Event &event : buffer.events()) {
            boundaries += model.raises_guarantee(event);
            model.apply(seq++, event, buffer.wide_values());
        }
        const double seconds = cpu_seconds() - start;
        std::printf("model %-4s %6.1f M events/s (%zu events, %llu epochs)\n",
                    std::string(name_of(kind)).c_str(),
                    static_cast<double>(buffer.size()) / seconds / 1e6, buffer.size(),
                    static_cast<unsigned long long>(boundaries));
    }
}

class Counting : public image::ImageListener {
public:
    bool image(image::ReadyImage &image) override
    {
        index_.add(image.identity(), 0, {image.point().seq, image.id()});
        return true;
    }

    std::uint64_t images() const { return index_.images(); }

private:
    image::ImageIndex index_;
};

// Trace to identities, deduplicated: reading, model, states, hashes and index.
void measure_strategy(const trace::TraceReader &reader, const char *strategy,
                      states::Grouping grouping = states::Grouping::automatic,
                      std::uint64_t last_seq = UINT64_MAX)
{
    const image::InitialImage initial(reader);
    const double start = cpu_seconds();
    Counting counting;
    image::ImageWalk walk(reader, initial,
                          {.strategies = states::parse_strategies(strategy),
                           .window = {.last_seq = last_seq},
                           .grouping = grouping},
                          {.labels = false});
    const states::WalkReport report = walk.run(counting);
    const double seconds = cpu_seconds() - start;
    std::printf("%-20s group %-4s %9.0f states/s (%llu states, %llu images, %llu epochs, %.1f M "
                "events/s)\n",
                strategy, std::string(name_of(grouping)).c_str(),
                static_cast<double>(report.generated) / seconds,
                static_cast<unsigned long long>(report.generated),
                static_cast<unsigned long long>(counting.images()),
                static_cast<unsigned long long>(report.epochs),
                static_cast<double>(report.events) / seconds / 1e6);
}

// Time and memory of one walk, which must not depend on what came before.
void measure_length(const std::filesystem::path &path)
{
    const trace::TraceReader reader(path);
    const image::InitialImage initial(reader);
    const double start = cpu_seconds();
    Counting counting;
    image::ImageWalk walk(reader, initial, {}, {.labels = false});
    const states::WalkReport report = walk.run(counting);
    const double seconds = cpu_seconds() - start;
    std::printf("count      %8.1f M events  %6.2f s  %5.1f M events/s  %5zu MiB\n",
                static_cast<double>(report.events) / 1e6, seconds,
                static_cast<double>(report.events) / seconds / 1e6, anonymous_mib());
}

// One image after the other, a few lines apart, out of many.
void measure_hash_updates()
{
    constexpr std::uint64_t kLines = 1 << 20;
    const trace::Region region = {
        .id = 1, .name = "pm", .base = PmWork::kBase, .size = kLines * 64, .file = "pm"};
    const std::vector<std::byte> zeros(region.size);
    const std::span<const std::byte> bytes[] = {zeros};
    const image::InitialImage initial({region}, bytes);
    image::ChangingImage image(initial);
    for (const unsigned lines : {1u, 16u, 256u, 4096u}) {
        const unsigned rounds = 200000 / lines + 20;
        double seconds = 0;
        // The first round brings the pages in.
        for (int measured = 0; measured < 2; ++measured) {
            const double start = cpu_seconds();
            for (std::uint64_t round = 0; round < rounds; ++round) {
                for (std::uint64_t i = 0; i < lines; ++i)
                    image.write(PmWork::kBase / 64 + i * 64 % kLines, 8, &round, 8);
                image.hash();
            }
            seconds = cpu_seconds() - start;
        }
        std::printf("hash       %5u lines changed of %llu: %8.2f us an image, %5.0f ns a line\n",
                    lines, static_cast<unsigned long long>(kLines), seconds / rounds * 1e6,
                    seconds / rounds / lines * 1e9);
    }
}

void run(const std::vector<std::string_view> &arguments)
{
    const bool smoke = !arguments.empty() && arguments[0] == "--smoke";
    const TemporaryDirectory directory(std::filesystem::temp_directory_path(), "states_bench");
    const auto path = directory.path() / "trace.db";
    measure_model(smoke);
    measure_hash_updates();
    // A fence every hundred events, as NOVA and libpmemobj have it, and every thousand, as ext4
    // has.
    for (const unsigned pages : {1u, 14u}) {
        PmWork({.data_pages = pages}).write(path, smoke ? 300000 : 3000000);
        const trace::TraceReader reader(path);
        for (const char *strategy :
             {"none-all", "prefix,none-all", "random:5", "subsets:1", "exhaustive:100"})
            measure_strategy(reader, strategy);
        measure_strategy(reader, "random:5", states::Grouping::off, smoke ? 30000 : 300000);
        measure_strategy(reader, "subsets:1", states::Grouping::off, smoke ? 10000 : 100000);
        measure_strategy(reader, "subsets:2", states::Grouping::automatic, smoke ? 2000 : 20000);
    }
    std::vector<std::uint64_t> millions;
    if (arguments.empty())
        millions = {1, 10, 50};
    for (const std::string_view argument : arguments)
        millions.push_back(argument == "--smoke" ? 1 : std::strtoull(argument.data(), nullptr, 10));
    for (const std::uint64_t each : millions) {
        // Little PM, so that the copies of it do not hide what grows with the trace.
        PmWork({.pm_bytes = 16 << 20}).write(path, each * 1000000);
        measure_length(path);
    }
}

} // namespace
} // namespace fencepost

int main(int argc, char **argv)
{
    fencepost::run({argv + 1, argv + argc});
    return 0;
}
