// SPDX-License-Identifier: GPL-2.0-or-later
// See usable_files.h.
#include "guest-images/agent/usable_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kReadSize = 64 << 10;
constexpr std::uint64_t kReadWhole = 1 << 20; // of longer files, both ends and the middle are read
constexpr std::size_t kAppended = 5000;       // more than a block, and no multiple of one
constexpr const char *kAttribute = "user.fencepost-usable";
constexpr const char *kMoved = ".fencepost-usable-moved";

std::string trial_bytes(std::uint64_t offset, std::size_t length)
{
    std::string bytes(length, '\0');
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<char>('A' + (offset / 7 + i) % 26);
    return bytes;
}

bool is_no_room_for_attribute(int error_number)
{
    return error_number == ENOSPC || error_number == E2BIG || error_number == EDQUOT ||
           error_number == ERANGE;
}

// The trial of one name; the first thing that goes wrong ends it.
class NameTrial {
public:
    NameTrial(const std::string &root, const TreeEntry &entry)
        : entry_(entry), path_(root + "/" + entry.path)
    {
    }

    bool try_contents()
    {
        Descriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        return did(static_cast<bool>(file), "open") && read_contents(file.get()) &&
               overwrite(file.get()) && append(file.get()) && cut_and_extend(file.get()) &&
               set_attribute(file.get());
    }

    bool try_rename()
    {
        const std::string moved = path_.substr(0, path_.rfind('/') + 1) + kMoved;
        return rename_to(path_, moved) && rename_to(moved, path_);
    }

    UsableProblem problem() const { return {entry_.path, operation_, error_number_}; }
    std::uint64_t bytes() const { return bytes_; }
    // It has attributes and no room for another, which is how some file systems are made.
    bool attributes_full() const { return attributes_full_; }

private:
    bool did(bool good, const char *operation)
    {
        if (!good) {
            error_number_ = errno;
            operation_ = operation;
        }
        return good;
    }

    // It was done, and what came back is wrong.
    bool is(bool right, const char *operation)
    {
        errno = 0;
        return did(right, operation);
    }

    bool has_size(int file, std::uint64_t size, const char *operation)
    {
        struct stat status;
        return did(fstat(file, &status) == 0, "stat") &&
               is(static_cast<std::uint64_t>(status.st_size) == size, operation);
    }

    bool read_range(int file, std::uint64_t from, std::uint64_t to)
    {
        std::string buffer(kReadSize, '\0');
        while (from < to) {
            const std::uint64_t wanted = std::min(kReadSize, to - from);
            const ssize_t got = pread(file, buffer.data(), wanted, static_cast<off_t>(from));
            if (!did(got >= 0, "read") || !is(got > 0, "read"))
                return false;
            bytes_ += static_cast<std::uint64_t>(got);
            from += static_cast<std::uint64_t>(got);
        }
        return true;
    }

    bool read_contents(int file)
    {
        struct stat status;
        if (!did(fstat(file, &status) == 0, "stat"))
            return false;
        size_ = static_cast<std::uint64_t>(status.st_size);
        if (size_ <= kReadWhole)
            return read_range(file, 0, size_);
        const std::uint64_t middle = size_ / 2 / kBlock * kBlock;
        return read_range(file, 0, kReadSize) && read_range(file, middle, middle + kReadSize) &&
               read_range(file, size_ - kReadSize, size_);
    }

