// SPDX-License-Identifier: GPL-2.0-or-later
// Random operations on a file system, stores through maps among them, against a model in memory:
// stress DIRECTORY PROGRESS SEED OPERATIONS [inplace]. Two threads have a directory each. Before
// and after each operation a thread writes to PROGRESS, a device that outlives the machine, how
// many it has begun and done. After a crash the same command goes on: it makes the model again up
// to there (the operations depend on the seed alone), finds the tree as it was before or after the
// operation that was under way, and exits with 1 if it is neither. With `inplace` a write that was
// under way may have left each byte that it replaces old or new; it is then done again.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/targets/fencefs/progress_device.h"
#include "tests/targets/fencefs/tree_model.h"

namespace {

constexpr int kThreads = 2;
constexpr std::size_t kPage = 4096;
constexpr unsigned kMostNodes = 150;         // of a thread; with files of 110,000 bytes they fit
constexpr std::size_t kMapBytes = 112 << 10; // of a file, however long it is now
constexpr std::size_t kMostMaps = 8;         // of a thread

// One thread's operations. `real` = also on the file system.
class Work {
public:
    Work(std::string root, unsigned seed) : root_(std::move(root)), random_(seed) {}

    void step(bool real)
    {
        real_ = real;
        written_ = nullptr;
        const Place place = choose();
        const unsigned what = below(100);
        if (!place.node && nodes_ == kMostNodes)
            return;
        if (!place.node)
            create(place, what);
        else if (place.node->kind == Node::directory)
            what < 30 ? remove_directory(place) : move(place);
        else if (place.node->kind == Node::link)
            what < 60 ? unlink(place) : move(place);
        else if (what < 30)
            write(place);
        else if (what < 45)
            store(place);
        else if (what < 60)
            truncate(place);
        else if (what < 75)
            move(place);
        else if (what < 85)
            link(place);
        else
            unlink(place);
    }

    // What is different, empty if nothing is. `torn`: the last step may be half done if it was a
    // write.
    std::string difference(bool torn = false) const { return difference(*tree_, root_, torn); }

private:
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

    Place choose()
    {
        Place place = {tree_, root_, "", nullptr};
        for (;;) {
            place.name = std::string(below(8) == 0 ? 70 : 1, static_cast<char>('a' + below(6)));
            const auto found = place.directory->entries.find(place.name);
            place.node = found == place.directory->entries.end() ? nullptr : found->second;
            if (!place.node || place.node->kind != Node::directory || below(3) == 0)
                return place;
            place.path += "/" + place.name;
            place.directory = place.node;
        }
    }

    void create(const Place &place, unsigned what)
    {
        auto node = std::make_shared<Node>();
        if (what < 20 && place.path.size() < root_.size() + 150) {
            node->kind = Node::directory;
            require(!real_ || ::mkdir(place.full().c_str(), 0755) == 0, "mkdir " + place.full());
        } else if (what < 35) {
            node->kind = Node::link;
            node->contents = std::string(1 + below(90), 't');
            require(!real_ || ::symlink(node->contents.c_str(), place.full().c_str()) == 0,
                    "symlink " + place.full());
        } else if (real_) {
            const int file = ::open(place.full().c_str(), O_CREAT | O_EXCL | O_RDWR, 0644);
            require(file >= 0, "create " + place.full());
            ::close(file);
        }
        place.directory->entries[place.name] = node;
        ++nodes_;
    }

    void write(const Place &place)
    {
        const std::size_t offset = below(5) == 0 ? below(80000) : below(9000);
        std::string bytes(1 + below(below(4) == 0 ? 30000 : 3000), '\0');
        // Cheap: after a crash the model makes all of them again.
        const std::uint64_t drawn = random_();
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>('A' + ((drawn >> i % 56) + i) % 32);
        if (real_) {
            const int file = ::open(place.full().c_str(), O_RDWR);
            require(file >= 0, "open " + place.full());
            require(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
                        static_cast<ssize_t>(bytes.size()),
                    "write " + place.full());
            ::close(file);
        }
        std::string &contents = place.node->contents;
        written_ = place.node;
        before_ = contents;
        if (contents.size() < offset + bytes.size())
            contents.resize(offset + bytes.size());
        contents.replace(offset, bytes.size(), bytes);
    }

