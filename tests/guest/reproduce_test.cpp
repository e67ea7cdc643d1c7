// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost reproduce`: a planted bug fails again, in guests of fencepost's and without it; shells
// and debuggers come to it, and nothing is left behind.
// Long because one recording, which takes seconds, serves all of it.
#include <csignal>
#include <regex>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "tests/guest/ledger_spec.h"
#include "trace/database.h"

namespace fencepost::test {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLooks = R"(
[test]
oracles = ["program"]
recovery = ["sh", "-c", "! grep -q valid /mnt/pm/ledger || grep -q amount /mnt/pm/ledger || { echo record 7 is lost; exit 3; }"]
)";

constexpr std::chrono::minutes kLong(2);

// What a program wrote, and how it ended.
struct Ran {
    int code = -1;
    std::string said;
};

Ran ran(const std::vector<std::string> &words,
        const std::map<std::string, std::string> &environment = {})
{
    const CommandResult result =
        run_command(words, {.deadline = Deadline::after(kLong), .environment = environment});
    return {result.end.by_signal ? -1 : result.end.code, result.output + result.errors};
}

class Reproduce : public testing::Test {
protected:
    static void SetUpTestSuite()
    {
        directory_ = std::make_unique<TemporaryDirectory>("/tmp", "fp-reproduce-");
        write_file(directory_->path() / "spec.toml", std::string(kLedgerSpec) + kLooks);
        const Ran recorded = ran({FENCEPOST_PROGRAM, "run", (directory_->path() / "spec.toml"),
                                  "-o", run(), "--times", "0"});
        ASSERT_EQ(recorded.code, 1) << recorded.said;
        trace::Database results(run_path() / "results.db", SQLITE_OPEN_READONLY);
        trace::Statement finding(results.get(), "SELECT id, state FROM finding");
        ASSERT_TRUE(finding.step());
        finding_ = finding.text(0);
        state_ = finding.text(1);
        trace::Statement passing(results.get(), "SELECT state FROM origin JOIN image ON image = "
                                                "number WHERE verdict = 'pass' LIMIT 1");
        ASSERT_TRUE(passing.step());
        passing_ = passing.text(0);
    }
    static void TearDownTestSuite() { directory_.reset(); }

    static fs::path run_path() { return directory_->path() / "run"; }
    static std::string run() { return run_path().string(); }
    static Ran reproduce(std::vector<std::string> words)
    {
        words.insert(words.begin(), {FENCEPOST_PROGRAM, "-q", "reproduce", run()});
        return ran(words);
    }
    static void expect_in(const Ran &result, const std::string &words)
    {
        EXPECT_NE(result.said.find(words), std::string::npos) << result.said;
    }
    static Ran with_input(const std::string &input, const std::string &options)
    {
        return ran({"sh", "-c",
                    "printf '%s' \"$INPUT\" | \"$PROGRAM\" reproduce \"$RUN\" " + finding_ + " " +
                        options},
                   {{"INPUT", input}, {"PROGRAM", FENCEPOST_PROGRAM}, {"RUN", run()}});
    }

    static inline std::unique_ptr<TemporaryDirectory> directory_;
    static inline std::string finding_;
    static inline std::string state_;
    static inline std::string passing_;
};

TEST_F(Reproduce, AFindingFailsAgainEveryTime)
{
    const Ran again = reproduce({finding_, "--times", "3"});
    EXPECT_EQ(again.code, 1) << again.said;
    expect_in(again, "fails again, 3 of 3\n");
    expect_in(again, "record 7 is lost");
    expect_in(again, "EXT4-fs (pmem0): mounted filesystem");
    EXPECT_EQ(reproduce({state_}).code, 1);
    const Ran passes = reproduce({passing_, "--times", "2"});
    EXPECT_EQ(passes.code, 0) << passes.said;
    expect_in(passes, "did not fail this time (2 of 2 passed)\n");
    EXPECT_EQ(ran({FENCEPOST_PROGRAM, "-q", "test", run(), "--state", state_}).code, 1);
}

// The finding says another thing than what is seen.
TEST_F(Reproduce, AnotherFailureIsToldApart)
{
    trace::Database(run_path() / "results.db", SQLITE_OPEN_READWRITE)
        .execute("UPDATE finding SET summary = 'other'; UPDATE evidence SET summary = 'other'");
    const Ran other = reproduce({finding_});
    trace::Database(run_path() / "results.db", SQLITE_OPEN_READWRITE)
        .execute("UPDATE finding SET summary = 'the recovery command ended with status 3: record "
                 "# is lost'; UPDATE evidence SET summary = (SELECT summary FROM finding)");
    EXPECT_EQ(other.code, 1) << other.said;
    expect_in(other, "fails in another way than the finding says, 1 of 1\n");
    expect_in(reproduce({finding_}), "fails again, 1 of 1\n");
}

