// SPDX-License-Identifier: GPL-2.0-or-later
// usage: record_kills_test TIMES SEED. Kills `fencepost record`, or the QEMU under it, with SIGKILL
// at random moments of a recording. What is left must be refused, or be a beginning of the
// recording as it is when nobody disturbs it; nothing may keep running; and recording again must
// just work.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "replayer/record/verify.h"
#include "tests/guest/world.h"
#include "trace/journal.h"
#include "trace/reader.h"

namespace fencepost::record {
namespace {

namespace fs = std::filesystem;

// Data that does not compress, so that the trace is committed several times while it is recorded.
constexpr const char *kSpec = R"(
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
dd if=/dev/urandom of=a bs=64k count=200
sync
dd if=/dev/zero of=b bs=4k count=200
mv a c
sync
"""
)";

struct Tally {
    int refused = 0;
    int prefixes = 0;
    int with_events = 0;
    int whole = 0;
    int nothing = 0;
};

std::vector<std::string> record_command(const fs::path &directory, const fs::path &run)
{
    return {FENCEPOST_PROGRAM, "-q",         "record", (directory / "spec.toml").string(), "-o",
            run.string(),      "--no-stacks"};
}

// The machine of a recorder, if it has one now.
pid_t machine_of(pid_t recorder)
{
    for (const fs::directory_entry &entry : fs::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0)
            continue;
        try {
            const std::string stat = read_file(entry.path() / "stat");
            int parent = 0;
            char state = 0;
            if (std::sscanf(stat.c_str() + stat.rfind(')') + 1, " %c %d", &state, &parent) == 2 &&
                parent == recorder &&
                read_file(entry.path() / "cmdline").find("qemu-system") != std::string::npos)
                return pid;
        } catch (const Error &) {
            // It ended meanwhile.
        }
    }
    return 0;
}

std::uint64_t events_in(const fs::path &trace)
{
    try {
        return fs::exists(trace) ? trace::TraceReader(trace).event_count() : 0;
    } catch (const Error &) {
        return 0; // being replaced
    }
}

// Returns once the recorder has ended or its trace holds that many events.
void wait_for_events(ChildProcess &recorder, const fs::path &trace, std::uint64_t events)
{
    const Deadline deadline = guest::soon();
    while (!recorder.wait(Deadline::after(std::chrono::milliseconds(5))) &&
           events_in(trace) < events)
        if (deadline.passed())
            fail(ErrorKind::internal, "a recording does not get on");
}

bool trace_ended(const fs::path &run)
{
    try {
        trace::roll_back(run / "trace.db");
        return trace::TraceReader(run / "trace.db").recording().state ==
               trace::RecordingState::complete;
    } catch (const Error &) {
        return true; // refused: to be removed by hand
    }
}

// What a killed recording left behind; throws if it lies.
void judge(const fs::path &trace, const trace::TraceReader &reference, Tally &tally)
{
    if (!fs::exists(trace)) {
        ++tally.nothing;
        return;
    }
    std::optional<trace::TraceReader> reader;
    try {
        trace::roll_back(trace);
        reader.emplace(trace);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::trace)
            throw;
        ++tally.refused;
        return;
    }
    const std::string difference = first_difference(reference, *reader);
    const bool prefix = difference.empty() || difference.starts_with("the same ");
    if (!prefix)
        fail(ErrorKind::internal, "a killed recording holds what never happened: {}", difference);
    const bool says_complete = reader->recording().state == trace::RecordingState::complete;
    if (says_complete && !difference.empty())
        fail(ErrorKind::internal, "a killed recording says that it is complete: {}", difference);
    ++(says_complete ? tally.whole : tally.prefixes);
    tally.with_events += !says_complete && reader->event_count() > 0;
}

// Records once more and kills the recorder or its machine on the way.
void kill_one(const guest::PrivateCache &cache, const fs::path &directory, const fs::path &killed,
              double seconds, const trace::TraceReader &reference, std::mt19937 &random)
{
    const bool kill_machine = random() % 2 == 0;
    // Anywhere in a recording, and as often in the part of it where events flow.
    const double part = random() % 1000 / 1000.0;
    const bool while_events_flow = random() % 2 == 0;
    ChildProcess recorder(record_command(directory, killed), {});
    if (while_events_flow)
        wait_for_events(
            recorder, killed / "trace.db",
            static_cast<std::uint64_t>(part * static_cast<double>(reference.event_count())));
    else
        recorder.wait(Deadline::after(
            std::chrono::milliseconds(static_cast<long>(part * 1.05 * seconds * 1000))));
    const pid_t machine = machine_of(recorder.pid());
    if (kill_machine && machine != 0)
        ::kill(machine, SIGKILL);
    else
        recorder.kill();
    if (!recorder.wait(guest::soon()))
        fail(ErrorKind::internal, "a recorder goes on for ever after its machine was killed");
    const Deadline deadline = guest::soon();
    while (!guest::machines_using(cache.path()).empty()) {
        if (deadline.passed())
            fail(ErrorKind::internal, "a machine outlives its recorder");
        wait_or_interrupt(std::chrono::milliseconds(2));
    }
}

int run(int times, unsigned seed)
{
    const guest::PrivateCache cache;
    setenv("FENCEPOST_CACHE", cache.path().c_str(), 1);
    const TemporaryDirectory directory("/tmp", "fp-kills-");
    write_file(directory.path() / "spec.toml", kSpec);
    const fs::path whole = directory.path() / "whole";
    const fs::path killed = directory.path() / "killed";
    // Once for the template, once for the time that a recording takes.
    for (const fs::path &to : {killed, whole}) {
        const CommandResult result = run_command(record_command(directory.path(), to));
        if (!result.success())
            fail(ErrorKind::guest, "the undisturbed recording failed: {}", result.last_words());
    }
    const Stopwatch watch;
    fs::remove_all(killed);
    run_command(record_command(directory.path(), killed));
    const double seconds = watch.seconds();
    const trace::TraceReader reference(whole / "trace.db");

    std::mt19937 random(seed);
    Tally tally;
    for (int i = 0; i < times; ++i) {
        // Every second time a run is there that was cut short, and has to start clean.
        if (i % 2 == 0 || trace_ended(killed))
            fs::remove_all(killed);
        kill_one(cache, directory.path(), killed, seconds, reference, random);
        judge(killed / "trace.db", reference, tally);
    }
    fs::remove_all(killed);
    const CommandResult last = run_command(record_command(directory.path(), killed));
    if (!last.success())
        fail(ErrorKind::internal, "recording after the kills failed: {}", last.last_words());
    if (!first_difference(reference, trace::TraceReader(killed / "trace.db")).empty())
        fail(ErrorKind::internal, "recording after the kills gives something else");
    if (const auto left = cache.leftovers(); !left.empty())
        fail(ErrorKind::internal, "left behind: {}", left.front());
    std::printf("%d kills over %.1f s (seed %u): %d before a trace, %d refused, %d valid "
                "beginnings (%d with events), %d whole\n",
                times, seconds, seed, tally.nothing, tally.refused, tally.prefixes,
                tally.with_events, tally.whole);
    return 0;
}

} // namespace
} // namespace fencepost::record

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: record_kills_test TIMES SEED\n");
        return 2;
    }
    try {
        return fencepost::record::run(std::atoi(argv[1]),
                                      static_cast<unsigned>(std::atoi(argv[2])));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "record_kills_test: %s\n", error.what());
        return 1;
    }
}
