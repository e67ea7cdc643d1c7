// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost report` for other verbs.
#pragma once

#include <string>

#include "analyzer/findings/report.h"
#include "cli/verb.h"

namespace fencepost::cli {

// As `fencepost report RUN`, with what the rules have said. Returns the name of the page.
std::string report_run(const Context &context, const std::string &run, findings::Report rules);

} // namespace fencepost::cli
