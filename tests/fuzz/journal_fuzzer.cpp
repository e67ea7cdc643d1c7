// SPDX-License-Identifier: GPL-2.0-or-later
// Journals beside a valid trace. Whatever one says, rolling it back ends in a trace or in an Error
// that is not our bug, and a file outside of the trace's folder stays as it is.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>

#include "base/error.h"
#include "base/files.h"
#include "trace/journal.h"
#include "trace/reader.h"
#include "trace/writer.h"

using namespace fencepost;
using namespace fencepost::trace;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
constexpr const char *kCanary = "do not lose this";

struct World {
    TemporaryDirectory directory = TemporaryDirectory(fs::temp_directory_path(), "journal_fuzzer");
    fs::path trace = directory.path() / "run/trace.db";
    fs::path canary = directory.path() / "canary";
    std::string valid;

    World()
    {
        fs::create_directories(trace.parent_path());
        write_file(canary, kCanary);
        TraceWriter::create(trace).finish(RecordingState::complete, "");
        valid = read_file(trace);
    }
};

void put(const fs::path &path, std::string_view bytes)
{
    const Fd fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(fd.get(), std::as_bytes(std::span(bytes.data(), bytes.size())), path);
}

// The name of a super-journal, as SQLite ends a journal with it.
std::string named(const std::string &name)
{
    std::string text("\x40\0\0\0", 4);
    std::uint32_t sum = 0;
    for (const char c : name)
        sum += static_cast<std::uint32_t>(c);
    text += name;
    for (const std::uint32_t word : {static_cast<std::uint32_t>(name.size()), sum})
        for (int shift = 24; shift >= 0; shift -= 8)
            text += static_cast<char>(word >> shift);
    return text + std::string(kMagic);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const World world;
    if (size == 0)
        return 0;
    const std::string bytes(reinterpret_cast<const char *>(data + 1), size - 1);
    super_journal(std::as_bytes(std::span(bytes.data(), bytes.size())));
    // With or without the magic in front, which is hard to guess, and with a name behind.
    std::string journal = data[0] & 1 ? std::string(kMagic) + bytes : bytes;
    if (data[0] & 2)
        journal += named(data[0] & 4 ? world.canary.string() : "../canary");
    put(world.trace, world.valid);
    put(world.trace.string() + "-journal", journal);
    try {
        roll_back(world.trace);
        TraceReader reader(world.trace);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::internal)
            std::abort();
    }
    if (read_file(world.canary) != kCanary)
        std::abort();
    fs::remove(world.trace.string() + "-journal");
    return 0;
}
