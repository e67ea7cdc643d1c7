// SPDX-License-Identifier: GPL-2.0-or-later
// The guest that crash images are tested in: that of the recording, but with channels and the
// fastest accelerator that works.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "replayer/guest/template_store.h"

namespace fencepost::test {

class TestGuest {
public:
    // `recorded`: the recording's. `accelerator`: nothing = KVM where a probe guest runs, else TCG.
    TestGuest(const std::filesystem::path &cache, const std::string &backend,
              const guest::GuestConfig &recorded, std::optional<guest::Accelerator> accelerator,
              const guest::TemplateStore::Progress &progress);

    guest::TemplateStore &templates() const { return *templates_; }
    const guest::Template &source() const { return source_; }
    const std::filesystem::path &cache() const { return cache_; }
    // Backend, accelerator and kernel.
    std::string describe() const;

private:
    std::filesystem::path cache_;
    std::unique_ptr<guest::Backend> backend_;
    std::unique_ptr<guest::TemplateStore> templates_;
    guest::Template source_;
};

// Of the guest for tests of what was recorded in a guest like `recorded`.
guest::GuestConfig test_config(const std::filesystem::path &cache,
                               const guest::GuestConfig &recorded,
                               std::optional<guest::Accelerator> accelerator);

// The accelerator for tests: what the probe said since the machine was booted, else a new probe.
guest::Accelerator best_accelerator(const std::filesystem::path &cache, const std::string &image);

} // namespace fencepost::test
