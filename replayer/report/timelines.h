// SPDX-License-Identifier: GPL-2.0-or-later
// The events around what findings are about: around a power failure, or around a rule's event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/report/timeline.h"
#include "analyzer/symbols/code_names.h"
#include "replayer/image/initial_image.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::collect {

// `reader` and `names` are borrowed. PM before the first event is read when it is first needed.
class Timelines {
public:
    // `incidental`: functions whose fences do not count, as the run's spec names them.
    Timelines(const trace::TraceReader &reader, const symbols::CodeNames &names,
              const std::vector<std::string> &incidental);

    // Of the finding's state. Its id comes from results.db, which may lie: what is wrong with it is
    // an Error.
    report::Timeline of_state(const findings::Finding &finding);
    // Of a rule's finding that has an event.
    report::Timeline of_rule(const findings::Finding &finding);

    const image::InitialImage &initial();

private:
    void add_bytes(report::Timeline &timeline);

    const trace::TraceReader &reader_;
    const symbols::CodeNames &names_;
    trace::IncidentalFences incidental_;
    std::optional<image::InitialImage> initial_;
};

} // namespace fencepost::collect
