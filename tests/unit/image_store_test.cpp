// SPDX-License-Identifier: GPL-2.0-or-later
// Images in a cache, built without packages: reuse, staleness, damage, reproducibility, leftovers.
#include "guest-images/image/image_store.h"

#include <atomic>
#include <thread>

#include "tests/unit/image_fixtures.h"

namespace fencepost::images {
namespace {

namespace fs = std::filesystem;

class Store : public ImageTest {
protected:
    Store()
    {
        request_.packages = false;
        request_.kernel = put("bzImage", make_bzimage("6.1-test (x)"));
        put("modules/kernel/xfs.ko", make_module_for("6.1-test", "libcrc32c"));
        put("modules/kernel/libcrc32c.ko", make_module_for("6.1-test", ""));
        put("modules/kernel/unused.ko", make_module_for("6.1-test", ""));
        request_.modules = directory_.path() / "modules";
        put("extra/root/workload", "#!/bin/sh\n");
        request_.extra = {directory_.path() / "extra"};
        agent_ = put("agent", "agent");
    }

    BuildResult build()
    {
        return store_.build(request_, [](const std::string &) {});
    }
    std::string refusal(ErrorKind kind = ErrorKind::usage)
    {
        return error_of(kind, [&] { build(); });
    }
    fs::path images() const { return directory_.path() / "cache/images"; }

    BuildRequest request_;
    fs::path agent_;
    ImageStore store_{directory_.path() / "cache", directory_.path() / "agent"};
};

TEST_F(Store, BuildsOpensAndReuses)
{
    const BuildResult first = build();
    EXPECT_FALSE(first.reused);
    EXPECT_EQ(first.image.kernel_release, "6.1-test");
    EXPECT_EQ(first.image.modules, (std::vector<std::string>{"libcrc32c", "xfs"}));
    EXPECT_EQ(first.image.initrd_bytes, fs::file_size(first.image.initrd));
    const BuildResult second = build();
    EXPECT_TRUE(second.reused);
    EXPECT_EQ(store_.open().digest, first.image.digest);
    EXPECT_EQ(store_.stale_reason("default"), std::nullopt);
    const auto all = store_.list();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].state, ImageState::fresh);
}

TEST_F(Store, GivesTheSameBytesInAnotherCache)
{
    const BuildResult first = build();
    ImageStore other(directory_.path() / "elsewhere", agent_);
    const BuildResult second = other.build(request_, [](const std::string &) {});
    for (const char *file : {"vmlinuz", "initrd", "manifest.json"})
        EXPECT_EQ(read_file(first.image.directory / file), read_file(second.image.directory / file))
            << file;
}

TEST_F(Store, TheModuleListIsInTheInitrdWithParameters)
{
    request_.module_files = {
        {put("mine.ko", make_module_for("6.1-test", "xfs", {"parmtype=size:int"})), {"size=7"}}};
    const std::string initrd = read_file(build().image.initrd);
    EXPECT_NE(initrd.find("/lib/modules/6.1-test/libcrc32c.ko\n/lib/modules/6.1-test/xfs.ko\n"
                          "/lib/modules/6.1-test/mine.ko size=7\n"),
              std::string::npos);
}

TEST_F(Store, AnythingThatChangesMakesItStale)
{
    const struct {
        const char *file;
        std::string content;
        const char *reason;
    } changes[] = {
        {"agent", "agent 2", "agent has changed"},
        {"bzImage", make_bzimage("6.1-test (y)"), "bzImage has changed"},
        {"modules/kernel/xfs.ko", make_module_for("6.1-test", ""), "xfs.ko has changed"},
        {"modules/kernel/ext4.ko", make_module_for("6.1-test", ""), "modules has changed"},
        {"extra/root/workload", "#!/bin/false\n", "extra has changed"},
        {"extra/new", "", "extra has changed"},
    };
    for (const auto &change : changes) {
        build();
        ASSERT_EQ(store_.stale_reason("default"), std::nullopt) << change.file;
        put(change.file, change.content);
        const auto reason = store_.stale_reason("default");
        ASSERT_TRUE(reason) << change.file;
        EXPECT_NE(reason->find(change.reason), std::string::npos) << *reason;
        EXPECT_EQ(store_.list().at(0).state, ImageState::stale);
        EXPECT_FALSE(build().reused) << change.file;
    }
}

TEST_F(Store, AnInputThatIsGoneMakesItStale)
{
    build();
    fs::remove(*request_.kernel);
    EXPECT_NE(store_.stale_reason("default")->find("is gone"), std::string::npos);
    EXPECT_NE(refusal().find("there is no kernel"), std::string::npos);
    // The image that was there still is.
    EXPECT_EQ(store_.open().kernel_release, "6.1-test");
}

TEST_F(Store, AnotherRequestIsNotTheSameImage)
{
    const std::string before = build().image.digest;
    request_.extra.clear();
    const BuildResult result = build();
    EXPECT_FALSE(result.reused);
    EXPECT_NE(result.image.digest, before);
}

TEST_F(Store, UnusedModulesDoNotMatterByContent)
{
    build();
    put("modules/kernel/unused.ko", "not even a module");
    EXPECT_TRUE(build().reused);
}

TEST_F(Store, MissingImageSaysWhatToDo)
{
    EXPECT_NE(
        error_of(ErrorKind::usage, [&] { store_.open("mine"); }).find("image build --name mine"),
        std::string::npos);
    EXPECT_TRUE(store_.list().empty());
}

