// SPDX-License-Identifier: GPL-2.0-or-later
// PM files against a plain copy of what they should hold, while another process writes to them as
// QEMU does.
#include <cstring>
#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/test/pool/pm_files.h"

namespace fencepost::test {

using namespace guest;
namespace {

using image::LineContent;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSize = 2 << 20;

// A process that has the file mapped and writes where it is told.
class Writer : public Machine {
public:
    explicit Writer(const std::filesystem::path &file)
    {
        std::tie(ours_, theirs_) = socket_pair();
        pid_ = fork();
        if (pid_ == 0)
            serve(file);
        end_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
        answer();
    }
    ~Writer() override { end(); }

    void write(std::uint64_t offset, std::byte value)
    {
        ask(offset << 8 | static_cast<std::uint64_t>(value));
        answer();
    }
    void end()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        pid_ = -1;
    }

    Channels take_channels() override { return {}; }
    nlohmann::json execute(const std::string &, const nlohmann::json &, Deadline) override
    {
        return {};
    }
    int end_fd() const override { return end_.get(); }
    std::optional<MachineEnd> poll_end() override { return std::nullopt; }
    std::string last_words() override { return ""; }

private:
    [[noreturn]] void serve(const std::filesystem::path &file)
    {
        const int fd = open(file.c_str(), O_RDWR);
        auto *bytes =
            static_cast<char *>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        std::uint64_t order = 0;
        do {
            if (order != 0)
                bytes[order >> 8] = static_cast<char>(order & 0xff);
            if (::write(theirs_.get(), "x", 1) != 1)
                break;
        } while (read(theirs_.get(), &order, sizeof order) == sizeof order);
        _exit(0);
    }
    void ask(std::uint64_t order)
    {
        ASSERT_EQ(::write(ours_.get(), &order, sizeof order), ssize_t{sizeof order});
    }
    void answer()
    {
        char said = 0;
        ASSERT_EQ(read(ours_.get(), &said, 1), 1);
    }

    Fd ours_;
    Fd theirs_;
    Fd end_;
    pid_t pid_ = -1;
};

class PmFilesTest : public testing::Test {
protected:
    PmFilesTest()
    {
        config_.pm = {{.size = kSize}};
        std::mt19937 random(7);
        initial_bytes_.resize(kSize);
        // A quarter of it; the rest stays a hole.
        for (std::size_t i = 0; i < kSize / 4; ++i)
            initial_bytes_[i] = static_cast<std::byte>(random());
        region_ = {
            .id = 1, .name = "pmem0", .base = pm_base(config_, 0), .size = kSize, .file = "pm0"};
        const std::span<const std::byte> bytes[] = {initial_bytes_};
        initial_.emplace(std::vector{region_}, bytes);
        expected_ = initial_bytes_;
    }

    LineContent random_line(std::mt19937 &random)
    {
        LineContent content = {.line = region_.base / 64 + random() % (kSize / 64)};
        for (std::byte &byte : content.bytes)
            byte = static_cast<std::byte>(random());
        return content;
    }
    void put(const LineContent &content)
    {
        std::copy(content.bytes.begin(), content.bytes.end(),
                  expected_.begin() +
                      static_cast<std::ptrdiff_t>(content.line * 64 - region_.base));
    }
    bool holds_expected(const PmFiles &files) const
    {
        const std::string bytes = read_file(files.paths()[0]);
        return bytes.size() == kSize && std::memcmp(expected_.data(), bytes.data(), kSize) == 0;
    }

    const TemporaryDirectory directory_{"/dev/shm", "fp-pm-files-"};
    GuestConfig config_;
    trace::Region region_;
    Bytes initial_bytes_;
    std::optional<image::InitialImage> initial_;
    Bytes expected_;
};

TEST_F(PmFilesTest, HoldsEachImageWhateverAGuestWrites)
{
    std::mt19937 random(11);
    PmFiles files(directory_.path(), *initial_, config_);
    auto step = std::make_shared<image::ImageStep>();
    image::HeldImage held(*initial_, step);
    files.sync(held);
    ASSERT_TRUE(holds_expected(files)) << "the initial image";
    std::optional<Writer> writer;
    for (int round = 0; round < 60; ++round) {
        if (round % 20 == 0) {
            // As a worker does whose guest is gone.
            writer.reset();
            files.suspect_everything();
            writer.emplace(files.paths()[0]);
            files.watch(*writer);
        }
        // The next image: some lines guaranteed, and some in flight over them.
        auto next = std::make_shared<image::ImageStep>();
        for (int i = 0; i < 20; ++i) {
            next->lines.push_back(random_line(random));
            put(next->lines.back());
        }
        const Bytes guaranteed = expected_;
        image::CrashImage image;
        for (int i = 0; i < 10; ++i) {
            // One in a guaranteed line, the others anywhere.
            LineContent content = random_line(random);
            if (i == 0)
                content.line = next->lines.front().line;
            image.in_flight.push_back(content);
            put(content);
        }
        step->next = next;
        step = next;
        image.step = next;
        held.show(image, [&](std::uint64_t line) { files.suspect_line(line); });
        files.sync(held);
        ASSERT_TRUE(holds_expected(files)) << "round " << round;
        for (int i = 0; i < 30; ++i)
            writer->write(1 + random() % (kSize - 1), static_cast<std::byte>(random()));
        ASSERT_FALSE(holds_expected(files)) << "nothing was written, so nothing is tested";
        files.suspect_touched();
        files.sync(held);
        ASSERT_TRUE(holds_expected(files)) << "round " << round;
        expected_ = guaranteed; // what is in flight is gone with the next image
    }
    EXPECT_EQ(files.counts().full_compares, 0u);
}

TEST_F(PmFilesTest, LooksAtEverythingWhenTheMachineIsGone)
{
    PmFiles files(directory_.path(), *initial_, config_);
    image::HeldImage held(*initial_, std::make_shared<image::ImageStep>());
    files.sync(held);
    {
        Writer writer(files.paths()[0]);
        files.watch(writer);
        writer.write(kSize - 5, std::byte{1});
        writer.write(4096, ~initial_bytes_[4096]);
        writer.end();
        files.suspect_touched();
    }
    EXPECT_EQ(files.counts().full_compares, 1u);
    files.sync(held);
    EXPECT_TRUE(holds_expected(files));
}

// What an audit is for: somebody wrote who is not watched.
TEST_F(PmFilesTest, AnAuditFindsWritesOfOthers)
{
    PmFiles files(directory_.path(), *initial_, config_);
    image::HeldImage held(*initial_, std::make_shared<image::ImageStep>());
    files.sync(held);
    const Writer watched(files.paths()[0]);
    files.watch(const_cast<Writer &>(watched));
    files.suspect_everything();
    EXPECT_EQ(files.sync(held), 0u);
    Writer other(files.paths()[0]);
    other.write(kSize / 2, std::byte{3});
    files.suspect_touched();
    files.sync(held);
    files.suspect_everything();
    EXPECT_EQ(files.sync(held), 1u);
    EXPECT_TRUE(holds_expected(files));
}

TEST_F(PmFilesTest, RefusesAGuestWithOtherPm)
{
    config_.pm[0].size = 2 * kSize;
    EXPECT_THROW(PmFiles(directory_.path(), *initial_, config_), Error);
    config_.pm = {{.size = kSize}, {.size = kSize}};
    EXPECT_THROW(PmFiles(directory_.path(), *initial_, config_), Error);
}

} // namespace
} // namespace fencepost::test
