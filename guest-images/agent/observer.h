// SPDX-License-Identifier: GPL-2.0-or-later
// Writes observations to a file, from whichever process runs the workload; the agent reads it
// later.
#pragma once

#include <string>
#include <vector>

#include <pthread.h>
#include <sys/types.h>

#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/observation.h"
#include "guest-images/agent/tree_dump.h"

namespace fencepost::agent {

inline constexpr const char *kObservationsFile = "/run/fencepost/observations";

class Observer {
public:
    // Starts a new file. The plan must outlive it.
    explicit Observer(const ObservationPlan &plan, const std::string &file = kObservationsFile);

    // Fills in the tree and writes it down. `looks`: the tree may have changed. For several
    // threads.
    void note(Observation observation, bool looks = true);
    // What a write of `observation.result` bytes at `start` promises. `flags`: of the descriptor,
    // as in open(2).
    void promise_write(Observation &observation, int flags, std::uint64_t start) const;
    // On the file system that is observed.
    bool concerns(dev_t device) const { return device == device_; }

private:
    bool write_down(const Observation &observation);

    const ObservationPlan &plan_;
    Descriptor file_;
    dev_t device_ = 0;
    bool synchronous_ = false; // mounted with `sync`
    KnownBlocks known_{""};
    std::vector<TreeEntry> last_;
    std::size_t written_ = 0;
    bool full_ = false;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// What the last observer wrote.
std::vector<Observation> read_observations(const std::string &path = kObservationsFile);

// Makes this run differ from others in what no workload may depend on.
void vary_system(std::uint32_t variation);

} // namespace fencepost::agent
