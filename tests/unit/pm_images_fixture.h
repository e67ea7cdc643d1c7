// SPDX-License-Identifier: GPL-2.0-or-later
// Traces of small PMs, and the bytes and identities that their crash images have.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/image/line_hash.h"
#include "replayer/image/state_images.h"
#include "tests/states/image_listener.h"
#include "tests/states/pm_work.h"

namespace fencepost::image {

using model::ModelKind;
using states::StateView;
using Bytes = std::vector<std::byte>;

inline Hash128 hash_of(std::uint64_t base, std::span<const std::byte> bytes)
{
    Hash128 sum;
    for (std::size_t at = 0; at < bytes.size(); at += 64)
        sum += line_hash((base + at) / 64, bytes.data() + at);
    return sum;
}

class CrashImages : public testing::Test {
public:
    // The bytes of a state: what is guaranteed, and the lines that hold more.
    static Bytes bytes_of(const StateView &state, StateImages &images)
    {
        const auto guaranteed = images.images().guaranteed().region(0);
        Bytes bytes(guaranteed.begin(), guaranteed.end());
        std::vector<LineContent> lines;
        images.lines_in_flight(state, lines);
        for (const LineContent &each : lines)
            std::memcpy(bytes.data() + (each.line * 64 - images.initial().regions()[0].base),
                        each.bytes.data(), 64);
        return bytes;
    }

protected:
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    const TemporaryDirectory directory_{testing::TempDir(), "crash_image"};
};

class PmImages : public CrashImages, public testing::WithParamInterface<const char *> {
protected:
    PmImages()
    {
        const std::string shape = GetParam();
        trace::PmWork({.pm_bytes = 1 << 20,
                       .data_pages = 1,
                       .forgetful = shape != "tidy",
                       .mixed_lines = shape == "mixed",
                       .vcpus = shape == "tidy" ? 1u : 3u})
            .write(path(), 12000);
    }
};

} // namespace fencepost::image
