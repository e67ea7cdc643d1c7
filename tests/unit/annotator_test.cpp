// SPDX-License-Identifier: GPL-2.0-or-later
// Annotators: ours are right about real images of ext4 and XFS; of a program that is missing,
// fails, hangs or prints what it should not there is a reason and nothing else.
#include "replayer/annotate/annotator.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::annotate {
namespace {

namespace fs = std::filesystem;

using Offsets = std::vector<std::uint64_t>;

class Annotators : public testing::Test {
protected:
    // A folder with a shell script.
    AnnotatorFolder annotator(const std::string &script, const std::string &fields = "")
    {
        const fs::path folder = directory_.path() / "mine";
        make_directories(folder);
        write_file(folder / "annotator.toml", "program = \"annotate\"\n" + fields);
        write_file(folder / "annotate", "#!/bin/sh\n" + script);
        fs::permissions(folder / "annotate",
                        fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
        return find_annotator(folder.string() + "/");
    }
    AnnotatorAnswer ask(const AnnotatorFolder &folder, const Offsets &offsets)
    {
        const fs::path image = directory_.path() / "copy";
        fs::remove(image);
        if (fs::exists(image_))
            copy_sparse(image_, image);
        else
            write_file(image, "an image");
        return ask_annotator(folder, image, offsets, directory_.path());
    }
    std::string failure(const AnnotatorFolder &folder)
    {
        const AnnotatorAnswer answer = ask(folder, {0, 4096});
        EXPECT_TRUE(answer.places.empty());
        hopeless_ = answer.hopeless;
        return answer.failure;
    }
    // What one of ours says about a byte; "-" in front where it is nobody's.
    std::string said(const std::string &name, std::uint64_t offset)
    {
        const AnnotatorAnswer answer = ask(find_annotator(name), {offset});
        if (answer.places.size() != 1)
            return "failure: " + answer.failure;
        return (answer.places[0].nobodys ? "- " : "") + answer.places[0].text;
    }
    static std::string output_of(const std::vector<std::string> &command)
    {
        const CommandResult result = run_command(command);
        EXPECT_TRUE(result.success()) << command[0] << ": " << result.errors;
        return result.output;
    }
    static std::string program(const char *name) { return find_program(name).value().string(); }

    void make_tree()
    {
        fs::create_directories(tree_ / "d");
        std::ofstream(tree_ / "a") << "hello";
        std::ofstream(tree_ / "d/foo") << std::string(300'000, 'x');
    }
    void make_ext4(const std::vector<std::string> &options = {})
    {
        make_tree();
        std::vector<std::string> command = {
            program("mkfs.ext4"), "-q", "-F",          "-b", "4096", "-E",
            "lazy_itable_init=0", "-d", tree_.string()};
        command.insert(command.end(), options.begin(), options.end());
        command.insert(command.end(), {image_.string(), "32M"});
        output_of(command);
    }
    // What debugfs prints for a request, its first number behind `label`.
    std::uint64_t debugfs(const std::string &request, const std::string &label = "")
    {
        const std::string text = output_of({program("debugfs"), "-R", request, image_.string()});
        const std::size_t at = text.find(label);
        EXPECT_NE(at, std::string::npos) << text;
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + label.size()));
    }

