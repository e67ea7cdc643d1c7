// SPDX-License-Identifier: GPL-2.0-or-later
// An oracle that is a program on the host, in a sandbox: one class for ours (`ext4`, `xfs`) and the
// user's.
#pragma once

#include <filesystem>
#include <optional>

#include "base/scratch.h"
#include "replayer/oracle/oracle.h"
#include "replayer/oracle/oracle_folder.h"

namespace fencepost::oracle {

class FolderOracle : public Oracle {
public:
    // Copies of images are made below `cache`.
    FolderOracle(OracleFolder folder, const std::filesystem::path &cache)
        : Oracle(folder.name, agent::JudgeStep::unmount), folder_(std::move(folder)),
          scratch_(cache)
    {
    }

    bool look(Phase phase, const PmPart &image, const Question &question,
              Judgement &judgement) const override;
    UserOracle user_oracle() const override
    {
        return folder_.users ? UserOracle::plain : UserOracle::none;
    }
    bool looks_last() const override { return folder_.after && !folder_.before; }

private:
    OracleFolder folder_;
    ScratchDirectory scratch_;
};

struct ProgramAnswer {
    std::optional<Evidence> evidence = {}; // nothing: it passed
    std::string not_tried = {}; // of a pass: why it did not look at the image; empty: it did
};

// Copies are made in `scratch`.
ProgramAnswer ask_program(const OracleFolder &folder, Phase phase, const PmPart &image,
                          const std::filesystem::path &scratch);

// Copies a part of a file to the start of another; holes stay holes.
void copy_part(const PmPart &from, const std::filesystem::path &to);

} // namespace fencepost::oracle
