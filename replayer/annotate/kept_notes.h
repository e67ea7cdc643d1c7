// SPDX-License-Identifier: GPL-2.0-or-later
// findings/ID/annotations.json: what an annotator said about the places of a finding.
#pragma once

#include <optional>
#include <string>

#include "replayer/annotate/place_notes.h"

namespace fencepost::annotate {

// `key`: of what was asked, and of who; nothing where the file is not there, is of another question
// or is none of ours. Only places in `addresses`, ascending.
std::optional<BelongsTo> kept_notes(const run::RunFiles &run, const std::string &finding,
                                    const std::string &key,
                                    const std::vector<std::uint64_t> &addresses);
// Where the finding has a folder that can be written to; nothing happens elsewhere.
void keep_notes(const run::RunFiles &run, const std::string &finding, const std::string &key,
                const std::string &annotator, const BelongsTo &places);

} // namespace fencepost::annotate
