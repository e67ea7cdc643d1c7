// SPDX-License-Identifier: GPL-2.0-or-later
// See observer.h.
#include "guest-images/agent/observer.h"

#include <cstring>

#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/job.h"

namespace fencepost::agent {

Observer::Observer(const ObservationPlan &plan, const std::string &file) : plan_(plan)
{
    make_directories(file.substr(0, file.rfind('/')));
    file_ =
        Descriptor(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    struct stat status;
    if (stat(plan_.root.c_str(), &status) == 0)
        device_ = status.st_dev;
    struct statvfs mounted;
    if (statvfs(plan_.root.c_str(), &mounted) == 0)
        synchronous_ = mounted.f_flag & ST_SYNCHRONOUS;
}

void Observer::note(Observation observation, bool looks)
{
    pthread_mutex_lock(&mutex_);
    if (looks && !full_) {
        observation.tree = dump_tree(plan_.root, plan_.limits, known_);
        observation.tree.elapsed_usec = 0;
        observation.same_tree =
            observation.tree.entries == last_ && observation.tree.blocks.empty();
        if (observation.same_tree)
            observation.tree = {};
        else
            last_ = observation.tree.entries;
    }
    if (!full_ && !write_down(observation)) {
        full_ = true;
        Observation mark;
        mark.moment = Moment::overflow;
        written_ = 0; // there is room for this one
        write_down(mark);
    }
    pthread_mutex_unlock(&mutex_);
}

void Observer::promise_write(Observation &observation, int flags, std::uint64_t start) const
{
    if (observation.result <= 0)
        return;
    if ((flags & O_SYNC) == O_SYNC)
        observation.durable = Durable::file;
    else if ((flags & O_DSYNC) || synchronous_)
        observation.durable = Durable::file_data;
    else
        return;
    observation.range = {start, static_cast<std::uint64_t>(observation.result)};
}

bool Observer::write_down(const Observation &observation)
{
    const std::string payload = encode_job(observation);
    const auto size = static_cast<std::uint32_t>(payload.size());
    std::string record(reinterpret_cast<const char *>(&size), sizeof size);
    record += payload;
    written_ += record.size();
    return written_ <= kObservationsLimit &&
           write(file_.get(), record.data(), record.size()) == static_cast<ssize_t>(record.size());
}

std::vector<Observation> read_observations(const std::string &path)
{
    std::vector<Observation> observations;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::uint32_t size = 0;
    while (file && read(file.get(), &size, sizeof size) == sizeof size &&
           size <= kObservationsLimit) {
        std::string payload(size, '\0');
        for (std::size_t have = 0; have < size;) {
            const ssize_t got = read(file.get(), payload.data() + have, size - have);
            if (got <= 0)
                return observations;
            have += static_cast<std::size_t>(got);
        }
        if (!decode_job(payload, observations.emplace_back())) {
            observations.pop_back();
            break;
        }
    }
    return observations;
}

void vary_system(std::uint32_t variation)
{
    if (variation == 0)
        return;
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += 86'413 * static_cast<time_t>(variation);
    clock_settime(CLOCK_REALTIME, &now);
    for (std::uint32_t i = 0; i < 7 * variation; ++i) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, nullptr, 0);
    }
    struct {
        int bits = 64 * 8;
        int size = 64;
        unsigned char bytes[64] = {};
    } entropy;
    std::memset(entropy.bytes, static_cast<int>(variation), sizeof entropy.bytes);
    const Descriptor random(open("/dev/random", O_RDWR | O_CLOEXEC));
    ioctl(random.get(), RNDADDENTROPY, &entropy);
    ioctl(random.get(), RNDRESEEDCRNG);
}

} // namespace fencepost::agent
