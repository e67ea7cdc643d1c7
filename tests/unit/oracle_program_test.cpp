// SPDX-License-Identifier: GPL-2.0-or-later
// Oracles that are programs: their folders, their sandbox, and e2fsck on images that were damaged
// on purpose.
#include "replayer/oracle/folder_oracle.h"

#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::oracle {
namespace {

namespace fs = std::filesystem;

class Programs : public testing::Test {
protected:
    // A folder with an oracle of that program.
    std::string oracle(const std::string &program, const std::string &more = "after = true\n")
    {
        const fs::path folder = directory_.path() / fmt::format("oracle{}", ++count_);
        fs::create_directory(folder);
        std::ofstream(folder / "oracle.toml") << "summary = \"a test\"\nprogram = \"check\"\n"
                                              << more;
        std::ofstream(folder / "check") << "#!/bin/sh\n" << program << "\n";
        chmod((folder / "check").c_str(), 0755);
        return folder;
    }
    PmPart image(const std::string &bytes = "1234567890")
    {
        std::ofstream(directory_.path() / "pm") << bytes;
        return {directory_.path() / "pm", 2, bytes.size() - 2};
    }
    std::optional<Evidence> ask(const std::string &folder, Phase phase = Phase::after)
    {
        return ask_program(find_folder(folder), phase, image(), directory_.path()).evidence;
    }
    static std::string refusal(const std::string &name)
    {
        try {
            find_folder(name);
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            return error.what();
        }
        return "";
    }

    TemporaryDirectory directory_{"/tmp", "fp-oracle-"};
    int count_ = 0;
};

TEST_F(Programs, ExitStatusIsTheVerdict)
{
    EXPECT_FALSE(ask(oracle("exit 0")));
    const std::pair<const char *, Verdict> cases[] = {{"exit 1", Verdict::inconsistent},
                                                      {"exit 2", Verdict::recovery_failed},
                                                      {"exit 3", Verdict::infra_error},
                                                      {"exit 127", Verdict::infra_error},
                                                      {"kill -9 $$", Verdict::infra_error}};
    for (const auto &[program, verdict] : cases) {
        const auto evidence = ask(oracle(program));
        ASSERT_TRUE(evidence) << program;
        EXPECT_EQ(evidence->verdict, verdict) << program;
    }
}

TEST_F(Programs, APassMaySayThatItDidNotLook)
{
    const auto not_tried = [&](const std::string &program) {
        const ProgramAnswer answer =
            ask_program(find_folder(oracle(program)), Phase::after, image(), directory_.path());
        EXPECT_FALSE(answer.evidence);
        return answer.not_tried;
    };
    EXPECT_EQ(not_tried("exit 0"), "");
    EXPECT_EQ(not_tried("echo looks good"), "");
    EXPECT_EQ(not_tried(R"(echo '{"not_tried": 7}')"), "");
    EXPECT_EQ(not_tried(R"(echo '{"not_tried": "encrypted"}')"), "encrypted");

    const FolderOracle mine(find_folder(oracle(R"(echo '{"not_tried": "encrypted"}')")),
                            directory_.path());
    Judgement judgement;
    EXPECT_FALSE(mine.look(Phase::after, image(), {}, judgement));
    EXPECT_EQ(judgement.not_tried, std::vector<std::string>{mine.name() + ": encrypted"});
    EXPECT_TRUE(mine.look(Phase::before, image(), {}, judgement)) << "it need not";
}

TEST_F(Programs, TheUsersAreToldFromOurs)
{
    const auto kind = [&](const std::string &name) {
        return FolderOracle(find_folder(name), directory_.path()).user_oracle();
    };
    EXPECT_EQ(kind(oracle("exit 0")), UserOracle::plain);
    EXPECT_EQ(kind("ext4"), UserOracle::none);
}

TEST_F(Programs, EvidenceIsKept)
{
    const auto evidence = ask(oracle(
        R"sh(echo '{"summary": "inode 12 is lost", "details": {"found": 3}}'; echo words >&2; exit 1)sh"));
    ASSERT_TRUE(evidence);
    EXPECT_EQ(evidence->summary, "inode # is lost");
    EXPECT_EQ(title_of(*evidence), "inode 12 is lost");
    EXPECT_EQ(evidence->details["found"], 3);
    EXPECT_EQ(evidence->details["errors"], "words\n");
    const auto plain = ask(oracle("echo no JSON; exit 1"));
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->summary, "no JSON");
    EXPECT_EQ(plain->details["output"], "no JSON\n");
}