    const TemporaryDirectory directory_{"/tmp", "fp-annotator-"};
    const fs::path image_ = directory_.path() / "image";
    const fs::path tree_ = directory_.path() / "tree";
    bool hopeless_ = false;
};

TEST_F(Annotators, SayALineForEachPlace)
{
    const AnnotatorFolder folder =
        annotator("cat \"$1\" >&2; while read -r place; do\n"
                  "  case $place in 0) echo 'the start' ;;\n"
                  "  1) echo '- nothing yet' ;; 2) echo - ;; 3) echo ;;\n"
                  "  *) printf 'a\\033[2Jb\\377\\n' ;; esac\n"
                  "done <\"$2\"; echo x >\"$3/file\" && echo y >>\"$1\"\n");
    EXPECT_TRUE(folder.users);
    const AnnotatorAnswer answer = ask(folder, {0, 1, 2, 3, 4096});
    EXPECT_EQ(answer.failure, "");
    const std::vector<PlaceWords> expected = {{"the start", false},
                                              {"nothing yet", true},
                                              {"", true},
                                              {"", false},
                                              {"a\\x1b[2Jb\\xff", false}};
    EXPECT_EQ(answer.places, expected);
}

TEST_F(Annotators, TheExampleInTheReadmeIsOne)
{
    const std::string text = read_file(fs::path(FENCEPOST_SOURCE) / "annotators/README.md");
    const auto block = [&](const std::string &language) {
        const std::string fence = "```" + language + "\n";
        const std::size_t at = text.find(fence) + fence.size();
        return text.substr(at, text.find("```", at) - at);
    };
    const AnnotatorFolder folder = annotator(block("sh"));
    write_file(folder.directory / "annotator.toml", block("toml"));
    const AnnotatorFolder read = find_annotator(folder.directory.string());
    EXPECT_FALSE(read.is_for("ext4"));
    const std::vector<PlaceWords> expected = {{"superblock", false}, {"log, block 1", false}};
    EXPECT_EQ(ask(read, {4095, 8192}).places, expected);
}

TEST_F(Annotators, WhatCannotBeUsedHasAReason)
{
    const auto has = [](const std::string &text, const char *words) {
        return text.find(words) != std::string::npos ? "" : text;
    };
    EXPECT_EQ(has(failure(annotator("echo 'no such file system' >&2; exit 3\n")),
                  "the annotator mine ended with exit status 3: no such file system"),
              "");
    EXPECT_FALSE(hopeless_) << "another image may do";
    EXPECT_EQ(has(failure(annotator("echo one\n")), "printed less than a line for each"), "");
    EXPECT_EQ(has(failure(annotator("true\n")), "printed less than a line for each"), "");
    EXPECT_EQ(has(failure(annotator("printf '1\\n2\\n3\\n'\n")), "printed more than a line"), "");
    EXPECT_EQ(has(failure(annotator("head -c 3000000 /dev/urandom\n")), "wrote more than"), "");
    EXPECT_EQ(has(failure(annotator("sleep 100\n", "time_limit = 1\n")), "did not end within 1 s"),
              "");
    EXPECT_TRUE(hopeless_) << "not asked again for every finding";
    EXPECT_EQ(has(failure(annotator("true\n", "needs = [\"no-such-program\"]\n")),
                  "needs no-such-program, which is not installed"),
              "");
    EXPECT_TRUE(hopeless_);
    EXPECT_EQ(has(failure(annotator("kill -9 $$\n")), "ended with exit status 137"), "");
}

TEST_F(Annotators, LongAnswersAreCut)
{
    const AnnotatorFolder folder =
        annotator("echo short; head -c 5000 /dev/zero | tr '\\0' x; echo\n");
    const AnnotatorAnswer answer = ask(folder, {0, 1});
    ASSERT_EQ(answer.places.size(), 2u) << answer.failure;
    EXPECT_EQ(answer.places[1].text, std::string(200, 'x') + "...");
}

TEST_F(Annotators, SeeNothingOfTheHost)
{
    const AnnotatorFolder folder =
        annotator("id -u; ls /home /root /tmp 2>/dev/null | grep -v : | wc -l\n");
    const AnnotatorAnswer answer = ask(folder, {0, 1});
    ASSERT_EQ(answer.places.size(), 2u) << answer.failure;
    EXPECT_EQ(answer.places[0].text, "65534");
    EXPECT_EQ(answer.places[1].text, "0");
}

TEST_F(Annotators, MistakesAreNamed)
{
    const auto mistake = [](auto &&work) -> std::string {
        try {
            work();
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(
        mistake([] { find_annotator("ext5"); }),
        "there is no annotator 'ext5'; there are ext4, xfs, and your own by the path of their "
        "folder");
    EXPECT_NE(mistake([] { find_annotator("/nowhere/mine"); }).find("annotator.toml is missing"),
              std::string::npos);
    EXPECT_NE(mistake([&] { annotator("true\n", "before = true\n"); }).find("before"),
              std::string::npos)
        << "that is for oracles";
    EXPECT_EQ(annotator_for("ext3")->name, "ext4");
    EXPECT_EQ(annotator_for("xfs")->name, "xfs");
    EXPECT_FALSE(annotator_for("fencefs"));
}

TEST_F(Annotators, Ext4)
{
    make_ext4();
    EXPECT_EQ(said("ext4", 0), "before the superblock");
    EXPECT_EQ(said("ext4", 1024 + 100), "superblock");
    EXPECT_EQ(said("ext4", 4096), "group descriptors");
    const std::uint64_t foo = debugfs("blocks d/foo");
    EXPECT_EQ(said("ext4", foo * 4096 + 17), "block of /d/foo at 0");
    EXPECT_EQ(said("ext4", (foo + 3) * 4096), "block of /d/foo at 12288");
    EXPECT_EQ(said("ext4", debugfs("blocks /") * 4096), "directory /, block at 0");
    EXPECT_EQ(said("ext4", debugfs("blocks /d") * 4096 + 24), "directory /d, block at 0");
    EXPECT_EQ(said("ext4", (debugfs("blocks <8>") + 2) * 4096), "journal, at 8192");
    EXPECT_EQ(said("ext4", debugfs("stats", "block bitmap at ") * 4096), "block bitmap of group 0");
    EXPECT_EQ(said("ext4", debugfs("stats", "inode bitmap at ") * 4096), "inode bitmap of group 0");
    const std::uint64_t table = debugfs("stats", "inode table at ") * 4096;
    EXPECT_EQ(said("ext4", table + 256), "inode table, inode 2 (/)");
    // Of a file that mkfs has copied: "Inode: 13 ...".
    const std::uint64_t inode = debugfs("stat d/foo", "Inode: ");
    EXPECT_EQ(said("ext4", table + (inode - 1) * 256 + 40),
              "inode table, inode " + std::to_string(inode) + " (/d/foo)");
    EXPECT_EQ(said("ext4", table + 499 * 256), "- inode table, inode 500 (free)");
    EXPECT_EQ(said("ext4", 8000 * 4096), "- free block 8000 of group 0");
    // It has blocks that are mapped as ext2 did.
    fs::remove(image_);
    make_ext4({"-O", "^extent,^64bit,^metadata_csum"});
    const std::uint64_t mapped = debugfs("blocks d/foo");
    EXPECT_EQ(said("ext4", (mapped + 1) * 4096), "block of /d/foo at 4096");
    EXPECT_EQ(said("ext4", debugfs("stat d/foo", "(IND):") * 4096),
              "extent tree or block map of /d/foo");
}

TEST_F(Annotators, Ext4WithoutAFileSystem)
{
    std::ofstream(image_) << std::string(1 << 20, 'x');
    EXPECT_EQ(said("ext4", 4096).find("failure: the annotator ext4 ended with exit status 1: "),
              0u);
}

TEST_F(Annotators, Xfs)
{
    make_tree();
    std::ofstream(image_).close();
    fs::resize_file(image_, 320 << 20);
    const fs::path proto = directory_.path() / "proto";
    write_file(proto, "/\n0 0\nd--755 0 0\na ---644 0 0 " + (tree_ / "a").string() +
                          "\nd d--755 0 0\nfoo ---644 0 0 " + (tree_ / "d/foo").string() +
                          "\n$\n$\n");
    output_of({program("mkfs.xfs"), "-q", "-f", "-p", proto.string(), image_.string()});
    const auto xfs_db = [&](const std::vector<std::string> &commands, const std::string &label) {
        std::vector<std::string> words = {program("xfs_db"), "-r", "-f"};
        for (const std::string &each : commands)
            words.insert(words.end(), {"-c", each});
        words.push_back(image_.string());
        const std::string text = output_of(words);
        const std::size_t at = text.find(label);
        EXPECT_NE(at, std::string::npos) << text;
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + label.size()));
    };
    EXPECT_EQ(said("xfs", 100), "superblock");
    EXPECT_EQ(said("xfs", 512), "AGF of AG 0");
    EXPECT_EQ(said("xfs", 1024), "AGI of AG 0");
    EXPECT_EQ(said("xfs", 1536), "AGFL of AG 0");
    EXPECT_EQ(said("xfs", 4096), "free space of AG 0, B+tree by block");
    const std::uint64_t group = xfs_db({"sb 0", "p agblocks"}, "agblocks = ") * 4096;
    EXPECT_EQ(said("xfs", group), "backup of the superblock, AG 1");
    EXPECT_EQ(said("xfs", group + 512), "AGF of AG 1");
    const std::uint64_t log = xfs_db(
        {"sb 0",
         "convert fsb " + std::to_string(xfs_db({"sb 0", "p logstart"}, "logstart = ")) + " byte"},
        "(");
    EXPECT_EQ(said("xfs", log + 8192), "log, at 8192");
    const std::uint64_t root = xfs_db({"sb 0", "p rootino"}, "rootino = ");
    const std::uint64_t inode = xfs_db({"convert inode " + std::to_string(root) + " byte"}, "(");
    EXPECT_EQ(said("xfs", inode + 30), "inode " + std::to_string(root) + " (/)");
    EXPECT_EQ(said("xfs", inode + 3 * 512), "inode " + std::to_string(root + 3) + " (/a)");
    const std::uint64_t foo = xfs_db({"blockget -n", "ncheck"}, "d/.\n");
    const std::uint64_t block = xfs_db({"inode " + std::to_string(foo), "bmap"}, "startblock ");
    const std::uint64_t byte = xfs_db({"convert fsb " + std::to_string(block) + " byte"}, "(");
    EXPECT_EQ(said("xfs", byte + 5), "block of /d/foo at 0");
    EXPECT_EQ(said("xfs", byte + 3 * 4096), "block of /d/foo at 12288");
    EXPECT_EQ(said("xfs", group - 8192).find("- free block "), 0u);
}

} // namespace
} // namespace fencepost::annotate
