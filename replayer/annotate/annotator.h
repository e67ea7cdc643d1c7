// SPDX-License-Identifier: GPL-2.0-or-later
// Programs that say what bytes of a file system belong to: folders with annotator.toml, ours and
// the user's, as annotators/README.md describes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/program_folder.h"

namespace fencepost::annotate {

using AnnotatorFolder = oracle::ProgramFolder;

// `name`: of one of ours, or a directory if it has a '/'. Mistakes are usage errors.
AnnotatorFolder find_annotator(const std::string &name);
// The one of ours for a type of file systems.
std::optional<AnnotatorFolder> annotator_for(const std::string &file_system);
// All of ours, sorted by name.
std::vector<AnnotatorFolder> shipped_annotators();

// What one program says about one place.
struct PlaceWords {
    std::string text = {}; // safe to print; empty: it says nothing
    bool nobodys = false;  // the place belongs to nothing in this image

    bool operator==(const PlaceWords &) const = default;
};

struct AnnotatorAnswer {
    std::vector<PlaceWords> places = {}; // as many as were asked about, or none
    std::string failure = {};            // why there are none
    bool hopeless = false;               // it would fail for every image alike, or as slowly
};

// `image`: a copy of the file system alone, which the program may change. `offsets`: in it,
// ascending. Whatever the program does is an answer.
AnnotatorAnswer ask_annotator(const AnnotatorFolder &folder, const std::filesystem::path &image,
                              const std::vector<std::uint64_t> &offsets,
                              const std::filesystem::path &scratch);

} // namespace fencepost::annotate
