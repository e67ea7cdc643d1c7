// SPDX-License-Identifier: GPL-2.0-or-later
// usage: test_kills_test TIMES SEED. Kills `fencepost test` at random moments, with SIGKILL or
// SIGINT. No verdict may be lost or made again once it was there, nothing may keep running, and in
// the end all is as it is when nobody disturbs it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/guest/world.h"
#include "trace/database.h"

namespace fencepost::test {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSpec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
mkdir d
echo hello >d/greeting
sync
dd if=/dev/urandom of=d/data bs=4096 count=20 2>/dev/null
sync
mv d/greeting d/welcome
sync
"""
)";

std::vector<std::string> test_command(const fs::path &run)
{
    return {FENCEPOST_PROGRAM, "-q",    "test",          run.string(),
            "--oracle",        "mount", "--strategy",    "none-all,random:12",
            "--group",         "off",   "--jobs",        "2",
            "--confirm",       "1",     "--accelerator", "tcg"};
}

// With torn sectors there are findings, which ext4 without sector atomicity has.
bool ended_well(const std::optional<ProcessEnd> &end)
{
    return end && !end->by_signal && (end->code == 0 || end->code == 1);
}

// Identity and expectation of each image with a verdict: the verdict and the session that gave it.
using Verdicts = std::map<std::string, std::pair<std::string, std::int64_t>>;

Verdicts verdicts_in(const fs::path &run)
{
    Verdicts found;
    if (!fs::exists(run / "results.db"))
        return found;
    // Read and write: a journal that a killed process left is rolled back.
    trace::Database database(run / "results.db", SQLITE_OPEN_READWRITE);
    if (database.integer("SELECT count(*) FROM sqlite_schema") == 0)
        return found;
    trace::Statement rows(database.get(),
                          "SELECT hex(identity) || expectation, verdict, session FROM image "
                          "WHERE verdict IS NOT NULL");
    while (rows.step())
        found[std::string(rows.text(0))] = {std::string(rows.text(1)), rows.integer(2)};
    return found;
}

void require_no_loss(const Verdicts &before, const Verdicts &after)
{
    for (const auto &[image, verdict] : before) {
        const auto found = after.find(image);
        if (found == after.end())
            fail(ErrorKind::internal, "the verdict on {} is lost", image);
        if (found->second != verdict)
            fail(ErrorKind::internal, "{} was tested again, and was {}", image, verdict.first);
    }
}

// A run on a disk with room for some verdicts, but not for all: the test stops with a sentence, and
// what it had written can be read.
void fill_disk(const fs::path &directory, const fs::path &run)
{
    const fs::path small = directory / "small";
    fs::create_directory(small);
    std::uint64_t needed = 0;
    for (const char *name : {"trace.db", "inputs.json", "setup.job", "workload.job", "spec.toml"})
        needed += fs::file_size(run / name) / 4096 * 4096 + 4096;
    std::vector<std::string> command = {
        "bwrap",
        "--dev-bind",
        "/",
        "/",
        "--size",
        std::to_string(needed + (160 << 10)),
        "--tmpfs",
        small.string(),
        "sh",
        "-c",
        "run=$1; small=$2; shift 2; cp $run/trace.db $run/*.json $run/*.job $run/spec.toml $small/ "
        "&& rm -f $small/record.json || exit 9; "
        "\"$@\"; code=$?; sqlite3 -readonly $small/results.db 'PRAGMA integrity_check' || exit 8; "
        "exit $code",
        "sh",
        run.string(),
        small.string()};
    for (const std::string &word : test_command(small))
        command.push_back(word);
    const CommandResult result = run_command(command);
    if (result.end.code != 4 || result.errors.find("the disk is full") == std::string::npos ||
        result.output != "ok\n")
        fail(ErrorKind::internal, "a full disk: {}, said '{}', results: '{}'",
             result.end.describe(), result.errors, result.output);
}

// Starts a test and stops it after a while, by SIGINT or by SIGKILL. False: it had ended by then.
bool stop_one(const fs::path &run, std::chrono::milliseconds delay, bool politely)
{
    ChildProcess tester(test_command(run), {});
    const bool ended = tester.wait(Deadline::after(delay)).has_value();
    if (!ended && politely) {
        ::kill(tester.pid(), SIGINT);
        const auto end = tester.wait(guest::soon());
        if (!ended_well(end) && (!end || end->code != 130))
            fail(ErrorKind::internal, "an interrupted test ended with {}",
                 end ? end->describe() : "nothing");
    }
    if (!ended && !politely)
        ::kill(tester.pid(), SIGKILL);
    tester.wait(guest::soon());
    return !ended;
}

void require_the_same(const Verdicts &last, const Verdicts &undisturbed)
{
    if (last.size() != undisturbed.size())
        fail(ErrorKind::internal, "{} verdicts instead of {}", last.size(), undisturbed.size());
    for (const auto &[image, verdict] : undisturbed)
        if (const auto found = last.find(image);
            found == last.end() || found->second.first != verdict.first)
            fail(ErrorKind::internal, "another verdict on {} than without kills", image);
}

int run(int times, unsigned seed)
{
    const guest::PrivateCache cache;
    setenv("FENCEPOST_CACHE", cache.path().c_str(), 1);
    const TemporaryDirectory directory("/tmp", "fp-test-kills-");
    const fs::path killed = directory.path() / "killed";
    const fs::path whole = directory.path() / "whole";
    write_file(directory.path() / "spec.toml", kSpec);
    if (const auto result = run_command({FENCEPOST_PROGRAM, "-q", "record",
                                         (directory.path() / "spec.toml").string(), "-o",
                                         killed.string(), "--no-stacks"});
        !result.success())
        fail(ErrorKind::guest, "the recording failed: {}", result.last_words());
    fs::copy(killed, whole);
    Stopwatch watch;
    for (int round = 0; round < 2; ++round) { // the first makes the template
        fs::remove(whole / "results.db");
        fs::remove_all(whole / "findings");
        watch = {};
        if (const auto result = run_command(test_command(whole)); !ended_well(result.end))
            fail(ErrorKind::guest, "the undisturbed test failed: {}", result.last_words());
    }
    const double seconds = watch.seconds();
    std::mt19937 random(seed);
    Verdicts known;
    int interrupted = 0;
    for (int i = 0; i < times; ++i) {
        const bool politely = i % 3 == 2;
        const auto delay =
            std::chrono::milliseconds(static_cast<int>(seconds * 1000 * (random() % 1000) / 1500));
        if (stop_one(killed, delay, politely) && politely)
            ++interrupted;
        const Verdicts now = verdicts_in(killed);
        require_no_loss(known, now);
        known = now;
        for (const Deadline deadline = guest::soon(); !guest::machines_using(cache.path()).empty();)
            if (deadline.passed())
                fail(ErrorKind::internal, "a machine outlives its test");
    }
    if (const auto result = run_command(test_command(killed)); !ended_well(result.end))
        fail(ErrorKind::internal, "a test could not go on: {}", result.last_words());
    const Verdicts last = verdicts_in(killed);
    require_no_loss(known, last);
    require_the_same(last, verdicts_in(whole));
    fill_disk(directory.path(), whole);
    for (const std::string &leftover : cache.leftovers())
        fail(ErrorKind::internal, "left behind: {}", leftover);
    std::printf("%d stops, %d of them by SIGINT; %zu verdicts before the last session, %zu in the "
                "end, none lost, none "
                "made twice\n",
                times, interrupted, known.size(), last.size());
    return 0;
}

} // namespace
} // namespace fencepost::test

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    try {
        return fencepost::test::run(std::atoi(argv[1]), static_cast<unsigned>(std::atoi(argv[2])));
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "test_kills_test: %s\n", error.what());
        return 1;
    }
}
