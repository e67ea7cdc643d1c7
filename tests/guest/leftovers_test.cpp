// SPDX-License-Identifier: GPL-2.0-or-later
// Killed at a random moment, again and again: the next start finds no process and no file, and
// works. Argument 1: backend; 2: how many times; 3: seed.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/child_process.h"
#include "base/error.h"
#include "base/places.h"
#include "replayer/guest/scratch_sweep.h"
#include "tests/guest/world.h"

namespace fencepost::guest {
namespace {

struct Counts {
    int killed = 0;
    int interrupted = 0;
    int finished = 0;
};

int attack(const std::string &backend, int times, unsigned seed)
{
    const PrivateCache cache;
    const std::string program = built_part("cli", "fencepost").string();
    const std::vector<std::string> command = {program, "-q", "image", "try", "--backend", backend};
    const std::map<std::string, std::string> environment = {
        {"FENCEPOST_CACHE", cache.path().string()}};
    auto must_work = [&] {
        const CommandResult result =
            run_command(command, {.deadline = soon(), .environment = environment});
        if (!result.success())
            fail(ErrorKind::guest, "a run after the kills fails: {}", result.last_words());
    };
    must_work(); // makes the template
    const Stopwatch watch;
    must_work();
    const double whole = watch.seconds();

    std::mt19937 random(seed);
    std::uniform_real_distribution<double> moment(0, whole * 1.05);
    Counts counts;
    for (int i = 0; i < times; ++i) {
        const bool gently = i % 4 == 3; // Ctrl-C, which cleans up by itself
        if (gently)
            sweep_scratch(cache.path()); // so that whatever is there afterwards is this one's
        ChildProcess child(command, {.environment = environment});
        const auto span = std::chrono::milliseconds(static_cast<int>(moment(random) * 1000));
        if (child.wait(Deadline::after(span))) {
            ++counts.finished;
        } else {
            ::kill(child.pid(), gently ? SIGINT : SIGKILL);
            if (gently) // as timeout(1) does
                ::kill(child.pid(), SIGINT);
            const auto end = child.wait(soon());
            if (gently && end && !end->by_signal && end->code != 130 && end->code != 0)
                fail(ErrorKind::internal, "Ctrl-C ended in {}", end->describe());
            ++(gently ? counts.interrupted : counts.killed);
        }
        if (gently && !cache.leftovers().empty())
            fail(ErrorKind::internal, "Ctrl-C left behind: {}", cache.leftovers().front());
    }
    must_work(); // whose start sweeps
    const std::vector<std::string> left = cache.leftovers();
    for (const std::string &what : left)
        std::fprintf(stderr, "left behind: %s\n", what.c_str());
    std::printf("%s: %d restores, %d killed, %d interrupted, %d finished before the kill; left "
                "behind: %zu\n",
                backend.c_str(), times, counts.killed, counts.interrupted, counts.finished,
                left.size());
    return left.empty() && counts.killed > 0 ? 0 : 1;
}

} // namespace
} // namespace fencepost::guest

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "usage: leftovers_test BACKEND TIMES SEED\n");
        return 2;
    }
    try {
        return fencepost::guest::attack(argv[1], std::atoi(argv[2]),
                                        static_cast<unsigned>(std::atoi(argv[3])));
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "leftovers_test: %s\n", error.what());
        return 1;
    }
}