TEST_F(Reproduce, WhatIsNotThereIsNamed)
{
    std::string near = finding_;
    near.back() = near.back() == '0' ? '1' : '0';
    const Ran unknown = reproduce({near});
    EXPECT_EQ(unknown.code, 2) << unknown.said;
    expect_in(unknown, "; the nearest is " + finding_ + "\n");
    EXPECT_EQ(reproduce({"0" + state_}).code, 2);
    EXPECT_EQ(reproduce({finding_, "--before-recovery"}).code, 2);
    EXPECT_EQ(reproduce({finding_, "--shell", "--gdb"}).code, 2);
    EXPECT_EQ(reproduce({finding_, "--export", "/dev/null"}).code, 2);

    const fs::path untested = directory_->path() / "untested";
    fs::create_directory(untested);
    for (const char *each : {"trace.db", "inputs.json", "setup.job", "workload.job"})
        fs::copy_file(run_path() / each, untested / each);
    const Ran no_results = ran({FENCEPOST_PROGRAM, "reproduce", untested, finding_});
    EXPECT_EQ(no_results.code, 2) << no_results.said;
    expect_in(no_results, "was not tested yet");

    const std::string inputs = read_file(run_path() / "inputs.json");
    write_file(untested / "inputs.json",
               std::regex_replace(inputs, std::regex("\"format\": [0-9]+"), "\"format\": 999"));
    for (const char *verb : {"test", "minimize", "verify"}) {
        const Ran other = ran({FENCEPOST_PROGRAM, "-q", verb, untested});
        EXPECT_EQ(other.code, 3) << verb << other.said;
        expect_in(other, "untested was recorded by another version of fencepost\n");
    }

    const fs::path delta = run_path() / "findings" / finding_ / "image.delta";
    const std::string whole = read_file(delta);
    write_file(delta, whole.substr(0, whole.size() - 20));
    const Ran damaged = reproduce({finding_});
    EXPECT_EQ(damaged.code, 3) << damaged.said;
    expect_in(damaged, "image.delta is damaged: ");
    fs::remove(delta);
    EXPECT_EQ(reproduce({finding_}).code, 1) << "the image is made from the trace";
    write_file(delta, whole);

    const TemporaryDirectory cache("/tmp", "fp-empty-cache-");
    const Ran no_image = ran({FENCEPOST_PROGRAM, "reproduce", run(), finding_},
                             {{"FENCEPOST_CACHE", cache.path().string()}});
    EXPECT_EQ(no_image.code, 2) << no_image.said;
    expect_in(no_image, "there is no guest image 'default'");
    EXPECT_EQ(std::count(no_image.said.begin(), no_image.said.end(), '\n'), 1) << no_image.said;
}

TEST_F(Reproduce, AShellTakesCommandsFromAPipe)
{
    const Ran after = with_input("pwd; mount | grep -c pmem0; head -c 5 ledger | od -c | head -1; "
                                 "ls /sys/class/net; exit 7\n",
                                 "--shell");
    EXPECT_EQ(after.code, 0) << after.said;
    expect_in(after, "/mnt/pm\n1\n0000000  \\0  \\0  \\0  \\0  \\0\nlo\n");
    expect_in(after, "recovery command: exit status 3\n");
    expect_in(after, "shell: exit status 7\n");
    const Ran before =
        with_input("pwd; mount | grep -c pmem0; ls /dev/pmem0\n", "--shell --before-recovery");
    expect_in(before, "/\n0\n/dev/pmem0\n");
}

// A person at a terminal, played by the test.
class Person {
public:
    explicit Person(const std::vector<std::string> &words)
    {
        pid_ = forkpty(&fd_, nullptr, nullptr, nullptr);
        if (pid_ == 0) {
            std::vector<char *> argv;
            for (const std::string &word : words)
                argv.push_back(const_cast<char *>(word.c_str()));
            argv.push_back(nullptr);
            execv(argv[0], argv.data());
            _exit(127);
        }
        tcgetattr(fd_, &before_);
    }
    ~Person()
    {
        if (pid_ > 0)
            kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
        close(fd_);
    }