TEST_F(Programs, WhatIsNotAsAgreedIsKeptAsText)
{
    const std::pair<const char *, const char *> cases[] = {
        {R"({"summary": "bad", "details": ["a"]})", "bad"},
        {R"({"summary": "bad", "details": "a"})", "bad"},
        {R"({"summary": ["a"], "details": {}})", R"({"summary": ["a"], "details": {}})"},
        {R"(["a"])", R"(["a"])"},
        {"{", "{"}};
    for (const auto &[words, summary] : cases) {
        const auto evidence = ask(oracle(fmt::format("echo '{}'; echo words >&2; exit 1", words)));
        ASSERT_TRUE(evidence) << words;
        EXPECT_EQ(evidence->verdict, Verdict::inconsistent) << words;
        EXPECT_EQ(evidence->summary, summary) << words;
        EXPECT_EQ(evidence->details["errors"], "words\n") << words;
        EXPECT_EQ(evidence->details["output"], fmt::format("{}\n", words));
    }
}

TEST_F(Programs, SeeTheImageAndNothingElse)
{
    // Afterwards: the whole file, not to be written to. Before: a copy of the part, to be written
    // to.
    EXPECT_FALSE(ask(oracle(
        R"sh([ "$1 $3" = "after 2" ] && [ "$(cat "$2")" = 1234567890 ] && ! echo x 2>/dev/null >"$2")sh")));
    EXPECT_FALSE(ask(
        oracle(
            R"sh([ "$1 $3" = "before 0" ] && [ "$(cat "$2")" = 34567890 ] && echo x >"$2" && echo y >"$4/y")sh"),
        Phase::before));
    EXPECT_EQ(read_file(directory_.path() / "pm"), "1234567890");
    // No files of others, no privileges, none of our environment.
    EXPECT_FALSE(ask(oracle(
        R"sh([ ! -e /root ] && [ ! -e /home ] && [ ! -e /etc/passwd ] && [ ! -e /sys/class/net ])sh")));
    EXPECT_FALSE(ask(oracle(
        R"sh([ "$(id -u)" = 65534 ] && ! chown 1 /scratch 2>/dev/null && ! touch /usr/x 2>/dev/null)sh")));
    EXPECT_FALSE(ask(oracle(R"sh([ -z "$HOME$USER" ])sh")));
}

TEST_F(Programs, LimitsHold)
{
    const auto slow = ask(oracle("sleep 60", "after = true\ntime_limit = 1\n"));
    ASSERT_TRUE(slow);
    EXPECT_EQ(slow->verdict, Verdict::infra_error);
    EXPECT_NE(slow->summary.find("did not end"), std::string::npos);
    // sort would need the 200 MB, as there is no newline.
    const auto greedy =
        ask(oracle("head -c 200000000 /dev/zero | sort >/dev/null && exit 0; exit 3",
                   "after = true\nmemory = \"64M\"\n"));
    ASSERT_TRUE(greedy);
    EXPECT_EQ(greedy->verdict, Verdict::infra_error);
}

// What is written to memory is the host's: /tmp has a size, and there is no other place.
TEST_F(Programs, MemoryIsNotAPlaceToWriteTo)
{
    EXPECT_FALSE(
        ask(oracle("! head -c 30000000 /dev/zero 2>/dev/null >/tmp/x && ! echo 2>/dev/null >/x && "
                   "! echo 2>/dev/null >/dev/x && ! echo 2>/dev/null >/dev/shm/x",
                   "after = true\nmemory = \"20M\"\n")));
}

