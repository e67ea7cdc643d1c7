// SPDX-License-Identifier: GPL-2.0-or-later
// What places of a run belong to: the image that is asked about is the one at that event, answers
// are kept beside the finding, and no trouble is more than a reason.
#include "replayer/annotate/place_notes.h"

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "replayer/annotate/kept_notes.h"
#include "trace/event_buffer.h"
#include "trace/writer.h"

namespace fencepost::annotate {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBase = 4ull << 30;
constexpr std::uint64_t kOffset = 2 << 20; // of the file system, as in fsdax mode
constexpr std::uint64_t kSize = 32 << 20;
constexpr const char *kFinding = "0123456789ab";

using Bytes = std::vector<std::byte>;

class PlaceNotesTest : public testing::Test {
protected:
    void SetUp() override
    {
        setenv("FENCEPOST_CACHE", (directory_.path() / "cache").c_str(), 1);
        make_directories(run_.findings() / kFinding);
        // PM before the first event has /a, PM at the end also /foo with a block.
        const fs::path image = directory_.path() / "image";
        fs::create_directories(directory_.path() / "tree");
        write_file(directory_.path() / "tree/a", "hello");
        write_file(directory_.path() / "foo", std::string(9000, 'f'));
        command({"mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0", "-d",
                 (directory_.path() / "tree").string(), image.string(), "32M"});
        before_ = bytes_of(image);
        command({"debugfs", "-w", "-R", "write " + (directory_.path() / "foo").string() + " foo",
                 image.string()});
        after_ = bytes_of(image);
        const CommandResult blocks =
            run_command({find_program("debugfs")->string(), "-R", "blocks foo", image.string()});
        foo_ = kBase + kOffset + std::stoull(blocks.output) * 4096;
        write_run();
    }