    void type(const std::string &keys) { ASSERT_GT(write(fd_, keys.data(), keys.size()), 0); }
    void signal(int number) { kill(pid_, number); }
    // False: that does not come.
    bool sees(const std::string &words)
    {
        const Deadline deadline = Deadline::after(kLong);
        for (;;) {
            if (const std::size_t at = seen_.find(words); at != std::string::npos) {
                seen_.erase(0, at + words.size());
                return true;
            }
            pollfd waited = {fd_, POLLIN, 0};
            char buffer[4096];
            if (poll(&waited, 1, deadline.poll_timeout()) <= 0)
                return false;
            const ssize_t got = read(fd_, buffer, sizeof buffer);
            if (got <= 0)
                return false;
            seen_.append(buffer, static_cast<std::size_t>(got));
        }
    }
    bool is_raw() const
    {
        termios now = {};
        tcgetattr(fd_, &now);
        return (now.c_lflag & ICANON) == 0;
    }
    // The exit status.
    int wait()
    {
        while (sees(std::string(1, '\x01')))
            ;
        int status = 0;
        waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    bool terminal_is_as_before() const
    {
        termios now = {};
        tcgetattr(fd_, &now);
        return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
               now.c_oflag == before_.c_oflag;
    }

private:
    pid_t pid_ = -1;
    int fd_ = -1;
    termios before_ = {};
    std::string seen_;
};

class ReproduceShell : public Reproduce {
protected:
    // At the prompt.
    void begin()
    {
        person_.emplace(
            std::vector<std::string>{FENCEPOST_PROGRAM, "reproduce", run(), finding_, "--shell"});
        ASSERT_TRUE(person_->sees("guest:/mnt/pm# "));
        EXPECT_TRUE(person_->is_raw());
    }
    void expect_end(int code)
    {
        EXPECT_EQ(person_->wait(), code);
        EXPECT_TRUE(person_->terminal_is_as_before());
    }

    std::optional<Person> person_;
};

TEST_F(ReproduceShell, APersonWorksInIt)
{
    begin();
    person_->type("ls; echo $((6*7))\r");
    EXPECT_TRUE(person_->sees("ledger"));
    EXPECT_TRUE(person_->sees("42"));
    // Not what is typed, but what it does.
    person_->type("sh -c \"echo star''ted; exec cat\"\r");
    EXPECT_TRUE(person_->sees("started"));
    person_->type("\x03"); // of the guest's, not ours
    EXPECT_TRUE(person_->sees("guest:/mnt/pm# "));
    person_->type("exit\r");
    expect_end(0);
}

TEST_F(ReproduceShell, TheKeyToLeaveEndsTheGuest)
{
    begin();
    person_->type("\x1d");
    expect_end(0);
}

TEST_F(ReproduceShell, ASignalEndsIt)
{
    begin();
    person_->signal(SIGTERM);
    expect_end(130);
}

TEST_F(ReproduceShell, AGuestThatPanicsEndsIt)
{
    begin();
    person_->type("echo c >/proc/sysrq-trigger\r");
    expect_end(4);
}

class ReproduceDebugger : public Reproduce {
protected:
    // The guest stands still; `commands_` is what a debugger begins with.
    void begin(const std::vector<std::string> &options = {})
    {
        auto [ours, theirs] = make_pipe();
        std::vector<std::string> words = {FENCEPOST_PROGRAM, "-q",   "reproduce", run(),
                                          finding_,          "--gdb"};
        words.insert(words.end(), options.begin(), options.end());
        fencepost_.emplace(words, SpawnOptions{.fds = {{1, theirs.get()}, {2, STDERR_FILENO}}});
        theirs.reset();
        std::string line;
        for (char each = 0; read(ours.get(), &each, 1) == 1 && each != '\n';)
            line += each;
        ASSERT_TRUE(line.starts_with("gdb -x /")) << line;
        commands_ = line.substr(7);
    }
    void expect_end(int code)
    {
        const auto end = fencepost_->wait(Deadline::after(kLong));
        ASSERT_TRUE(end);
        EXPECT_FALSE(end->by_signal);
        EXPECT_EQ(end->code, code);
        EXPECT_FALSE(fs::exists(commands_.parent_path()));
        const Ran qemus = ran({"pgrep", "-f", "qemu-system.*" + commands_.parent_path().string()});
        EXPECT_EQ(qemus.said, "");
    }

