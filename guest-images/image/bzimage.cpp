// SPDX-License-Identifier: GPL-2.0-or-later
// See bzimage.h. Offsets are those of the boot protocol's setup header.
#include "guest-images/image/bzimage.h"

#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBootFlag = 0x1fe;
constexpr std::size_t kMagic = 0x202;
constexpr std::size_t kProtocol = 0x206;
constexpr std::size_t kVersionPointer = 0x20e;
constexpr std::size_t kLoadFlags = 0x236;
constexpr std::size_t kHeaderEnd = 0x238;
constexpr std::size_t kSetupStart = 0x200; // what kVersionPointer is relative to
constexpr std::uint16_t kProtocolWithLoadFlags = 0x20c;
constexpr std::uint16_t kLoads64Bit = 1;
constexpr std::size_t kLongestVersion = 512;

std::uint16_t word(std::string_view bytes, std::size_t offset)
{
    return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[offset]) |
                                      static_cast<unsigned char>(bytes[offset + 1]) << 8);
}

[[noreturn]] void refuse(const std::string &name, const char *why)
{
    fail(ErrorKind::usage, "{} is not a bootable kernel: {}", name, why);
}

bool is_boot_image(std::string_view bytes)
{
    return bytes.size() >= kHeaderEnd && word(bytes, kBootFlag) == 0xaa55 &&
           bytes.substr(kMagic, 4) == "HdrS";
}

// Says what a person may have taken for the kernel.
[[noreturn]] void explain(std::string_view bytes, const std::string &name)
{
    if (bytes.empty())
        refuse(name, "the file is empty");
    if (bytes.starts_with("\x7f"
                          "ELF"))
        refuse(name,
               "it is an ELF file (vmlinux); give the bzImage, arch/x86/boot/bzImage in a kernel "
               "build tree or vmlinuz-RELEASE of a distribution");
    if (bytes.starts_with("\x1f\x8b"))
        refuse(name, "it is a gzip file; give the bzImage as it is, not compressed again");
    if (bytes.starts_with("\xfd"
                          "7zXZ") ||
        bytes.starts_with("\x28\xb5\x2f\xfd"))
        refuse(name, "it is a compressed file; give the bzImage as it is, not compressed again");
    if (bytes.size() < kHeaderEnd)
        refuse(name, "the file is too short to be one");
    refuse(name, "it has no x86 boot header (HdrS); give an x86-64 bzImage");
}

std::string release_of(std::string_view bytes, const std::string &name)
{
    const std::size_t pointer = word(bytes, kVersionPointer);
    if (pointer == 0)
        return {};
    const std::size_t start = kSetupStart + pointer;
    if (start >= bytes.size())
        refuse(name, "it ends before its version string, so it may have been cut short");
    const std::string_view text = bytes.substr(start, kLongestVersion);
    const std::size_t end = text.find_first_of(std::string_view(" \0", 2));
    if (end == 0 || end == std::string_view::npos)
        refuse(name, "its version string makes no sense, so it may be damaged");
    for (const char c : text.substr(0, end)) {
        if (c <= ' ' || c > '~' || c == '/')
            refuse(name, "its version string makes no sense, so it may be damaged");
    }
    return std::string(text.substr(0, end));
}

} // namespace

KernelHeader parse_bzimage(std::string_view bytes, const std::string &name)
{
    if (!is_boot_image(bytes))
        explain(bytes, name);
    if (word(bytes, kProtocol) >= kProtocolWithLoadFlags &&
        !(word(bytes, kLoadFlags) & kLoads64Bit))
        refuse(name, "it is a 32-bit kernel; fencepost needs an x86-64 one");
    return {.release = release_of(bytes, name)};
}

KernelHeader read_bzimage(const fs::path &path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        fail(ErrorKind::usage, "there is no kernel at {}", path.string());
    if (status.type() == fs::file_type::directory)
        fail(ErrorKind::usage,
             "{} is a directory; give the bzImage itself, arch/x86/boot/bzImage in a kernel build "
             "tree",
             path.string());
    if (!error && status.type() != fs::file_type::regular)
        fail(ErrorKind::usage, "{} is not a regular file; give a bzImage", path.string());
    return parse_bzimage(read_file(path), path.string());
}

} // namespace fencepost::images
