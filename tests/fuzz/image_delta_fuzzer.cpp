// SPDX-License-Identifier: GPL-2.0-or-later
// Attacks the reader of image.delta: the file as given, and a body put into a valid frame.
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "replayer/image/delta_file.h"
#include "trace/compression.h"

using namespace fencepost;

namespace {

void decode(std::span<const std::byte> file)
{
    try {
        const image::ImageDelta delta = image::decode_delta(file);
        // What was accepted can be written and read again.
        if (!(image::decode_delta(image::encode_delta(delta)) == delta))
            std::abort();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::trace)
            std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::span<const std::byte> input(reinterpret_cast<const std::byte *>(data), size);
    decode(input);
    std::vector<std::byte> file = image::encode_delta({});
    file.resize(9); // magic and version
    const std::vector<std::byte> frame = trace::Compressor(1).compress(input);
    file.insert(file.end(), frame.begin(), frame.end());
    decode(file);
    return 0;
}