TEST_F(Programs, ProcessesAreLimited)
{
    if (geteuid() == 0)
        GTEST_SKIP() << "in a user namespace of root's the kernel does not count them";
    EXPECT_TRUE(ask(oracle("i=0; while [ $i -lt 600 ]; do sleep 100 & i=$((i+1)); done; exit 0")));
}

// A limit that cannot be set is no word of the oracle's, whatever the exit status.
TEST_F(Programs, ASandboxThatDoesNotStartIsAnError)
{
    OracleFolder folder = find_folder(oracle("exit 0"));
    folder.limits.memory = 1 << 20; // too little for bubblewrap itself
    EXPECT_THROW(ask_program(folder, Phase::after, image(), directory_.path()), Error);
    folder.limits = {};
    folder.limits.processes = 1ull << 40; // more than prlimit may allow
    if (geteuid() != 0) {
        EXPECT_THROW(ask_program(folder, Phase::after, image(), directory_.path()), Error);
    }
}

TEST_F(Programs, BadFoldersAreRefused)
{
    EXPECT_NE(refusal("nonesuch").find("there are differential, ext4, "), std::string::npos)
        << refusal("nonesuch");
    EXPECT_NE(refusal("../ext4x/y").find("is missing"), std::string::npos);
    const std::string folder = oracle("exit 0", "nonsense = 1\n");
    EXPECT_NE(refusal(folder).find("nonsense"), std::string::npos);
    chmod((folder + "/check").c_str(), 0644);
    std::ofstream(folder + "/oracle.toml") << "program = \"check\"\n";
    EXPECT_NE(refusal(folder).find("cannot be executed"), std::string::npos);
    std::ofstream(folder + "/oracle.toml") << "program = \"../check\"\n";
    EXPECT_NE(refusal(folder).find("name of a file"), std::string::npos);
    std::ofstream(folder + "/oracle.toml") << "memory = \"a lot\"\n";
    EXPECT_FALSE(refusal(folder).empty());
}

TEST_F(Programs, OursAreAllThere)
{
    std::vector<std::string> names;
    for (const OracleFolder &folder : shipped_folders()) {
        names.push_back(folder.name);
        EXPECT_FALSE(folder.summary.empty()) << folder.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"ext4", "xfs"}));
    EXPECT_TRUE(find_folder("ext4").is_for("ext4"));
    EXPECT_FALSE(find_folder("ext4").is_for("xfs"));
}

TEST_F(Programs, CopiesKeepHolesAndBytes)
{
    const fs::path from = directory_.path() / "sparse";
    {
        const Fd file = open_file(from, O_RDWR | O_CREAT);
        ASSERT_EQ(ftruncate(file.get(), 64 << 20), 0);
        ASSERT_EQ(pwrite(file.get(), "inside", 6, (2 << 20) + 5), 6);
        ASSERT_EQ(pwrite(file.get(), "later", 5, 40 << 20), 5);
        ASSERT_EQ(pwrite(file.get(), "behind", 6, 63 << 20), 6);
    }
    const fs::path to = directory_.path() / "copy";
    copy_part({from, 2 << 20, 60 << 20}, to);
    EXPECT_EQ(fs::file_size(to), std::uintmax_t(60) << 20);
    const std::string bytes = read_file(to);
    EXPECT_EQ(bytes.substr(5, 6), "inside");
    EXPECT_EQ(bytes.substr(38 << 20, 5), "later");
    EXPECT_EQ(bytes.find("behind"), std::string::npos);
    struct stat status;
    ASSERT_EQ(stat(to.c_str(), &status), 0);
    EXPECT_LT(status.st_blocks * 512, 1 << 20);
}

} // namespace
} // namespace fencepost::oracle
