// SPDX-License-Identifier: GPL-2.0-or-later
// The table `finding` of results.db.
#pragma once

#include <vector>

#include "analyzer/findings/finding.h"
#include "trace/database.h"

namespace fencepost::test {

// A new one, or one that this image is the first to explain.
void put_finding_row(trace::Database &database, const findings::Finding &finding);
// One without images; does nothing if it is known.
void put_workload_finding_row(trace::Database &database, const findings::Finding &finding);
// One more image of a known one, which may leave less that decides.
void add_to_finding_row(trace::Database &database, const findings::Finding &finding);

// With what oracles said about the images that show them. In the order of these images.
std::vector<findings::Finding> finding_rows(trace::Database &database);

} // namespace fencepost::test