    static void command(std::vector<std::string> words)
    {
        words[0] = find_program(words[0]).value().string();
        const CommandResult result = run_command(words);
        ASSERT_TRUE(result.success()) << result.errors;
    }
    static Bytes bytes_of(const fs::path &file)
    {
        const std::string text = read_file(file);
        Bytes bytes(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
        return bytes;
    }

    // Every unit that differs is stored, in order of address.
    void write_run()
    {
        trace::TraceWriter writer = trace::TraceWriter::create(run_.trace());
        const trace::Region region = {
            .id = 1, .name = "pmem0", .base = kBase, .size = kOffset + kSize, .file = "pm"};
        writer.put_region(region);
        Bytes initial(kOffset);
        initial.insert(initial.end(), before_.begin(), before_.end());
        writer.put_initial_image(region, initial);
        trace::EventBuffer buffer(1 << 20);
        for (std::size_t at = 0; at < kSize; at += 8) {
            if (std::memcmp(&before_[at], &after_[at], 8) == 0)
                continue;
            trace::Event event = {
                .address = kBase + kOffset + at, .kind = trace::EventKind::store, .size = 8};
            std::memcpy(&event.value, &after_[at], 8);
            buffer.push_store(event, &after_[at]);
            ++stores_;
        }
        writer.append(buffer);
        writer.finish(trace::RecordingState::complete, "");
    }
    void save(const std::string &annotator = "", const std::string &type = "ext4")
    {
        run::Inputs inputs;
        inputs.config.pm[0].size = kOffset + kSize;
        agent::JobStep step;
        step.kind = agent::StepKind::mount;
        step.mount = {"/dev/pmem0", "/mnt/pm", type, "dax"};
        inputs.workload.steps = {step, {}};
        inputs.workload_step = 1;
        inputs.test.annotator = annotator;
        run::save_inputs(run_, inputs);
    }
    std::string own_annotator(const fs::path &folder, const std::string &script)
    {
        make_directories(folder);
        write_file(folder / "annotator.toml", "program = \"annotate\"\n");
        write_file(folder / "annotate", "#!/bin/sh\n" + script);
        fs::permissions(folder / "annotate",
                        fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
        return folder.string() + "/";
    }
    // A process of its own each time.
    PlaceNotes ask(std::uint64_t seq, const std::vector<std::uint64_t> &addresses)
    {
        const trace::TraceReader reader(run_.trace());
        const image::InitialImage initial(reader);
        return PlaceNoter(run_, reader).ask_for(kFinding, initial, seq, addresses);
    }
    fs::path kept() const { return run_.findings() / kFinding / "annotations.json"; }

    const TemporaryDirectory directory_{"/tmp", "fp-notes-"};
    const run::RunFiles run_{directory_.path() / "run"};
    Bytes before_;
    Bytes after_;
    std::uint64_t foo_ = 0; // where its first block is
    std::uint64_t stores_ = 0;
};

TEST_F(PlaceNotesTest, AreOfTheImageAtTheEventAndElseOfTheLast)
{
    save();
    const std::uint64_t super = kBase + kOffset + 1024;
    ASSERT_GT(stores_, 1000u);
    PlaceNotes notes = ask(stores_, {foo_ + 4096, super, foo_, foo_});
    EXPECT_EQ(notes.missing, "");
    BelongsTo expected = {{super, "ext4: superblock"},
                          {foo_, "ext4: block of /foo at 0"},
                          {foo_ + 4096, "ext4: block of /foo at 4096"}};
    EXPECT_EQ(notes.places, expected);
    // Nothing was stored yet.
    notes = ask(0, {super, foo_});
    expected = {{super, "ext4: superblock"},
                {foo_, "ext4: block of /foo at 0 (by the end of the recording)"}};
    EXPECT_EQ(notes.places, expected);
    // Free in both.
    const std::uint64_t free = kBase + kOffset + 8000 * 4096;
    EXPECT_EQ(ask(0, {free}).places.at(free), "ext4: free block 8000 of group 0");
    // Outside of the file system, and of PM.
    EXPECT_TRUE(ask(0, {kBase + 64, 64}).places.empty());
}

TEST_F(PlaceNotesTest, AreKept)
{
    const fs::path folder = directory_.path() / "mine";
    save(own_annotator(folder, "while read -r place; do echo \"it is $place\"; done <\"$2\"\n"));
    const PlaceNotes notes = ask(1, {foo_});
    EXPECT_EQ(notes.places.at(foo_).find("ext4: it is "), 0u);
    const std::string text = read_file(kept());
    // It is the file that answers, as long as it is asked the same.
    const std::string other = std::string(text).replace(text.find("it is"), 5, "IT WAS");
    write_file(kept(), other);
    EXPECT_EQ(ask(1, {foo_}).places.at(foo_).find("ext4: IT WAS "), 0u);
    EXPECT_EQ(ask(2, {foo_}).places.at(foo_).find("ext4: it is "), 0u);
    write_file(kept(), other);
    EXPECT_EQ(ask(1, {foo_, foo_ + 64}).places.at(foo_).find("ext4: it is "), 0u);
    EXPECT_EQ(ask(1, {foo_}).places, notes.places);
    own_annotator(folder, "while read -r place; do echo \"it may be $place\"; done <\"$2\"\n");
    EXPECT_EQ(ask(1, {foo_}).places.at(foo_).find("ext4: it may be "), 0u);
    // Anybody may have written it.
    for (const std::string &damaged :
         {std::string("{"), std::string("[]"), std::string("{\"key\": 1}"),
          std::string(read_file(kept()))
              .replace(read_file(kept()).find("\"belongs_to\""), 12, "\"to\"")}) {
        write_file(kept(), damaged);
        EXPECT_EQ(ask(1, {foo_}).places.at(foo_).find("ext4: it may be "), 0u) << damaged;
    }
    const std::string hostile = read_file(kept());
    write_file(kept(), std::string(hostile).replace(hostile.find("it may be"), 9, "\\u001b[2J"));
    EXPECT_EQ(ask(1, {foo_}).places.at(foo_).find("ext4: \\x1b[2J"), 0u);
    // A link is not followed.
    const fs::path elsewhere = directory_.path() / "elsewhere";
    write_file(elsewhere, other);
    fs::remove(kept());
    fs::create_symlink(elsewhere, kept());
    EXPECT_EQ(ask(1, {foo_}).places.at(foo_).find("ext4: it may be "), 0u);
    EXPECT_EQ(read_file(elsewhere), other);
    // A finding that is gone is not made again.
    fs::remove_all(run_.findings() / kFinding);
    EXPECT_EQ(ask(1, {foo_}).places.size(), 1u);
    EXPECT_FALSE(fs::exists(run_.findings() / kFinding));
}

TEST_F(PlaceNotesTest, TroubleIsAReasonThatIsSaidOnce)
{
    save(own_annotator(directory_.path() / "mine", "echo 'I cannot' >&2; exit 1\n"));
    const trace::TraceReader reader(run_.trace());
    const image::InitialImage initial(reader);
    PlaceNoter noter(run_, reader);
    const PlaceNotes first = noter.ask_for(kFinding, initial, 1, {foo_});
    EXPECT_TRUE(first.places.empty());
    EXPECT_EQ(first.missing, "the annotator mine ended with exit status 1: I cannot");
    EXPECT_EQ(noter.ask_for(kFinding, initial, 2, {foo_}).missing, "");
    EXPECT_FALSE(fs::exists(kept()));
    save((directory_.path() / "nowhere").string());
    EXPECT_NE(ask(1, {foo_}).missing.find("there is no annotator"), std::string::npos);
    // What came with a run is not run.
    save(own_annotator(run_.directory / "mine", "echo hello\n"));
    EXPECT_EQ(ask(1, {foo_}).missing, "the annotator mine is in the run's own folder");
    write_file(run_.inputs(), "{}");
    EXPECT_NE(ask(1, {foo_}).missing.find("inputs.json"), std::string::npos);
    // Nobody to ask, and nothing to say about it.
    save("", "fencefs");
    EXPECT_EQ(ask(1, {foo_}).missing, "");
    fs::remove(run_.inputs());
    EXPECT_EQ(ask(1, {foo_}).missing, "");
}

} // namespace
} // namespace fencepost::annotate
