// SPDX-License-Identifier: GPL-2.0-or-later
// See usable.h.
#include "guest-images/agent/usable.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

namespace {

constexpr const char *kName = "/.fencepost-usable";
constexpr std::size_t kWritten = 5000; // more than a block, and no multiple of one

std::string written_bytes(std::size_t directory)
{
    std::string bytes(kWritten, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>('a' + (i + directory) % 26);
    return bytes;
}

class Trial {
public:
    Trial(std::string directory, std::string name)
        : directory_(std::move(directory)), name_(std::move(name))
    {
    }

    // The first thing that went wrong, if any.
    bool run(std::size_t number, UsableProblem &problem)
    {
        const std::string bytes = written_bytes(number);
        const std::string first = directory_ + kName;
        const std::string second = first + "-renamed";
        const std::string third = first + "-linked";
        Descriptor file(open(first.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        const bool good = did(static_cast<bool>(file), "create") &&
                          did(write_all(file.get(), bytes), "write") &&
                          read_back(file.get(), bytes) &&
                          did(rename(first.c_str(), second.c_str()) == 0, "rename") &&
                          did(link(second.c_str(), third.c_str()) == 0, "link") &&
                          did(unlink(second.c_str()) == 0, "unlink") &&
                          did(unlink(third.c_str()) == 0, "unlink") &&
                          did(mkdir(first.c_str(), 0700) == 0, "mkdir") &&
                          did(rmdir(first.c_str()) == 0, "rmdir");
        problem = {name_, operation_, error_number_};
        return good;
    }

    // What a trial that found no room has left.
    void clean_up() const
    {
        for (const char *name : {"", "-renamed", "-linked"})
            unlink((directory_ + kName + name).c_str());
    }

private:
    bool did(bool good, const char *operation)
    {
        if (!good) {
            error_number_ = errno;
            operation_ = operation;
        }
        return good;
    }

    static bool write_all(int file, const std::string &bytes)
    {
        // A write that finds room for a part says so; why there was no more, the next one does.
        for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t put = write(file, bytes.data() + done, bytes.size() - done);
            if (put == 0)
                errno = EIO;
            if (put <= 0)
                return false;
            done += static_cast<std::size_t>(put);
        }
        return true;
    }

    bool read_back(int file, const std::string &bytes)
    {
        std::string back(bytes.size() + 1, '\0');
        const ssize_t got = pread(file, back.data(), back.size(), 0);
        if (!did(got >= 0, "read"))
            return false;
        errno = 0;
        back.resize(static_cast<std::size_t>(got));
        return did(back == bytes, "read");
    }

    std::string directory_;
    std::string name_;
    std::string operation_;
    int error_number_ = 0;
};

} // namespace

void try_directories(const std::string &root, const TreeDump &tree, TrialResult &result)
{
    std::size_t number = 0;
    for (const TreeEntry &entry : tree.entries) {
        if (result.problems.size() >= kProblemLimit)
            break;
        if (!entry.failed_step.empty()) {
            result.problems.push_back({entry.path, entry.failed_step, entry.error_number});
            continue;
        }
        if (entry.type != FileType::directory)
            continue;
        Trial trial(entry.path == "." ? root : root + "/" + entry.path, entry.path);
        UsableProblem problem;
        if (trial.run(number++, problem))
            continue;
        if ((problem.error_number == ENOSPC || problem.error_number == EMLINK) &&
            has_no_room(root)) {
            trial.clean_up();
            result.skip("all of a directory: the file system is full");
        } else {
            result.problems.push_back(problem);
        }
    }
}

} // namespace fencepost::agent
