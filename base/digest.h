// SPDX-License-Identifier: GPL-2.0-or-later
// XXH3-128 over bytes, strings and files: the identity of images, templates and their inputs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace fencepost {

class Digest {
public:
    Digest();
    ~Digest();

    Digest &add_bytes(std::span<const std::byte> bytes);
    // Length-prefixed, so that ("ab","c") and ("a","bc") differ.
    Digest &add(std::string_view text);
    // Contents with their offsets; holes are skipped, so a sparse file costs only its data.
    Digest &add_file(const std::filesystem::path &path);

    std::string hex() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

std::string file_digest(const std::filesystem::path &path);

} // namespace fencepost
