// SPDX-License-Identifier: GPL-2.0-or-later
// Findings that are known already: a run in CI fails for new ones only.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"
#include "base/output_file.h"

namespace fencepost::findings {

class KnownFindings {
public:
    // None.
    KnownFindings() = default;
    // A file that is no baseline is an Error(usage).
    explicit KnownFindings(const std::filesystem::path &file);

    // By what a finding is called, or would be if another of its images had come first, as it may
    // when another bug is fixed. Callers that the file does not have may have a bug of their own.
    void mark(std::vector<Finding> &findings);
    // One sentence for each that was not marked, of rules or of everything else.
    std::vector<std::string> gone(bool of_rules) const;
    std::set<std::string> ids() const;

private:
    struct Entry {
        Finding finding = {}; // as far as the file has it
        bool found = false;
    };
    Entry *entry_of(const Finding &finding);

    std::map<std::string, Entry> entries_;
};

void write_baseline(const std::filesystem::path &file,
                    std::initializer_list<std::span<const Finding>> findings, Overwrite overwrite);

} // namespace fencepost::findings
