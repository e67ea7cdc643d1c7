// SPDX-License-Identifier: GPL-2.0-or-later
// Boot against restore, round trips and parallel restores, as ratios within one run. `--smoke` does
// the least that still prints every row.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/places.h"
#include "base/scratch.h"
#include "tests/guest/world.h"

namespace fencepost::guest {
namespace {

struct Effort {
    int boots = 3;
    int restores = 15;
    int parallel_rounds = 6;
    int round_trips = 2000;
};

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
}

template <typename Work> double timed(Work &&work)
{
    const Stopwatch watch;
    work();
    return watch.seconds();
}

double boot_time(World &world, const Effort &effort)
{
    std::vector<double> times;
    for (int i = 0; i < effort.boots; ++i) {
        const ScratchDirectory scratch(cache_directory());
        const auto pm = world.new_pm_file();
        times.push_back(timed([&] {
            const auto guest =
                world.store().boot(world.source().config, scratch.path() / "ram", {pm}, soon());
            guest->with_agent([](AgentClient &agent) { agent.ping(soon()); });
        }));
    }
    return median(times);
}

double restore_time(World &world, const Effort &effort)
{
    std::vector<double> times;
    std::unique_ptr<Guest> guest;
    for (int i = 0; i < effort.restores; ++i) {
        const auto pm = world.new_pm_file();
        times.push_back(timed([&] { guest = world.restore({pm}); }));
        guest.reset();
    }
    return median(times);
}

void bench_restore(const std::string &backend, const Effort &effort)
{
    World world(backend);
    const double boot = boot_time(world, effort);
    const double restore = restore_time(world, effort);
    const double ratio = boot / restore;
    std::printf("%-44s %9.3f s\n", (backend + ": boot to agent ping").c_str(), boot);
    std::printf("%-44s %9.3f s\n", (backend + ": restore to agent ping").c_str(), restore);
    std::printf("%-44s %9.1f ×  (budget ≥ 20×: %s)\n",
                (backend + ": restore faster than boot").c_str(), ratio,
                ratio >= 20 ? "met" : "NOT met");
}

void bench_round_trips(const Effort &effort)
{
    World world;
    const auto guest = world.restore();
    auto rate = [&](const char *name, int times, const std::function<void(AgentClient &)> &talk) {
        guest->with_agent(talk); // translated code, warm caches
        const double seconds = timed([&] {
            for (int i = 0; i < times; ++i)
                guest->with_agent(talk);
        });
        std::printf("%-44s %9.0f /s\n", name, times / seconds);
    };
    rate("process: pings", effort.round_trips, [](AgentClient &agent) { agent.ping(soon()); });
    RunRequest request;
    request.argv = {"true"};
    rate("process: commands run", effort.round_trips / 10,
         [&](AgentClient &agent) { agent.run(request, soon()); });
}

void bench_parallel(const Effort &effort)
{
    World world;
    double alone = 0;
    for (const int jobs : {1, 2, 4}) {
        std::vector<std::filesystem::path> pm_files;
        for (int i = 0; i < jobs; ++i)
            pm_files.push_back(world.new_pm_file());
        const double seconds = timed([&] {
            std::vector<std::thread> threads;
            for (int i = 0; i < jobs; ++i)
                threads.emplace_back([&, i] {
                    for (int round = 0; round < effort.parallel_rounds; ++round)
                        world.restore({pm_files[static_cast<std::size_t>(i)]});
                });
            for (std::thread &thread : threads)
                thread.join();
        });
        const double rate = jobs * effort.parallel_rounds / seconds;
        if (jobs == 1)
            alone = rate;
        std::printf("process: restores, %d at a time %13s %9.1f /s  (%.2f× one)\n", jobs, "", rate,
                    rate / alone);
    }
}

} // namespace
} // namespace fencepost::guest

int main(int argc, char **argv)
{
    using namespace fencepost::guest;
    Effort effort;
    if (argc == 2 && !std::strcmp(argv[1], "--smoke"))
        effort = {1, 5, 2, 200};
    try {
        bench_restore("process", effort);
        bench_restore("libvirt", effort);
        bench_round_trips(effort);
        bench_parallel(effort);
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "guest_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
