// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_dump.h. Nothing here changes the tree, not even the times of its files.
#include "guest-images/agent/tree_dump.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

namespace {

constexpr std::size_t kReadSize = 64 << 10;
constexpr std::size_t kHoleLimit = 1024;    // of one file
constexpr std::size_t kAttributeLimit = 64; // of one file
constexpr std::size_t kNameLimit = 65536;   // in one directory
constexpr std::uint32_t kDepthLimit = 64;
constexpr std::size_t kHashBytesLimit = 4 << 20; // of all files: what a reply can carry

FileType type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return FileType::file;
    case S_IFDIR:
        return FileType::directory;
    case S_IFLNK:
        return FileType::symlink;
    case S_IFIFO:
        return FileType::fifo;
    case S_IFSOCK:
        return FileType::socket;
    case S_IFCHR:
        return FileType::character;
    case S_IFBLK:
        return FileType::block;
    default:
        return FileType::unknown;
    }
}

bool all_zero(const char *block)
{
    std::uint64_t first = 0;
    std::memcpy(&first, block, sizeof first);
    return first == 0 && std::memcmp(block, block + sizeof first, kTreeBlock - sizeof first) == 0;
}

void fail_step(TreeEntry &entry, const char *step)
{
    if (entry.failed_step.empty()) {
        entry.failed_step = step;
        entry.error_number = errno;
    }
}

class Dumper {
public:
    Dumper(const TreeLimits &limits, KnownBlocks &known) : limits_(limits), known_(known) {}

    TreeDump dump(const std::string &root);

private:
    void visit(const std::string &path, const std::string &name, std::uint32_t depth);
    void list(TreeEntry entry, const std::string &path, std::uint32_t depth);
    void read_contents(TreeEntry &entry, const std::string &path);
    void read_range(TreeEntry &entry, int file, std::uint64_t from, std::uint64_t to);
    void find_holes(TreeEntry &entry, int file);
    void read_attributes(TreeEntry &entry, const std::string &path);
    void add_block(std::string &hashes, const char *block);
    bool names_only() const { return limits_.content_bytes == 0; }

    const TreeLimits &limits_;
    KnownBlocks &known_;
    TreeDump result_;
    dev_t device_ = 0;
    std::uint64_t bytes_left_ = 0;
    std::size_t hash_bytes_left_ = kHashBytesLimit;
    std::map<std::uint64_t, std::size_t>
        linked_; // by inode, files with several names: the first one's entry
    std::string buffer_ = std::string(kReadSize, '\0');
    std::string names_ = std::string(XATTR_LIST_MAX, '\0');
};

void Dumper::add_block(std::string &hashes, const char *block)
{
    const std::uint64_t hash = block_hash({block, kTreeBlock});
    hashes.append(reinterpret_cast<const char *>(&hash), sizeof hash);
    if (hash == 0 || known_.add(hash))
        return;
    if (result_.blocks.size() < limits_.blocks)
        result_.blocks.push_back({hash, std::string(block, kTreeBlock)});
    else if (limits_.blocks != 0)
        result_.truncated = true;
}

void Dumper::find_holes(TreeEntry &entry, int file)
{
    std::uint64_t at = 0;
    while (at < entry.size && entry.holes.size() < kHoleLimit) {
        const off_t hole = lseek(file, static_cast<off_t>(at), SEEK_HOLE);
        if (hole < 0 || static_cast<std::uint64_t>(hole) >= entry.size)
            return;
        const off_t data = lseek(file, hole, SEEK_DATA);
        // ENXIO: there is none up to the end.
        const std::uint64_t end =
            data < 0 ? entry.size : std::min(static_cast<std::uint64_t>(data), entry.size);
        if (end <= static_cast<std::uint64_t>(hole))
            return;
        entry.holes.push_back(
            {static_cast<std::uint64_t>(hole), end - static_cast<std::uint64_t>(hole)});
        at = end;
    }
}

