// SPDX-License-Identifier: GPL-2.0-or-later
// See initial_image.h.
#include "replayer/image/initial_image.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost::image {

using trace::kLineBytes;
using trace::Region;

namespace {

constexpr std::size_t kPage = 4096;

std::size_t mapped_size(const Region &region)
{
    return (region.size + kPage - 1) / kPage * kPage;
}

class SharedMap {
public:
    SharedMap(const Fd &fd, std::size_t size) : size_(size)
    {
        void *map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        if (map == MAP_FAILED)
            fail_errno("cannot map memory for a PM image");
        bytes_ = static_cast<std::byte *>(map);
    }
    SharedMap(SharedMap &&) = delete;
    ~SharedMap() { munmap(bytes_, size_); }
    std::byte *bytes() const { return bytes_; }

private:
    std::byte *bytes_;
    std::size_t size_;
};

} // namespace

void InitialImage::open_memory()
{
    std::sort(regions_.begin(), regions_.end(),
              [](const Region &a, const Region &b) { return a.base < b.base; });
    for (const Region &region : regions_) {
        Fd fd(memfd_create("fencepost-pm", MFD_CLOEXEC));
        if (!fd || ftruncate(fd.get(), static_cast<off_t>(mapped_size(region))) != 0)
            fail_errno("cannot make memory for a PM image");
        memory_.push_back(std::move(fd));
    }
}

InitialImage::InitialImage(const trace::TraceReader &reader) : regions_(reader.regions())
{
    open_memory();
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        if (!regions_[i].initial_digest)
            continue;
        const SharedMap map(memory_[i], mapped_size(regions_[i]));
        reader.load_initial_image(regions_[i], {map.bytes(), regions_[i].size});
        add_to_hash(i, {map.bytes(), mapped_size(regions_[i])});
    }
}

InitialImage::InitialImage(std::vector<Region> regions,
                           std::span<const std::span<const std::byte>> bytes)
    : regions_(std::move(regions))
{
    CHECK(std::is_sorted(regions_.begin(), regions_.end(),
                         [](const Region &a, const Region &b) { return a.base < b.base; }),
          "regions in order of address");
    open_memory();
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        const SharedMap map(memory_[i], mapped_size(regions_[i]));
        CHECK(bytes[i].size() == regions_[i].size, "as many bytes as the region has");
        std::memcpy(map.bytes(), bytes[i].data(), bytes[i].size());
        add_to_hash(i, {map.bytes(), mapped_size(regions_[i])});
    }
}

void InitialImage::add_to_hash(std::size_t index, std::span<const std::byte> bytes)
{
    // Only what memory was given for: the rest is zero, and looking at it would fill it.
    for_each_part(index, [&](std::uint64_t offset, std::uint64_t size) {
        for (std::uint64_t at = offset; at < offset + size; at += kLineBytes)
            hash_ += line_hash((regions_[index].base + at) / kLineBytes, bytes.data() + at);
    });
}

PmCopy::PmCopy(const InitialImage &initial) : initial_(initial)
{
    for (std::size_t i = 0; i < initial.regions_.size(); ++i) {
        const Region &region = initial.regions_[i];
        void *map = mmap(nullptr, mapped_size(region), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_NORESERVE, initial.memory_[i].get(), 0);
        if (map == MAP_FAILED)
            fail_errno("cannot map memory for a PM image");
        parts_.push_back({region.base / kLineBytes, (region.size + kLineBytes - 1) / kLineBytes,
                          static_cast<std::byte *>(map)});
    }
}

PmCopy::~PmCopy()
{
    for (std::size_t i = 0; i < parts_.size(); ++i)
        munmap(parts_[i].bytes, mapped_size(initial_.regions_[i]));
}

std::byte *PmCopy::find(std::uint64_t number)
{
    for (const Part &part : parts_)
        if (number - part.first < part.count) {
            recent_ = part;
            return part.bytes + (number - part.first) * kLineBytes;
        }
    return nullptr;
}

std::span<std::byte> PmCopy::region(std::size_t index)
{
    return {parts_[index].bytes, initial_.regions_[index].size};
}

} // namespace fencepost::image
