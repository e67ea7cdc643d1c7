// SPDX-License-Identifier: GPL-2.0-or-later
// What recording costs: the same guest and workload with and without the tracer, as ratios within
// one run. `--smoke` does the least that still prints every row.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/child_process.h"
#include "base/error.h"
#include "replayer/guest/qemu_machine.h"
#include "tests/guest/recorded_guest.h"

namespace fencepost::guest {
namespace {

namespace fs = std::filesystem;

struct Effort {
    int rounds = 5;
    int file_rounds = 1000;
    int inserts = 2000;
    long stores = 20'000'000;
};

struct Workload {
    std::string name;
    fs::path program;
    std::string command; // the program is /tmp/work, PM is mounted at /mnt/pm
    double budget;       // recorded against plain
};

enum class Arm { plain, recorded, with_stacks };

struct Measurement {
    double seconds = 0; // of the workload, by the host's clock
    double cpu = 0;     // of all QEMU's threads meanwhile
    std::uint64_t events = 0;
    double bytes_per_event = 0;
};

struct Medians {
    double seconds = 0;
    double cpu = 0;
    Measurement last;
};

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
}

double cpu_seconds(Guest &guest)
{
    const pid_t qemu = dynamic_cast<QemuMachine &>(guest.machine()).pid();
    double total = 0;
    for (const fs::directory_entry &task :
         fs::directory_iterator(fmt::format("/proc/{}/task", qemu))) {
        std::ifstream file(task.path() / "schedstat");
        double nanoseconds = 0;
        if (file >> nanoseconds)
            total += nanoseconds / 1e9;
    }
    return total;
}

// From a fresh restore, so with cold translations, as every recording has them.
Measurement measure(World &world, const Workload &workload, Arm arm)
{
    const TemporaryDirectory directory("/tmp", "fp-bench-");
    std::unique_ptr<RecordedGuest> recorded;
    std::unique_ptr<Guest> plain;
    if (arm == Arm::plain) {
        const fs::path pm = world.new_pm_file();
        make_file_system(pm, world.source().config.pm[0], "ext4");
        plain = world.restore({pm});
    } else {
        recorded = std::make_unique<RecordedGuest>(
            world, directory.path(),
            RecordingRequest{.file_system = "ext4",
                             .plugin_options = arm == Arm::with_stacks ? ",stacks=on" : ""});
    }
    Guest &guest = recorded ? recorded->guest() : *plain;
    mount_pm(guest, "ext4");
    put_program(guest, workload.program, "/tmp/work");
    Measurement result;
    const double cpu_before = cpu_seconds(guest);
    const Stopwatch watch;
    const RunReply reply = run_in(guest, {"sh", "-c", workload.command}, 600'000);
    result.seconds = watch.seconds();
    result.cpu = cpu_seconds(guest) - cpu_before;
    if (!reply.success())
        fail(ErrorKind::guest, "{} failed: {}", workload.name, reply.errors);
    if (recorded) {
        recorded->end();
        const trace::TraceReader reader(recorded->trace_file());
        result.events = reader.event_count();
        // Everything that the tracer added to the file, sites and markers too.
        const auto added = fs::file_size(recorded->trace_file()) - recorded->prepared_bytes();
        result.bytes_per_event = static_cast<double>(added) / static_cast<double>(result.events);
    }
    return result;
}

Medians medians_of(const std::vector<Measurement> &all)
{
    std::vector<double> seconds;
    std::vector<double> cpu;
    for (const Measurement &one : all) {
        seconds.push_back(one.seconds);
        cpu.push_back(one.cpu);
    }
    return {median(seconds), median(cpu), all.back()};
}

void bench(World &world, const Workload &workload, const Effort &effort)
{
    std::vector<Measurement> results[3];
    // The arms take turns, so that a busy machine is busy for all of them.
    for (int round = 0; round < effort.rounds; ++round)
        for (const Arm arm : {Arm::plain, Arm::recorded, Arm::with_stacks})
            results[static_cast<int>(arm)].push_back(measure(world, workload, arm));
    const Medians plain = medians_of(results[0]);
    const Medians recorded = medians_of(results[1]);
    const Medians stacks = medians_of(results[2]);
    const double ratio = recorded.seconds / plain.seconds;
    const double stack_ratio = stacks.seconds / recorded.seconds;
    std::printf("%-22s plain %7.3f s   recorded %7.3f s   %.2f× (budget ≤ %.1f×: %s; CPU %.2f×)\n",
                workload.name.c_str(), plain.seconds, recorded.seconds, ratio, workload.budget,
                ratio <= workload.budget ? "met" : "NOT met", recorded.cpu / plain.cpu);
    std::printf("%-22s with stacks %7.3f s   %.2f× of recorded (budget ≤ 2×: %s; CPU %.2f×)\n", "",
                stacks.seconds, stack_ratio, stack_ratio <= 2 ? "met" : "NOT met",
                stacks.cpu / recorded.cpu);
    std::printf("%-22s %.2f M events, %.2f bytes an event, with stacks %.2f\n", "",
                static_cast<double>(recorded.last.events) / 1e6, recorded.last.bytes_per_event,
                stacks.last.bytes_per_event);
    std::fflush(stdout);
}

// Debian's example program for libpmemobj's maps. The one header that is not shipped with it is
// ours.
fs::path build_map_program(const fs::path &directory)
{
    const fs::path examples = "/usr/share/doc/libpmemobj-dev/examples";
    if (!fs::exists(examples / "map/mapcli.c"))
        fail(ErrorKind::guest, "{} is missing; run ./setup --tests",
             (examples / "map/mapcli.c").string());
    write_file(directory / "ex_common.h", "#pragma once\n"
                                          "#include <stdint.h>\n"
                                          "#include <unistd.h>\n"
                                          "#define CREATE_MODE_RW 0600\n"
                                          "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n"
                                          "static inline int file_exists(const char *path)\n"
                                          "{ return access(path, F_OK); }\n"
                                          "static inline int find_last_set_64(uint64_t value)\n"
                                          "{ return 63 - __builtin_clzll(value); }\n");
    std::vector<std::string> command = {find_program("gcc").value().string(),
                                        "-O2",
                                        "-w",
                                        "-I" + directory.string(),
                                        "-I" + examples.string(),
                                        "-o",
                                        (directory / "mapcli").string()};
    for (const char *folder : {"map", "hashmap", "tree_map", "list_map"}) {
        command.push_back("-I" + (examples / folder).string());
        for (const fs::directory_entry &entry : fs::directory_iterator(examples / folder)) {
            const std::string name = entry.path().filename();
            if (name.ends_with(".c") && name.find("map") != std::string::npos)
                command.push_back(entry.path());
        }
    }
    command.insert(command.end(), {"-lpmemobj", "-lpmem"});
    const CommandResult result =
        run_command(command, {.deadline = Deadline::after(std::chrono::minutes(2))});
    if (!result.success())
        fail(ErrorKind::guest, "Debian's map example does not compile: {}", result.errors);
    return directory / "mapcli";
}

void run(const Effort &effort)
{
    const TemporaryDirectory directory("/tmp", "fp-map-");
    const fs::path map = build_map_program(directory.path());
    GuestConfig config;
    config.clock = Clock::icount; // as recordings have it; in all arms
    config.pm[0].size = 256ull << 20;
    World world("process", config);
    bench(world,
          {"ext4-DAX files", FENCEPOST_FILE_WORK,
           fmt::format("/tmp/work /mnt/pm {}", effort.file_rounds), 1.5},
          effort);
    for (const char *kind : {"hashmap_atomic", "btree"})
        bench(world,
              {fmt::format("map {}", kind), map,
               fmt::format("echo 'n {}' | /tmp/work {} /mnt/pm/pool 1", effort.inserts, kind), 2.0},
              effort);
    bench(world,
          {"store loop", FENCEPOST_STORE_LOOP,
           fmt::format("/tmp/work /mnt/pm/words {}", effort.stores), 3.0},
          effort);
}

} // namespace
} // namespace fencepost::guest

int main(int argc, char **argv)
{
    using namespace fencepost::guest;
    Effort effort;
    if (argc == 2 && !std::strcmp(argv[1], "--smoke"))
        effort = {1, 50, 50, 500'000};
    try {
        run(effort);
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "record_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