    std::optional<ChildProcess> fencepost_;
    fs::path commands_;
};

TEST_F(ReproduceDebugger, StopsInRecoveryAndKnowsNames)
{
    if (!find_program("gdb"))
        GTEST_SKIP() << "gdb is not installed";
    begin();
    const Ran gdb = ran({"gdb", "-batch", "-x", commands_.string(), "-ex", "break ext4_fill_super",
                         "-ex", "continue", "-ex", "info symbol $pc", "-ex", "detach"});
    EXPECT_EQ(gdb.code, 0) << gdb.said;
    expect_in(gdb, "Breakpoint 1, 0x");
    expect_in(gdb, "ext4_fill_super in section .text\n");
    expect_end(0);
}

// Of the newest kernel package in the user's cache, which is that of the image.
std::string file_of_module(const std::string &name, const fs::path &directory)
{
    const Ran found = ran({"sh", "-c",
                           "cd \"$0\" && dpkg-deb --fsys-tarfile "
                           "\"$(ls -t \"$1\"/packages/linux-image-*.deb | head -n 1)\" | "
                           "tar -xO --wildcards \"*/$2\" >\"$2\"",
                           directory.string(), cache_directory().string(), name});
    EXPECT_EQ(found.code, 0) << found.said;
    return directory / name;
}

// The kernel says where the module is, and by the file's own symbols its functions are there.
TEST_F(ReproduceDebugger, KnowsAModuleByItsFile)
{
    if (!find_program("gdb"))
        GTEST_SKIP() << "gdb is not installed";
    const std::string module = file_of_module("nd_pmem.ko", directory_->path());
    begin({"--symbols", module});
    const Ran gdb = ran({"gdb", "-batch", "-x", commands_.string(), "-ex", "break pmem_submit_bio",
                         "-ex", "continue", "-ex", "info symbol $pc", "-ex", "detach"});
    EXPECT_EQ(gdb.code, 0) << gdb.said;
    expect_in(gdb, "pmem_submit_bio in section .text of " + module + "\n");
    expect_end(0);

    const Ran nowhere = reproduce({finding_, "--gdb", "--symbols", "/no/such.ko"});
    EXPECT_EQ(nowhere.code, 2) << nowhere.said;
    expect_in(nowhere, "there is no file of symbols /no/such.ko");
    const fs::path stranger = directory_->path() / "my-fs.ko";
    fs::copy_file(module, stranger);
    const Ran unknown = reproduce({finding_, "--gdb", "--symbols", stranger.string()});
    EXPECT_EQ(unknown.code, 2) << unknown.said;
    expect_in(unknown, "the guest has no module my_fs, of which " + stranger.string());
}

TEST_F(ReproduceDebugger, CtrlCLeavesNothingBehind)
{
    begin();
    kill(fencepost_->pid(), SIGINT);
    expect_end(130);
}

class ReproduceScript : public Reproduce {
protected:
    static Ran script(const fs::path &folder, const std::string &qemu = "qemu-system-x86_64")
    {
        return ran({"env", "-i", "PATH=/usr/bin:/bin", "QEMU=" + qemu, "sh",
                    (folder / "reproduce.sh").string()});
    }
};

TEST_F(ReproduceScript, ShowsTheFailureWithoutFencepost)
{
    const fs::path folder = directory_->path() / "to-mail";
    const Ran exported = reproduce({finding_, "--export", folder.string()});
    EXPECT_EQ(exported.code, 1) << exported.said;
    expect_in(exported, "exported   " + folder.string());
    const Ran again = script(folder);
    EXPECT_EQ(again.code, 1) << again.said;
    expect_in(again, "reproduce.sh: it fails again: program: inconsistent: the recovery command "
                     "ended with status 3: record 7 is lost");
    EXPECT_EQ(std::count(again.said.begin(), again.said.end(), '\n'), 1) << again.said;
    EXPECT_EQ(reproduce({finding_, "--export", folder.string()}).code, 2) << "it is there";

    const Ran no_qemu = script(folder, "no-such-qemu");
    EXPECT_EQ(no_qemu.code, 4);
    EXPECT_EQ(no_qemu.said, "reproduce.sh: no-such-qemu is not installed\n");
    const Ran bad_qemu = script(folder, "true");
    EXPECT_EQ(bad_qemu.code, 4) << bad_qemu.said;

    // An image that recovers: the one before the workload.
    const fs::path other = directory_->path() / "healthy";
    fs::copy(folder, other);
    const std::string bytes = read_file(other / "pm0.img");
    const std::size_t flag = bytes.find("valid");
    ASSERT_NE(flag, std::string::npos);
    std::string healthy = bytes;
    healthy.replace(flag, 5, 5, '\0');
    write_file(other / "pm0.img", healthy);
    const Ran passes = script(other);
    EXPECT_EQ(passes.code, 0) << passes.said;
    EXPECT_EQ(passes.said, "reproduce.sh: it does not fail this time\n");
}

TEST_F(ReproduceScript, OfAFindingSaysWhatItNeeds)
{
    const Ran alone = script(run_path() / "findings" / finding_);
    EXPECT_EQ(alone.code, 4);
    expect_in(alone, "reproduce.sh: kernel is not here; fencepost reproduce --export makes a "
                     "folder that has it\n");
}

} // namespace
} // namespace fencepost::test
