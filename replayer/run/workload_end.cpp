// SPDX-License-Identifier: GPL-2.0-or-later
// See workload_end.h.
#include "replayer/run/workload_end.h"

namespace fencepost::run {

const char *to_string(WorkloadEnd end)
{
    switch (end) {
    case WorkloadEnd::finished:
        return "finished";
    case WorkloadEnd::failed:
        return "failed";
    case WorkloadEnd::timed_out:
        return "timed_out";
    case WorkloadEnd::hung:
        return "hung";
    case WorkloadEnd::panicked:
        return "panicked";
    case WorkloadEnd::powered_off:
        return "powered_off";
    case WorkloadEnd::rebooted:
        return "rebooted";
    }
    return "unknown";
}

} // namespace fencepost::run
