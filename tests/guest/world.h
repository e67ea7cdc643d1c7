// SPDX-License-Identifier: GPL-2.0-or-later
// What guest tests share: a cache of their own that borrows the built image, PM files, and proof
// that nothing was left behind.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/template_store.h"

namespace fencepost::guest {

// A cache directory with the user's images but its own templates and scratch.
class PrivateCache {
public:
    PrivateCache();

    const std::filesystem::path &path() const { return directory_.path(); }
    // Names of files and directories below scratch/, and running machines that use this cache.
    std::vector<std::string> leftovers() const;

private:
    TemporaryDirectory directory_;
};

// QEMU processes whose command line names something below `directory`.
std::vector<pid_t> machines_using(const std::filesystem::path &directory);

// The template that most tests start from, in the user's own cache, made once.
class World {
public:
    explicit World(const std::string &backend = "process", GuestConfig config = {});

    std::unique_ptr<Guest> restore();
    std::unique_ptr<Guest> restore(const std::vector<std::filesystem::path> &pm_files);
    std::filesystem::path new_pm_file();

    TemplateStore &store() { return *store_; }
    const Template &source() const { return source_; }

private:
    std::unique_ptr<Backend> backend_;
    std::unique_ptr<TemplateStore> store_;
    Template source_;
    TemporaryDirectory files_;
    int count_ = 0;
};

// Generous: tests judge what happens, not how fast.
inline Deadline soon()
{
    return Deadline::after(std::chrono::minutes(2));
}

RunReply run_in(Guest &guest, const std::vector<std::string> &argv,
                std::uint32_t time_limit_ms = 100000);

} // namespace fencepost::guest
