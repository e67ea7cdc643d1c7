// SPDX-License-Identifier: GPL-2.0-or-later
// What is learned about a recording after it ended: names of code, digests, verdicts on its
// quality.
#pragma once

#include <filesystem>
#include <string_view>

#include "trace/database.h"
#include "trace/inlined_calls.h"
#include "trace/records.h"

namespace fencepost::trace {

// All or nothing: without commit() the file stays as it was. Events cannot be changed.
class TraceAmendment {
public:
    explicit TraceAmendment(const std::filesystem::path &path);

    void put_meta(std::string_view key, std::string_view value);
    // Takes all names away, for others to be put.
    void remove_symbols();
    void put_symbol(const Symbol &symbol);
    void locate_site(SiteId site, const CodeLocation &location);
    void locate_stack_frame(std::uint32_t frame, const CodeLocation &location);
    // Replaces what was inlined. A trace of an earlier fencepost, without the table, has nothing.
    void put_inlined_calls(const InlinedCalls &calls);
    void put_data_quality(const DataQuality &counter);
    void put_final_digest(RegionId region, std::string_view digest);
    void put_outcome(std::string_view outcome);
    void commit();

private:
    void locate(Statement &statement, std::uint32_t id, const CodeLocation &location);

    Database database_;
    Statement add_symbol_;
    Statement locate_site_;
    Statement locate_frame_;
};

} // namespace fencepost::trace
