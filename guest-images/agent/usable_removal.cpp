// SPDX-License-Identifier: GPL-2.0-or-later
// See usable_removal.h.
#include "guest-images/agent/usable_removal.h"

#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

namespace {

constexpr std::uint32_t kDepthLimit = 80; // a dump's, and some more
constexpr std::size_t kNameLimit = 16384;
constexpr std::uint64_t kPoll = 5'000; // microseconds
constexpr std::uint64_t kSettled = 50'000;
constexpr std::uint64_t kMostWait = 400'000;

class Remover {
public:
    Remover(const std::string &root, TrialResult &result) : root_(root), result_(result)
    {
        struct stat status;
        if (stat(root.c_str(), &status) == 0)
            device_ = status.st_dev;
    }

    // True: the directory is empty.
    bool empty(const std::string &path, std::uint32_t depth)
    {
        std::vector<std::string> names;
        if (!list(path, names))
            return false;
        bool all = true;
        for (const std::string &name : names)
            if (depth != 0 || !is_lost_and_found(name))
                all = remove(path + "/" + name, depth + 1) && all;
        return all;
    }

private:
    bool list(const std::string &path, std::vector<std::string> &names)
    {
        DIR *directory = opendir(path.c_str());
        if (!directory)
            return did(false, path, "list");
        errno = 0;
        while (const dirent *found = readdir(directory)) {
            if (std::strcmp(found->d_name, ".") != 0 && std::strcmp(found->d_name, "..") != 0)
                names.emplace_back(found->d_name);
            // A damaged directory may never end.
            if (names.size() > kNameLimit)
                break;
            errno = 0;
        }
        const bool good = did(errno == 0, path, "list");
        closedir(directory);
        return good;
    }

    bool is_lost_and_found(const std::string &name)
    {
        if (name != "lost+found")
            return false;
        struct stat status;
        const std::string path = root_ + "/" + name;
        return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && empty(path, 1);
    }

    bool remove(const std::string &path, std::uint32_t depth)
    {
        if (depth > kDepthLimit || ++removed_ > 2 * kNameLimit) {
            result_.skip("removing everything: too many names");
            return false;
        }
        struct stat status;
        if (!did(lstat(path.c_str(), &status) == 0, path, "stat"))
            return false;
        if (status.st_dev != device_) {
            result_.skip("removing everything: something is mounted below");
            return false;
        }
        if (!S_ISDIR(status.st_mode))
            return did(unlink(path.c_str()) == 0, path, "remove");
        return empty(path, depth) && did(rmdir(path.c_str()) == 0, path, "remove");
    }

    bool did(bool good, const std::string &path, const char *operation)
    {
        if (!good && result_.problems.size() < kProblemLimit)
            result_.problems.push_back(
                {path == root_ ? "." : path.substr(root_.size() + 1), operation, errno});
        return good;
    }

    const std::string &root_;
    TrialResult &result_;
    dev_t device_ = 0;
    std::size_t removed_ = 0;
};

bool contains(const SpaceRange &range, const SpaceUse &use)
{
    return use.blocks >= range.least.blocks && use.blocks <= range.most.blocks &&
           use.inodes >= range.least.inodes && use.inodes <= range.most.inodes;
}

} // namespace

SpaceUse space_in_use(const std::string &root)
{
    SpaceUse use;
    struct statvfs space;
    struct stat status;
    if (statvfs(root.c_str(), &space) != 0 || stat(root.c_str(), &status) != 0)
        return use;
    const std::uint64_t own =
        space.f_frsize == 0 ? 0
                            : static_cast<std::uint64_t>(status.st_blocks) * 512 / space.f_frsize;
    use.blocks = space.f_blocks - space.f_bfree - own;
    use.inodes = space.f_files - space.f_ffree;
    return use;
}

bool remove_everything(const std::string &root, TrialResult &result)
{
    return Remover(root, result).empty(root, 0);
}

SpaceUse settled_space(const std::string &root, const SpaceRange &expected)
{
    SpaceUse use = space_in_use(root);
    if (expected.known && contains(expected, use))
        return use;
    const Descriptor directory(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    syncfs(directory.get());
    const std::uint64_t start = monotonic_usec();
    std::uint64_t since = start;
    for (std::uint64_t now = start; now - start < kMostWait; now = monotonic_usec()) {
        const SpaceUse again = space_in_use(root);
        if (!(again == use))
            since = now;
        use = again;
        if (expected.known ? contains(expected, use) : now - since >= kSettled)
            break;
        usleep(kPoll);
    }
    return use;
}

} // namespace fencepost::agent