// Both ends are those of blocks, or of the file.
void Dumper::read_range(TreeEntry &entry, int file, std::uint64_t from, std::uint64_t to)
{
    while (from < to) {
        const std::size_t wanted = std::min<std::uint64_t>(kReadSize, to - from);
        std::size_t have = 0;
        while (have < wanted) {
            const ssize_t got =
                pread(file, buffer_.data() + have, wanted - have, static_cast<off_t>(from + have));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                fail_step(entry, "read");
            if (got <= 0)
                break;
            have += static_cast<std::size_t>(got);
        }
        if (have < wanted) {
            errno = ENODATA; // the file ends before its size
            fail_step(entry, "read");
            return;
        }
        const std::size_t whole = (wanted + kTreeBlock - 1) / kTreeBlock * kTreeBlock;
        std::memset(buffer_.data() + wanted, 0, whole - wanted);
        for (std::size_t at = 0; at < whole; at += kTreeBlock)
            add_block(entry.block_hashes, buffer_.data() + at);
        from += wanted;
    }
}

void Dumper::read_contents(TreeEntry &entry, const std::string &path)
{
    Descriptor file(open(path.c_str(), O_RDONLY | O_NOATIME | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file)
        return fail_step(entry, "open");
    if (names_only()) {
        entry.contents_left_out = true;
        return;
    }
    find_holes(entry, file.get());
    const std::uint64_t hash_bytes =
        (entry.size + kTreeBlock - 1) / kTreeBlock * sizeof(std::uint64_t);
    std::uint64_t data_bytes = entry.size;
    for (const TreeRange &hole : entry.holes)
        data_bytes -= hole.length;
    if (data_bytes > bytes_left_ || hash_bytes > hash_bytes_left_) {
        entry.contents_left_out = result_.truncated = true;
        return;
    }
    bytes_left_ -= data_bytes;
    hash_bytes_left_ -= hash_bytes;
    std::uint64_t at = 0;
    for (const TreeRange &hole : entry.holes) {
        // Whole blocks of the hole; its ragged ends are read like data.
        const std::uint64_t first = (hole.offset + kTreeBlock - 1) / kTreeBlock * kTreeBlock;
        const std::uint64_t end = hole.offset + hole.length;
        const std::uint64_t last = end == entry.size
                                       ? (end + kTreeBlock - 1) / kTreeBlock * kTreeBlock
                                       : end / kTreeBlock * kTreeBlock;
        if (first >= last)
            continue;
        read_range(entry, file.get(), at, first);
        entry.block_hashes.append((last - first) / kTreeBlock * sizeof(std::uint64_t), '\0');
        at = std::min(last, entry.size);
    }
    read_range(entry, file.get(), at, entry.size);
}

void Dumper::read_attributes(TreeEntry &entry, const std::string &path)
{
    const ssize_t length = llistxattr(path.c_str(), names_.data(), names_.size());
    if (length < 0) {
        if (errno != ENOTSUP)
            fail_step(entry, "xattr");
        return;
    }
    const char *const end = names_.data() + length;
    for (const char *name = names_.data(); name < end; name += std::strlen(name) + 1) {
        if (entry.attributes.size() == kAttributeLimit) {
            result_.truncated = result_.truncated || !names_only();
            break;
        }
        const ssize_t size = lgetxattr(path.c_str(), name, buffer_.data(), buffer_.size());
        if (size < 0)
            fail_step(entry, "xattr");
        else
            entry.attributes.push_back({name, buffer_.substr(0, static_cast<std::size_t>(size))});
    }
    std::sort(entry.attributes.begin(), entry.attributes.end(),
              [](const TreeAttribute &a, const TreeAttribute &b) { return a.name < b.name; });
}

void Dumper::list(TreeEntry entry, const std::string &path, std::uint32_t depth)
{
    std::vector<std::string> names;
    DIR *directory = opendir(path.c_str());
    if (!directory) {
        fail_step(entry, "list");
    } else {
        errno = 0;
        while (const dirent *found = readdir(directory)) {
            if (names.size() == kNameLimit) {
                result_.truncated = true;
                break;
            }
            if (std::strcmp(found->d_name, ".") != 0 && std::strcmp(found->d_name, "..") != 0)
                names.emplace_back(found->d_name);
            errno = 0;
        }
        if (errno != 0)
            fail_step(entry, "list");
        closedir(directory);
    }
    const std::string prefix = entry.path == "." ? "" : entry.path + "/";
    result_.entries.push_back(std::move(entry));
    if (depth >= kDepthLimit) {
        result_.truncated = result_.truncated || !names.empty();
        return;
    }
    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
        visit(path + "/" + name, prefix + name, depth + 1);
}

void Dumper::visit(const std::string &path, const std::string &name, std::uint32_t depth)
{
    if (result_.entries.size() >= limits_.entries) {
        result_.truncated = true;
        return;
    }
    TreeEntry entry;
    entry.path = name;
    struct stat status;
    if (lstat(path.c_str(), &status) < 0) {
        fail_step(entry, "stat");
        result_.entries.push_back(std::move(entry));
        return;
    }
    entry.type = type_of(status.st_mode);
    entry.inode = status.st_ino;
    entry.mode = status.st_mode & 07777;
    entry.user = status.st_uid;
    entry.group = status.st_gid;
    entry.link_count = static_cast<std::uint32_t>(status.st_nlink);
    entry.device =
        entry.type == FileType::character || entry.type == FileType::block ? status.st_rdev : 0;
    entry.size = entry.type == FileType::file ? static_cast<std::uint64_t>(status.st_size) : 0;
    if (status.st_dev != device_) { // something is mounted here: not ours to look into
        result_.entries.push_back(std::move(entry));
        return;
    }
    read_attributes(entry, path);
    if (entry.type == FileType::directory)
        return list(std::move(entry), path, depth);
    if (entry.type == FileType::symlink) {
        const ssize_t length = readlink(path.c_str(), buffer_.data(), buffer_.size());
        if (length < 0)
            fail_step(entry, "readlink");
        else
            entry.target =
                buffer_.substr(0, std::min(buffer_.find('\0'), static_cast<std::size_t>(length)));
    } else if (entry.type == FileType::file) {
        const auto other = entry.link_count > 1 ? linked_.find(entry.inode) : linked_.end();
        if (other != linked_.end()) {
            const TreeEntry &first = result_.entries[other->second];
            entry.holes = first.holes;
            entry.block_hashes = first.block_hashes;
            entry.contents_left_out = first.contents_left_out;
        } else {
            read_contents(entry, path);
            if (entry.link_count > 1)
                linked_[entry.inode] = result_.entries.size();
        }
    }
    result_.entries.push_back(std::move(entry));
}

TreeDump Dumper::dump(const std::string &root)
{
    const std::uint64_t start = monotonic_usec();
    bytes_left_ = limits_.content_bytes;
    struct stat status;
    if (stat(root.c_str(), &status) == 0)
        device_ = status.st_dev;
    visit(root, ".", 0);
    result_.elapsed_usec = monotonic_usec() - start;
    return std::move(result_);
}

} // namespace

KnownBlocks::KnownBlocks(std::string_view hashes) : given_(hashes.size() / sizeof(std::uint64_t))
{
    if (!given_.empty())
        std::memcpy(given_.data(), hashes.data(), given_.size() * sizeof(std::uint64_t));
}

bool KnownBlocks::add(std::uint64_t hash)
{
    if (std::binary_search(given_.begin(), given_.end(), hash))
        return true;
    const auto place = std::lower_bound(added_.begin(), added_.end(), hash);
    if (place != added_.end() && *place == hash)
        return true;
    added_.insert(place, hash);
    return false;
}

TreeDump dump_tree(const std::string &root, const TreeLimits &limits, KnownBlocks &known)
{
    return Dumper(limits, known).dump(root);
}

std::uint64_t block_hash(std::string_view block)
{
    if (all_zero(block.data()))
        return 0;
    return XXH64(block.data(), kTreeBlock, 0);
}

} // namespace fencepost::agent
