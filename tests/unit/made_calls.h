// SPDX-License-Identifier: GPL-2.0-or-later
// System calls of processes that are made up, with their memory.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <linux/auxvec.h>

#include "qemu-plugin/system_calls.h"

namespace fencepost::tracer {

class FakeMemory : public GuestMemory {
public:
    std::optional<std::string> read_bytes(std::uint64_t address, std::size_t length) override
    {
        std::string bytes;
        for (std::size_t i = 0; i < length; ++i) {
            const auto page = pages_.find((address + i) / 4096);
            if (page == pages_.end())
                return std::nullopt;
            bytes += page->second[(address + i) % 4096];
        }
        return bytes;
    }
    void put(std::uint64_t address, const void *data, std::size_t length)
    {
        for (std::size_t i = 0; i < length; ++i) {
            std::string &page = pages_.try_emplace((address + i) / 4096, 4096, '\0').first->second;
            page[(address + i) % 4096] = static_cast<const char *>(data)[i];
        }
    }
    void put_text(std::uint64_t address, const std::string &text)
    {
        put(address, text.c_str(), text.size() + 1);
    }
    void put_words(std::uint64_t address, const std::vector<std::uint64_t> &words)
    {
        put(address, words.data(), words.size() * 8);
    }

private:
    std::map<std::uint64_t, std::string> pages_;
};

class SystemCallsTest : public testing::Test {
protected:
    static constexpr std::uint64_t kAgent = 0x1000;
    static constexpr std::uint64_t kShell = 0x2000;
    static constexpr std::uint64_t kChild = 0x3000;
    static constexpr std::uint64_t kStack = 0x7ffd0000;
    static constexpr std::uint64_t kPc = 0x401000;

    SystemCallsTest() { calls_.switch_on(kAgent); }

    std::string enter(std::uint64_t space, std::uint64_t number,
                      std::array<std::uint64_t, 6> arguments = {}, std::uint64_t stack = kStack)
    {
        return told(calls_.enter({space, kPc, stack, number, arguments}));
    }
    std::string leave(std::uint64_t space, std::uint64_t result, std::uint64_t stack = kStack)
    {
        return told(calls_.leave({space, kPc, stack, result, false}));
    }
    static std::string told(const std::vector<NewMarker> &markers)
    {
        std::string text;
        for (const NewMarker &marker : markers)
            text += fmt::format("{} {:x} {} {} {}; ", trace::name_of(marker.kind),
                                marker.marker.process, marker.marker.number, marker.marker.result,
                                marker.marker.text);
        return text;
    }
    // A program without an interpreter whose stack is at kStack.
    void put_program(std::uint64_t headers, std::uint64_t entry)
    {
        memory_.put_text(0x5000, "/bin/program");
        memory_.put_words(kStack, {1, 0x5000, 0, 0x5000, 0, AT_PHDR, headers, AT_PHNUM, 3, AT_ENTRY,
                                   entry, AT_EXECFN, 0x5000, AT_NULL, 0});
    }

    FakeMemory memory_;
    Processes processes_;
    SystemCalls calls_{memory_, processes_};
};

} // namespace fencepost::tracer
