// SPDX-License-Identifier: GPL-2.0-or-later
// What places in PM belong to, as the annotator of a run's file system says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/scratch.h"
#include "replayer/annotate/annotator.h"
#include "replayer/image/executed_image.h"
#include "replayer/run/inputs.h"
#include "replayer/run/run_directory.h"
#include "trace/reader.h"

namespace fencepost::annotate {

// By address of PM. Anybody's text, safe to print.
using BelongsTo = std::map<std::uint64_t, std::string>;

struct PlaceNotes {
    BelongsTo places = {};
    std::string missing = {}; // why there are none though there should be; once for each reason
};

// All are borrowed. Nothing is asked, read or written before the first question, and none of its
// troubles is an Error.
class PlaceNoter {
public:
    PlaceNoter(const run::RunFiles &files, const trace::TraceReader &reader)
        : files_(files), reader_(reader)
    {
    }

    // What is at `addresses`, when power fails before event `seq`: asked about PM with every store
    // until then; for places that are nobody's in it, about PM at the end of the recording.
    PlaceNotes ask(const image::InitialImage &initial, std::uint64_t seq,
                   std::vector<std::uint64_t> addresses);
    // Likewise, kept in annotations.json of a finding, if it has a folder that can be written to.
    PlaceNotes ask_for(const std::string &finding, const image::InitialImage &initial,
                       std::uint64_t seq, std::vector<std::uint64_t> addresses);

private:
    struct Source {
        std::string file_system;
        std::string region; // name
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        AnnotatorFolder folder;
        std::string digest; // of its files
    };

    void open();
    std::string why_not_usable(const AnnotatorFolder &folder) const;
    std::optional<image::RegionPart> part_in(const image::InitialImage &initial) const;
    std::string key_of(std::uint64_t seq, const std::vector<std::uint64_t> &addresses) const;
    std::vector<PlaceWords> words_at(const image::InitialImage &initial,
                                     const image::RegionPart &part, std::uint64_t seq,
                                     const std::vector<std::uint64_t> &offsets);
    void ask_all(const image::InitialImage &initial, const image::RegionPart &part,
                 std::uint64_t seq, const std::vector<std::uint64_t> &addresses, BelongsTo &places);
    void give_up(const std::string &why, bool for_good);
    std::string why_missing();

    const run::RunFiles &files_;
    const trace::TraceReader &reader_;
    bool opened_ = false;
    std::optional<Source> source_; // nothing: there is nobody to ask
    std::string why_;              // not told yet
    std::string told_;
    std::optional<ScratchDirectory> scratch_;
};

} // namespace fencepost::annotate
