// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a checker on each distinct crash image of a recording, on the host, with no guest: what a
// file system's own fsck says about a run, apart from everything that `fencepost test` does.
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "replayer/image/image_index.h"
#include "replayer/image/patched_image.h"
#include "tests/states/image_listener.h"

namespace fencepost::image {
namespace {

namespace fs = std::filesystem;

// How many images the checker did not like.
int run(const fs::path &trace, const std::string &strategies, std::uint64_t limit,
        const std::vector<std::string> &command)
{
    const trace::TraceReader reader(trace);
    const InitialImage initial(reader);
    const TemporaryDirectory directory("/dev/shm", "fp-fsck-");
    const fs::path file = directory.path() / "pm";
    const std::uint64_t size = initial.regions()[0].size;
    write_file(file, "");
    fs::resize_file(file, size);
    const Fd fd(open(file.c_str(), O_RDWR | O_CLOEXEC));
    void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (bytes == MAP_FAILED)
        fail(ErrorKind::io, "cannot map {}", file.string());
    std::vector<std::string> check = command;
    for (std::string &word : check)
        if (word == "@")
            word = file;

    ImageIndex index;
    std::uint64_t states = 0;
    int bad = 0;
    std::unique_ptr<PatchedImage> patched;
    Listener listener(initial, [&](const states::StateView &state, StateImages &images) {
        ++states;
        if (!index.add(images.hash(state), 0, {state.point.seq, ""}).is_new)
            return true;
        patched->show(state);
        const CommandResult result =
            run_command(check, {.deadline = Deadline::after(std::chrono::seconds(30))});
        if (!result.success() && ++bad <= 3)
            std::printf("bad: a state before event %llu: %s\n",
                        static_cast<unsigned long long>(state.point.seq),
                        result.last_words().c_str());
        return index.images() < limit;
    });
    patched = std::make_unique<PatchedImage>(
        listener.images(),
        std::vector<std::span<std::byte>>{std::span(static_cast<std::byte *>(bytes), size)});
    states::StateWalk walk(reader, {.strategies = states::parse_strategies(strategies)});
    walk.run(listener);
    munmap(bytes, size);
    std::printf("%llu states, %llu images, %d bad\n", static_cast<unsigned long long>(states),
                static_cast<unsigned long long>(index.images()), bad);
    return bad;
}

} // namespace
} // namespace fencepost::image

int main(int argc, char **argv)
{
    if (argc < 5) {
        std::fprintf(stderr, "usage: fsck_states TRACE STRATEGIES LIMIT COMMAND...     (@ in "
                             "COMMAND is the image)\n");
        return 2;
    }
    try {
        return fencepost::image::run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                                     {argv + 4, argv + argc}) != 0;
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "fsck_states: %s\n", error.what());
        return 4;
    }
}