    // Through a map that stays from operation to operation: what writes and truncates do to the
    // file in between must show in it. One aligned word, so that a crash leaves all of it or none.
    void store(const Place &place)
    {
        std::string &contents = place.node->contents;
        const std::size_t words = contents.size() / sizeof(std::uint64_t);
        if (words == 0)
            return;
        const std::size_t offset = below(static_cast<unsigned>(words)) * sizeof(std::uint64_t);
        const std::uint64_t value = random_();
        const bool sync = below(2) == 0;
        if (real_) {
            char *map = map_of(place);
            if (std::memcmp(map + offset, contents.data() + offset, sizeof(value)) != 0)
                stop("a map of " + place.full() + " has other bytes at " + std::to_string(offset));
            *reinterpret_cast<volatile std::uint64_t *>(map + offset) = value;
            require(!sync || ::msync(map + offset / kPage * kPage, kPage, MS_SYNC) == 0,
                    "msync " + place.full());
        }
        std::memcpy(contents.data() + offset, &value, sizeof(value));
    }

    char *map_of(const Place &place)
    {
        if (const auto found = maps_.find(place.node); found != maps_.end())
            return found->second;
        if (maps_.size() == kMostMaps) {
            ::munmap(maps_.begin()->second, kMapBytes);
            maps_.erase(maps_.begin());
        }
        const int file = ::open(place.full().c_str(), O_RDWR);
        require(file >= 0, "open " + place.full());
        void *map = ::mmap(nullptr, kMapBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        require(map != MAP_FAILED, "mmap " + place.full());
        ::close(file);
        return maps_[place.node] = static_cast<char *>(map);
    }

    void truncate(const Place &place)
    {
        const std::size_t size = below(12000);
        require(!real_ || ::truncate(place.full().c_str(), static_cast<off_t>(size)) == 0,
                "truncate " + place.full());
        place.node->contents.resize(size);
    }

    void unlink(const Place &place)
    {
        // Some are open when their name goes.
        const int file = real_ && place.node->kind == Node::file && below(2) == 0
                             ? ::open(place.full().c_str(), O_RDONLY)
                             : -1;
        if (!real_ && place.node->kind == Node::file)
            below(2);
        require(!real_ || ::unlink(place.full().c_str()) == 0, "unlink " + place.full());
        if (file >= 0)
            ::close(file);
        forget_name(*place.node);
        place.directory->entries.erase(place.name);
    }

    void link(const Place &place)
    {
        const Place target = choose();
        if (target.node)
            return;
        require(!real_ || ::link(place.full().c_str(), target.full().c_str()) == 0,
                "link " + target.full());
        ++place.node->names;
        target.directory->entries[target.name] = place.node;
    }

    void remove_directory(const Place &place)
    {
        if (!place.node->entries.empty())
            return;
        require(!real_ || ::rmdir(place.full().c_str()) == 0, "rmdir " + place.full());
        forget_name(*place.node);
        place.directory->entries.erase(place.name);
    }

    void move(const Place &place)
    {
        const Place target = choose();
        const bool is_directory = place.node->kind == Node::directory;
        if (target.node == place.node || (target.path + "/").starts_with(place.full() + "/"))
            return;
        if (target.node && ((target.node->kind == Node::directory) != is_directory ||
                            !target.node->entries.empty()))
            return;
        if (is_directory && target.path.size() > root_.size() + 150)
            return;
        require(!real_ || ::rename(place.full().c_str(), target.full().c_str()) == 0,
                "rename " + place.full() + " " + target.full());
        if (target.node)
            forget_name(*target.node);
        const NodePointer node = place.node;
        place.directory->entries.erase(place.name);
        target.directory->entries[target.name] = node;
    }

    void forget_name(Node &node) { nodes_ -= --node.names == 0; }

    // Its size is the old one, and each byte is old or new.
    bool half_written(const Node &node, const std::string &path) const
    {
        if (&node != written_.get())
            return false;
        std::string bytes(before_.size() + 1, '\0');
        const int file = ::open(path.c_str(), O_RDONLY);
        const ssize_t count = file < 0 ? -1 : ::read(file, bytes.data(), bytes.size());
        ::close(file);
        if (count < 0 || static_cast<std::size_t>(count) != before_.size())
            return false;
        for (std::size_t i = 0; i < before_.size(); ++i)
            if (bytes[i] != before_[i] && bytes[i] != node.contents[i])
                return false;
        return true;
    }

    std::string difference(const Node &node, const std::string &path, bool torn) const
    {
        struct stat status = {};
        if (::lstat(path.c_str(), &status) != 0)
            return path + " is not there";
        const mode_t type = node.kind == Node::directory ? S_IFDIR
                            : node.kind == Node::link    ? S_IFLNK
                                                         : S_IFREG;
        if ((status.st_mode & S_IFMT) != type)
            return path + " is something else";
        if (node.kind == Node::directory)
            return directory_difference(node, path, torn);
        if (status.st_nlink != node.names)
            return path + " has " + std::to_string(status.st_nlink) + " links, not " +
                   std::to_string(node.names);
        if (torn && half_written(node, path))
            return "";
        if (static_cast<std::size_t>(status.st_size) != node.contents.size())
            return path + " has " + std::to_string(status.st_size) + " bytes, not " +
                   std::to_string(node.contents.size());
        std::string contents(node.contents.size() + 1, '\0');
        ssize_t bytes = -1;
        if (node.kind == Node::link) {
            bytes = ::readlink(path.c_str(), contents.data(), contents.size());
        } else if (const int file = ::open(path.c_str(), O_RDONLY); file >= 0) {
            bytes = ::read(file, contents.data(), contents.size());
            ::close(file);
        }
        contents.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
        return contents == node.contents ? "" : path + " has other contents";
    }

    std::string directory_difference(const Node &node, const std::string &path, bool torn) const
    {
        unsigned directories = 0;
        for (const auto &[name, entry] : node.entries) {
            if (std::string different = difference(*entry, path + "/" + name, torn);
                !different.empty())
                return different;
            directories += entry->kind == Node::directory;
        }
        struct stat status = {};
        if (::stat(path.c_str(), &status) != 0 || status.st_nlink != 2 + directories)
            return path + " has " + std::to_string(status.st_nlink) + " links";
        DIR *stream = ::opendir(path.c_str());
        if (stream == nullptr)
            return path + " cannot be listed";
        std::string extra;
        while (const dirent *entry = ::readdir(stream))
            if (const std::string name = entry->d_name;
                name != "." && name != ".." && !node.entries.contains(name))
                extra = path + "/" + name + " should not be there";
        ::closedir(stream);
        return extra;
    }

    std::string root_;
    std::mt19937_64 random_;
    NodePointer tree_ = [] {
        auto root = std::make_shared<Node>();
        root->kind = Node::directory;
        return root;
    }();
    std::map<NodePointer, char *> maps_ = {}; // also of files that have no name any more
    NodePointer written_ = nullptr;           // by the last step, if that was a write
    std::string before_ = "";                 // its contents before that
    unsigned nodes_ = 0;
    bool real_ = false;
};

// The model after so many operations.
std::unique_ptr<Work> make_model(const std::string &root, unsigned seed, std::uint64_t operations)
{
    auto work = std::make_unique<Work>(root, seed);
    for (std::uint64_t i = 0; i < operations; ++i)
        work->step(false);
    return work;
}

void run(const std::string &root, ProgressDevice &device, int thread, unsigned seed,
         std::uint64_t operations, bool in_place)
{
    Progress progress = device.read(thread);
    std::unique_ptr<Work> work = make_model(root, seed, progress.done);
    std::string different = work->difference();
    if (!different.empty() && progress.begun > progress.done) {
        work->step(false);
        different = work->difference();
        if (different.empty())
            progress.done = progress.begun;
        else if (in_place && work->difference(true).empty()) {
            different.clear();
            work = make_model(root, seed, progress.done);
        }
    }
    if (!different.empty())
        stop("after operation " + std::to_string(progress.done) + ": " + different);
    while (progress.done < operations) {
        progress.begun = progress.done + 1;
        device.write(thread, progress);
        work->step(true);
        progress.done = progress.begun;
        device.write(thread, progress);
    }
    different = work->difference();
    if (!different.empty())
        stop("at the end: " + different);
}

} // namespace

int main(int argc, char **argv)
{
    const bool in_place = argc == 6 && std::strcmp(argv[5], "inplace") == 0;
    if (argc != 5 && !in_place) {
        std::fprintf(stderr, "usage: stress DIRECTORY PROGRESS SEED OPERATIONS [inplace]\n");
        return 2;
    }
    ProgressDevice device(argv[2]);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        const std::string root = std::string(argv[1]) + "/" + std::to_string(thread);
        ::mkdir(root.c_str(), 0755);
        threads.emplace_back([&, root, thread] {
            run(root, device, thread, static_cast<unsigned>(std::atoi(argv[3]) * kThreads + thread),
                std::strtoull(argv[4], nullptr, 10) / kThreads, in_place);
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}
