// SPDX-License-Identifier: GPL-2.0-or-later
// Templates: found again, made anew when damaged, made once by two processes, restored in parallel.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/places.h"
#include "tests/guest/world.h"

namespace fencepost::guest {
namespace {

namespace fs = std::filesystem;

// One cache for all tests, because each boot costs seconds; every test starts from a whole
// template.
class Templates : public testing::Test {
protected:
    static void SetUpTestSuite() { cache_ = new PrivateCache; }
    static void TearDownTestSuite() { delete cache_; }

    Template ensure()
    {
        return store_.ensure(config_, [&](const std::string &line) { said_.push_back(line); });
    }

    bool said(const std::string &part) const
    {
        for (const std::string &line : said_)
            if (line.find(part) != std::string::npos)
                return true;
        return false;
    }

    static PrivateCache *cache_;
    std::unique_ptr<Backend> backend_ = make_backend("process", cache_->path());
    TemplateStore store_{cache_->path(), *backend_};
    GuestConfig config_;
    std::vector<std::string> said_;
};

PrivateCache *Templates::cache_ = nullptr;

TEST_F(Templates, TwoProcessesMakeItOnce)
{
    const std::string program = built_part("cli", "fencepost").string();
    auto start = [&] {
        auto [read_end, write_end] = make_pipe();
        ChildProcess child({program, "image", "try"},
                           {.fds = {{2, write_end.get()}},
                            .environment = {{"FENCEPOST_CACHE", cache_->path().string()}}});
        return std::pair(std::move(child), std::move(read_end));
    };
    auto [first, first_words] = start();
    auto [second, second_words] = start();
    EXPECT_TRUE(first.wait(soon()).value().success());
    EXPECT_TRUE(second.wait(soon()).value().success());
    int booted = 0;
    for (const Fd *words : {&first_words, &second_words}) {
        char buffer[4096] = {};
        const ssize_t got = read(words->get(), buffer, sizeof buffer - 1);
        booted += got > 0 && std::string(buffer).find("booting") != std::string::npos;
    }
    EXPECT_EQ(booted, 1);
    EXPECT_EQ(cache_->leftovers(), std::vector<std::string>());
}

TEST_F(Templates, IsFoundAgain)
{
    const Template first = ensure();
    said_.clear();
    EXPECT_EQ(ensure().key, first.key);
    EXPECT_TRUE(said_.empty()) << said_.front();
    EXPECT_EQ(cache_->leftovers(), std::vector<std::string>());
}

TEST_F(Templates, DependsOnTheConfiguration)
{
    const std::string key = ensure().key;
    config_.ram = 256ull << 20;
    const Template other = ensure();
    EXPECT_NE(other.key, key);
    fs::remove_all(other.directory);
}

TEST_F(Templates, ADamagedOneIsNeverUsed)
{
    const Template made = ensure();
    const std::vector<std::pair<const char *, std::function<void()>>> damages = {
        {"state truncated", [&] { fs::resize_file(made.state_file(), 1000); }},
        {"one byte of ram",
         [&] {
             const Fd fd = open_file(made.ram_file(), O_RDWR);
             char byte = 0;
             ASSERT_EQ(pread(fd.get(), &byte, 1, 0x1000000), 1);
             byte = static_cast<char>(~byte);
             ASSERT_EQ(pwrite(fd.get(), &byte, 1, 0x1000000), 1);
         }},
        {"manifest is no JSON",
         [&] { write_file(made.directory / "manifest.json", "{\"format\": "); }},
    };
    for (const auto &[name, damage] : damages) {
        SCOPED_TRACE(name);
        damage();
        said_.clear();
        const Template again = ensure();
        EXPECT_TRUE(said("making it anew"));
        const fs::path pm = cache_->path() / "pm";
        create_pm_file(pm, config_.pm[0]);
        EXPECT_EQ(run_in(*store_.restore(again, {pm}, soon()), {"echo", "well"}).output, "well\n");
    }
    EXPECT_EQ(cache_->leftovers(), std::vector<std::string>());
}

TEST_F(Templates, ManyAreRestoredInParallel)
{
    const Template made = ensure();
    constexpr int kThreads = 4;
    constexpr int kEach = 3;
    std::atomic<int> answered = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < kEach; ++i) {
                const fs::path pm = cache_->path() / fmt::format("pm-{}-{}", t, i);
                create_pm_file(pm, config_.pm[0]);
                const auto guest = store_.restore(made, {pm}, soon());
                answered += run_in(*guest, {"echo", "here"}).output == "here\n";
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(answered, kThreads * kEach);
    EXPECT_EQ(cache_->leftovers(), std::vector<std::string>());
}

TEST_F(Templates, AChangedImageMakesThemStale)
{
    ensure();
    EXPECT_EQ(TemplateStore::list(cache_->path()).at(0).stale_reason, "");
    fs::remove(cache_->path() / "images");
    EXPECT_NE(TemplateStore::list(cache_->path()).at(0).stale_reason, "");
    EXPECT_EQ(TemplateStore::prune(cache_->path()), 1);
    EXPECT_TRUE(TemplateStore::list(cache_->path()).empty());
}

} // namespace
} // namespace fencepost::guest
