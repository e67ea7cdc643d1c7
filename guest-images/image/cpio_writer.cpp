// SPDX-License-Identifier: GPL-2.0-or-later
// See cpio_writer.h. The format is described in the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
#include "guest-images/image/cpio_writer.h"

#include <limits>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/interrupt.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

struct Header {
    std::uint32_t inode = 0;
    std::uint32_t mode = 0;
    std::uint32_t links = 1;
    std::uint64_t size = 0;
    TreeCharDevice device = {};
};

class CpioFile {
public:
    explicit CpioFile(const fs::path &path)
        : path_(path), fd_(open_file(path, O_WRONLY | O_CREAT | O_EXCL))
    {
    }

    void put(const std::string &name, const Header &header, std::string_view content)
    {
        if (header.size > std::numeric_limits<std::uint32_t>::max())
            fail(ErrorKind::usage, "/{} is larger than 4 GiB, too large for an initrd", name);
        // Magic, then inode mode uid gid links mtime size, device, device of the node, name, check.
        append(
            fmt::format("070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}"
                        "{:08X}{:08X}",
                        header.inode, header.mode, 0, 0, header.links, 0, header.size, 0, 0,
                        header.device.major, header.device.minor, name.size() + 1, 0));
        append(name);
        append(std::string_view("\0", 1));
        pad(4);
        append(content);
        pad(4);
    }

    std::uint64_t finish()
    {
        put("TRAILER!!!", {}, {});
        pad(512);
        flush();
        if (fsync(fd_.get()) < 0)
            fail_errno(fmt::format("cannot write {}", path_.string()));
        return written_;
    }

private:
    static constexpr std::size_t kBufferSize = 1 << 20;

    void append(std::string_view bytes)
    {
        buffer_ += bytes;
        if (buffer_.size() >= kBufferSize)
            flush();
    }

    void pad(std::size_t alignment)
    {
        const std::size_t over = (written_ + buffer_.size()) % alignment;
        if (over != 0)
            buffer_.append(alignment - over, '\0');
    }

    void flush()
    {
        throw_if_interrupted();
        write_all(fd_.get(), std::as_bytes(std::span(buffer_.data(), buffer_.size())), path_);
        written_ += buffer_.size();
        buffer_.clear();
    }

    fs::path path_;
    Fd fd_;
    std::string buffer_;
    std::uint64_t written_ = 0;
};

void put_entry(CpioFile &archive, const std::string &name, std::uint32_t inode,
               const TreeEntry &entry)
{
    if (std::holds_alternative<TreeDirectory>(entry)) {
        archive.put(name, {.inode = inode, .mode = S_IFDIR | 0755, .links = 2}, {});
    } else if (const auto *link = std::get_if<TreeSymlink>(&entry)) {
        archive.put(name, {.inode = inode, .mode = S_IFLNK | 0777, .size = link->target.size()},
                    link->target);
    } else if (const auto *device = std::get_if<TreeCharDevice>(&entry)) {
        archive.put(name, {.inode = inode, .mode = S_IFCHR | 0600, .device = *device}, {});
    } else {
        const auto &file = std::get<TreeFile>(entry);
        const auto *source = std::get_if<fs::path>(&file.content);
        const std::string content =
            source ? read_file(*source) : std::get<std::string>(file.content);
        const std::uint32_t mode = S_IFREG | (file.executable ? 0755u : 0644u);
        archive.put(name, {.inode = inode, .mode = mode, .size = content.size()}, content);
    }
}

} // namespace

std::uint64_t write_cpio(const GuestTree &tree, const fs::path &path)
{
    CpioFile archive(path);
    std::uint32_t inode = 0;
    for (const auto &[name, entry] : tree.entries())
        put_entry(archive, name, ++inode, entry);
    return archive.finish();
}

} // namespace fencepost::images
