// SPDX-License-Identifier: GPL-2.0-or-later
// manifest.json of an image: what is in it, and what it was made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest-images/image/build_request.h"

namespace fencepost::images {

inline constexpr const char *kKernelFile = "vmlinuz";
inline constexpr const char *kInitrdFile = "initrd";
inline constexpr const char *kSystemMapFile = "System.map";
inline constexpr const char *kManifestFile = "manifest.json";

enum class InputKind { recipe, agent, marker_program, package, kernel, modules, module, extra };

struct Input {
    InputKind kind = InputKind::recipe;
    std::string name;
    std::string version = {};
    std::string digest = {};
    // Where a user's input was, to see later whether it has changed; not part of any digest.
    std::optional<std::filesystem::path> path = {};
};

struct ManifestModule {
    std::string name;
    std::string path; // in the guest
    std::vector<std::string> parameters;
};

struct ManifestFile {
    std::uint64_t bytes = 0;
    std::string digest;
};

struct Manifest {
    std::string name;
    std::string kernel_release;
    std::string digest; // of the files
    BuildRequest request;
    std::map<std::string, ManifestFile> files;
    std::vector<ManifestModule> modules; // in load order
    std::vector<Input> inputs;

    std::string inputs_digest() const;
};

// Measures the files of an image and sets `files` and `digest`.
void measure_files(Manifest &manifest, const std::filesystem::path &directory);

void write_manifest(const Manifest &manifest, const std::filesystem::path &directory);
// Throws a `guest` error when the manifest cannot be read or is of another format version.
Manifest read_manifest(const std::filesystem::path &directory);

// The same request, as far as what is built is concerned.
bool same_request(const BuildRequest &a, const BuildRequest &b);

} // namespace fencepost::images