TEST_F(Store, DamageIsSeenAndMended)
{
    const fs::path directory = build().image.directory;
    const auto damaged = [&] {
        EXPECT_EQ(store_.list().at(0).state, ImageState::damaged);
        EXPECT_NE(error_of(ErrorKind::guest, [&] { store_.open(); }).find("make it again"),
                  std::string::npos);
        EXPECT_FALSE(build().reused);
        EXPECT_EQ(store_.list().at(0).state, ImageState::fresh);
    };
    std::string initrd = read_file(directory / "initrd");
    initrd[initrd.size() / 2] ^= 1;
    write_file(directory / "initrd", initrd);
    damaged();
    fs::resize_file(directory / "vmlinuz", 100);
    damaged();
    fs::remove(directory / "initrd");
    damaged();
    fs::remove(directory / "manifest.json");
    damaged();
    write_file(directory / "manifest.json", "{\"format_version\": 1}");
    damaged();
    write_file(directory / "manifest.json", "[");
    damaged();
    std::string manifest = read_file(directory / "manifest.json");
    const std::string version = "\"format_version\": 1";
    ASSERT_NE(manifest.find(version), std::string::npos);
    write_file(directory / "manifest.json",
               manifest.replace(manifest.find(version), version.size(), version + "9"));
    damaged();
}

TEST_F(Store, LeftoversOfKilledBuildsAreRemoved)
{
    make_directories(images() / ".default.building");
    make_directories(images() / ".other.building");
    make_directories(images() / ".other.replaced");
    build();
    for (const char *name : {".default.building", ".other.building", ".other.replaced"})
        EXPECT_FALSE(fs::exists(images() / name)) << name;
}

TEST_F(Store, ABuildThatRunsIsLeftAlone)
{
    make_directories(images() / ".other.building");
    const FileLock other = FileLock::acquire(images() / ".other.lock");
    build();
    EXPECT_TRUE(fs::exists(images() / ".other.building"));
}

TEST_F(Store, AFailedBuildLeavesNothing)
{
    put("modules/kernel/xfs.ko", "broken");
    refusal();
    EXPECT_FALSE(fs::exists(images() / "default"));
    EXPECT_FALSE(fs::exists(images() / ".default.building"));
}

TEST_F(Store, BuildersAtOnceDoNotCollide)
{
    std::vector<std::thread> builders;
    std::atomic<int> built = 0;
    for (int i = 0; i < 4; ++i)
        builders.emplace_back([&] {
            ImageStore store(directory_.path() / "cache", agent_);
            built += store.build(request_, [](const std::string &) {}).reused ? 0 : 1;
        });
    for (std::thread &builder : builders)
        builder.join();
    EXPECT_EQ(built, 1);
    EXPECT_EQ(store_.list().at(0).state, ImageState::fresh);
}

TEST_F(Store, NamesAreChecked)
{
    for (const char *name : {"", ".", "..", ".x", "a/b", "a b", "a\n", "\xc3\xa9", "a*"})
        error_of(ErrorKind::usage, [&] { check_image_name(name); });
    error_of(ErrorKind::usage, [&] { check_image_name(std::string(101, 'a')); });
    for (const char *name : {"a", "A-b_c.d", "0", "-x"})
        EXPECT_NO_THROW(check_image_name(name));
    request_.name = "../escape";
    refusal();
}

TEST_F(Store, UserMistakesAreOneClearSentence)
{
    const BuildRequest good = request_;
    const auto expect = [&](const char *message) {
        const std::string text = refusal();
        EXPECT_NE(text.find(message), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        request_ = good;
    };
    request_.kernel = std::nullopt;
    expect("give one with --kernel");
    request_.extra = {agent_};
    expect("is not a directory");
    request_.modules = directory_.path() / "none";
    expect("no directory of modules");
    request_.module_files = {{directory_.path() / "none.ko"}};
    expect("there is no module");
    request_.module_files = {{put("text.ko", "text")}};
    expect("is not an x86-64 kernel module");
    request_.module_files = {{put("foreign.ko", make_module_for("5.1", ""))}};
    expect("is for kernel 5.1, but the image's kernel is 6.1-test");
    request_.module_files = {{put("needy.ko", make_module_for("6.1-test", "nova_lib"))}};
    expect("needy depends on the module nova_lib, which is not there");
    request_.module_files = {{put("fixed.ko", make_module_for("6.1-test", "")), {"size=1"}}};
    expect("has no parameter size");
    request_.module_files = {{put("twice.ko", make_module_for("6.1-test", ""))},
                             {put("again/twice.ko", make_module_for("6.1-test", ""))}};
    expect("given twice");
}

TEST_F(Store, AKernelWithNothingAsAModuleIsFine)
{
    request_.modules = std::nullopt;
    const BuildResult result = build();
    EXPECT_TRUE(result.image.modules.empty());
}

TEST_F(Store, ModulesAreFoundInAnInstalledTree)
{
    put("staging/lib/modules/6.1-test/kernel/xfs.ko", make_module_for("6.1-test", ""));
    put("staging/lib/modules/5.0/kernel/xfs.ko", make_module_for("5.0", ""));
    request_.modules = directory_.path() / "staging";
    EXPECT_EQ(build().image.modules, (std::vector<std::string>{"xfs"}));
    request_.modules = directory_.path() / "staging/lib/modules";
    EXPECT_EQ(build().image.modules, (std::vector<std::string>{"xfs"}));
}

} // namespace
} // namespace fencepost::images
