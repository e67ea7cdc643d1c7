// SPDX-License-Identifier: GPL-2.0-or-later
// Guest images in the cache: built from a request, opened by name, listed with their state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guest-images/image/build_request.h"

namespace fencepost::images {

struct Manifest;

struct Image {
    std::string name;
    std::filesystem::path directory;
    std::filesystem::path kernel;
    std::filesystem::path initrd;
    std::optional<std::filesystem::path> system_map; // when the kernel came with a real one
    std::string kernel_release;
    std::string digest;               // of the kernel and the initrd, whatever they were made from
    std::vector<std::string> modules; // in load order
    std::uint64_t kernel_bytes = 0;
    std::uint64_t initrd_bytes = 0;
};

struct BuildResult {
    Image image;
    bool reused = false; // the image was there already, and up to date
};

enum class ImageState { fresh, stale, damaged };
const char *to_string(ImageState state);

struct ImageStatus {
    Image image; // of a damaged image, only the name and the directory
    ImageState state = ImageState::fresh;
    std::string reason; // why it is not fresh
};

// One line of progress for a person.
using Progress = std::function<void(const std::string &line)>;

class ImageStore {
public:
    // `agent` is what becomes the guest's /init; empty means the one built with fencepost.
    explicit ImageStore(std::filesystem::path cache, std::filesystem::path agent = {});

    Image open(const std::string &name = kDefaultImage) const;
    BuildResult build(const BuildRequest &request, const Progress &progress);
    // Sorted by name.
    std::vector<ImageStatus> list() const;
    // Why the image no longer matches what it was made from; nothing when it does.
    std::optional<std::string> stale_reason(const std::string &name) const;

private:
    std::filesystem::path images_directory() const { return cache_ / "images"; }
    std::filesystem::path agent() const;
    // fencepost-mark, which goes with the agent that is built with fencepost; else empty.
    std::filesystem::path mark() const;
    std::optional<std::string> stale_reason(const Manifest &manifest) const;
    std::optional<Image> reusable(const BuildRequest &request) const;
    Image assemble(const BuildRequest &request, const Progress &progress);

    std::filesystem::path cache_;
    std::filesystem::path agent_;
};

// Throws a usage error for a name that is not a plain file name of letters, digits, '.', '_', '-'.
void check_image_name(const std::string &name);

} // namespace fencepost::images
