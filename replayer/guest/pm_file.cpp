// SPDX-License-Identifier: GPL-2.0-or-later
// See pm_file.h. The info block is the kernel's `struct nd_pfn_sb` (drivers/nvdimm/pfn.h), the
// label-less way to put a namespace in fsdax mode: without it /dev/pmemN has no DAX.
#include "replayer/guest/pm_file.h"

#include <array>
#include <cstring>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kInfoBlockOffset = 4096;
constexpr std::size_t kInfoBlockSize = 4096;

struct InfoBlock {
    char signature[16];
    std::uint8_t uuid[16];
    std::uint8_t parent_uuid[16];
    std::uint32_t flags;
    std::uint16_t version_major;
    std::uint16_t version_minor;
    std::uint64_t data_offset;
    std::uint64_t page_count;
    std::uint32_t mode; // 1: the page map is in RAM
    std::uint32_t start_pad;
    std::uint32_t end_trunc;
    std::uint32_t align;
    std::uint32_t page_size;
    std::uint16_t page_struct_size;
    std::uint8_t padding[3994];
    std::uint64_t checksum;
} __attribute__((packed));
static_assert(sizeof(InfoBlock) == kInfoBlockSize);

// Fletcher-64 over 32-bit words, as the kernel's nd_fletcher64().
std::uint64_t fletcher64(const InfoBlock &block)
{
    std::array<std::uint32_t, kInfoBlockSize / 4> words;
    std::memcpy(words.data(), &block, sizeof block);
    std::uint32_t low = 0;
    std::uint64_t high = 0;
    for (std::uint32_t word : words) {
        low += word;
        high += low;
    }
    return high << 32 | low;
}

InfoBlock info_block(const PmConfig &device)
{
    InfoBlock block = {};
    std::memcpy(block.signature, "NVDIMM_PFN_INFO", 16);
    // Any non-zero uuid serves; a fixed one keeps recordings repeatable.
    std::memcpy(block.uuid, "fencepost fsdax", 16);
    block.version_major = 1;
    block.version_minor = 4;
    block.data_offset = pm_data_offset(device);
    block.page_count = (device.size - pm_data_offset(device)) / 4096;
    block.mode = 1;
    block.align = kPmAlignment;
    block.page_size = 4096;
    block.page_struct_size = 64;
    block.checksum = fletcher64(block);
    return block;
}

void run_mkfs(std::vector<std::string> command,
              const std::map<std::string, std::string> &environment)
{
    const auto program = find_program(command[0]);
    if (!program)
        fail(ErrorKind::io, "{} is not installed; run ./setup", command[0]);
    command[0] = program->string();
    const CommandResult result =
        run_command(command, {.deadline = Deadline::after(std::chrono::minutes(2)),
                              .environment = environment});
    if (!result.success())
        fail(ErrorKind::usage, "{} failed: {}", fs::path(command[0]).filename().string(),
             result.last_words());
}

void make_ext4(const fs::path &path, const PmConfig &device,
               const std::vector<std::string> &options)
{
    const std::uint64_t offset = pm_data_offset(device);
    std::vector<std::string> command = {
        "mkfs.ext4", "-q", "-F", "-b", "4096", "-E", fmt::format("offset={}", offset)};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(path.string());
    command.push_back(fmt::format("{}k", (device.size - offset) / 1024));
    run_mkfs(command, {});
}

// mkfs.xfs knows no offset, so it formats a file of its own that is then copied into place.
void make_xfs(const fs::path &path, const PmConfig &device, const std::vector<std::string> &options)
{
    const std::uint64_t offset = pm_data_offset(device);
    const TemporaryDirectory scratch(path.parent_path(), ".mkfs-");
    const fs::path data = scratch.path() / "data";
    {
        const Fd fd = open_file(data, O_RDWR | O_CREAT);
        if (ftruncate(fd.get(), static_cast<off_t>(device.size - offset)) < 0)
            fail_errno(fmt::format("cannot size {}", data.string()));
    }
    // DAX and reflink exclude each other on Linux 6.1.
    std::vector<std::string> command = {"mkfs.xfs", "-q", "-f", "-m", "reflink=0"};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(data.string());
    // What mkfs.xfs wants to see before it makes a file system below 300 MB.
    run_mkfs(command, {{"TEST_DIR", "1"}, {"TEST_DEV", "1"}, {"QA_CHECK_FS", "1"}});
    copy_sparse(data, path, offset);
}

} // namespace

void create_pm_file(const fs::path &path, const PmConfig &device)
{
    require_free_bytes(fs::absolute(path).parent_path(), device.size);
    const Fd fd = open_file(path, O_RDWR | O_CREAT | O_TRUNC);
    if (ftruncate(fd.get(), static_cast<off_t>(device.size)) < 0)
        fail_errno(fmt::format("cannot size {}", path.string()));
    if (device.attach == PmAttach::nvdimm) {
        const InfoBlock block = info_block(device);
        if (lseek(fd.get(), kInfoBlockOffset, SEEK_SET) < 0)
            fail_errno(fmt::format("cannot seek in {}", path.string()));
        write_all(fd.get(), std::as_bytes(std::span(&block, 1)), path);
    }
}

void make_file_system(const fs::path &path, const PmConfig &device, const std::string &type,
                      const std::vector<std::string> &options)
{
    if (type == "ext4")
        make_ext4(path, device, options);
    else if (type == "xfs")
        make_xfs(path, device, options);
    else
        fail(ErrorKind::usage, "no mkfs is known for '{}'; known are ext4 and xfs", type);
}

} // namespace fencepost::guest