    bool write_at(int file, std::uint64_t offset, std::size_t length, const char *operation)
    {
        const std::string bytes = trial_bytes(offset, length);
        // A write that finds room for a part says so; why there was no more, the next one does.
        for (std::size_t done = 0; done < length;) {
            const ssize_t put =
                pwrite(file, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
            if (put == 0)
                errno = EIO;
            if (!did(put > 0, operation))
                return false;
            done += static_cast<std::size_t>(put);
        }
        std::string back(length, '\0');
        const ssize_t got = pread(file, back.data(), length, static_cast<off_t>(offset));
        bytes_ += 2 * length;
        return did(got >= 0, "read") &&
               is(static_cast<std::size_t>(got) == length && back == bytes, operation);
    }

    bool overwrite(int file)
    {
        if (size_ == 0)
            return true;
        const std::uint64_t last = (size_ - 1) / kBlock * kBlock;
        for (const std::uint64_t offset :
             std::set<std::uint64_t>{0, last / 2 / kBlock * kBlock, last})
            if (!write_at(file, offset, std::min(kBlock, size_ - offset), "overwrite"))
                return false;
        return has_size(file, size_, "overwrite");
    }

    bool append(int file)
    {
        return write_at(file, size_, kAppended, "append") &&
               has_size(file, size_ + kAppended, "append");
    }

    // What was cut off does not come back.
    bool cut_and_extend(int file)
    {
        const std::uint64_t cut = (size_ + kAppended) / 2;
        const std::uint64_t end = cut + 2 * kBlock;
        if (!did(ftruncate(file, static_cast<off_t>(cut)) == 0, "truncate") ||
            !has_size(file, cut, "truncate") ||
            !did(ftruncate(file, static_cast<off_t>(end)) == 0, "extend") ||
            !has_size(file, end, "extend"))
            return false;
        std::string back(2 * kBlock, 'x');
        const ssize_t got = pread(file, back.data(), back.size(), static_cast<off_t>(cut));
        bytes_ += back.size();
        return did(got >= 0, "read") && is(back == std::string(back.size(), '\0'), "extend");
    }

    bool set_attribute(int file)
    {
        const std::string value = "usable";
        if (fsetxattr(file, kAttribute, value.data(), value.size(), 0) != 0) {
            attributes_full_ = !entry_.attributes.empty() && is_no_room_for_attribute(errno);
            return did(attributes_full_ || errno == EOPNOTSUPP, "set attribute");
        }
        std::string back(value.size() + 1, '\0');
        const ssize_t got = fgetxattr(file, kAttribute, back.data(), back.size());
        if (!did(got >= 0, "get attribute"))
            return false;
        back.resize(static_cast<std::size_t>(got));
        return is(back == value, "get attribute") &&
               did(fremovexattr(file, kAttribute) == 0, "remove attribute");
    }

    bool rename_to(const std::string &from, const std::string &to)
    {
        struct stat status;
        return did(rename(from.c_str(), to.c_str()) == 0, "rename") &&
               did(lstat(to.c_str(), &status) == 0, "rename") &&
               is(status.st_ino == entry_.inode, "rename") &&
               is(lstat(from.c_str(), &status) != 0, "rename");
    }

    const TreeEntry &entry_;
    std::string path_;
    std::uint64_t size_ = 0;
    std::uint64_t bytes_ = 0;
    bool attributes_full_ = false;
    std::string operation_;
    int error_number_ = 0;
};

bool is_full(int error_number)
{
    return error_number == ENOSPC || error_number == EMLINK || error_number == EDQUOT;
}

} // namespace

void TrialResult::skip(const std::string &what)
{
    if (std::find(not_tried.begin(), not_tried.end(), what) == not_tried.end())
        not_tried.push_back(what);
}

bool has_no_room(const std::string &root)
{
    struct statvfs status;
    return statvfs(root.c_str(), &status) == 0 &&
           (status.f_bavail < 16 || (status.f_files != 0 && status.f_favail < 4));
}

void try_files(const std::string &root, const TreeDump &tree, const TrialLimits &limits,
               TrialResult &result)
{
    const std::uint64_t start = monotonic_usec();
    const std::size_t stride = (tree.entries.size() + limits.names - 1) / limits.names;
    if (stride > 1)
        result.skip("some of the names: more than " + std::to_string(limits.names));
    std::uint64_t bytes = 0;
    std::set<std::uint64_t> tried;                                  // inodes
    for (std::size_t i = 1; i < tree.entries.size(); i += stride) { // behind the root
        const TreeEntry &entry = tree.entries[i];
        if (!entry.failed_step.empty() || entry.type == FileType::unknown)
            continue;
        if (result.problems.size() >= kProblemLimit)
            return;
        if (bytes > limits.bytes)
            return result.skip("the rest of the names: enough was read and written");
        if (monotonic_usec() - start > limits.usec)
            return result.skip("the rest of the names: no more time");
        NameTrial trial(root, entry);
        const bool has_contents = entry.type == FileType::file && tried.insert(entry.inode).second;
        const bool good = (!has_contents || trial.try_contents()) && trial.try_rename();
        bytes += trial.bytes();
        if (trial.attributes_full())
            result.skip("set attribute: a file has attributes and no room for another");
        if (good)
            continue;
        const UsableProblem problem = trial.problem();
        if (is_full(problem.error_number) && has_no_room(root))
            result.skip("all of a name: the file system is full");
        else if (problem.error_number == EFBIG)
            result.skip("all of a file: it is as long as files can be");
        else
            result.problems.push_back(problem);
    }
}

} // namespace fencepost::agent
