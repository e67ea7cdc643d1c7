// SPDX-License-Identifier: GPL-2.0-or-later
// See completeness.h.
#include "replayer/record/completeness.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "trace/image.h"
#include "trace/late_lines.h"

namespace fencepost::record {

namespace fs = std::filesystem;

namespace {

// Memory that costs only the pages that are written.
std::span<std::byte> map_zeros(std::uint64_t size)
{
    void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        fail_errno("cannot map memory for a PM image");
    return {static_cast<std::byte *>(mapped), size};
}

class MappedFile {
public:
    MappedFile(const fs::path &path, const trace::Region &region) : size_(region.size)
    {
        const Fd file = open_file(path, O_RDONLY);
        struct stat status;
        if (fstat(file.get(), &status) < 0 ||
            static_cast<std::uint64_t>(status.st_size) < region.file_offset + region.size)
            fail(ErrorKind::io, "{} is shorter than the PM device that it was", path.string());
        start_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(),
                      static_cast<off_t>(region.file_offset));
        if (start_ == MAP_FAILED)
            fail_errno(fmt::format("cannot map {}", path.string()));
    }
    MappedFile(MappedFile &&other) noexcept
        : start_(std::exchange(other.start_, MAP_FAILED)), size_(other.size_)
    {
    }
    MappedFile &operator=(MappedFile &&) = delete;
    ~MappedFile()
    {
        if (start_ != MAP_FAILED)
            munmap(start_, size_);
    }

    std::span<const std::byte> bytes() const
    {
        return {static_cast<const std::byte *>(start_), size_};
    }

private:
    void *start_ = MAP_FAILED;
    std::uint64_t size_;
};

} // namespace

ReplayedImage::ReplayedImage(const trace::TraceReader &reader)
{
    for (const trace::Region &region : reader.regions()) {
        images_.push_back({region, map_zeros(region.size)});
        reader.load_initial_image(region, images_.back().bytes);
    }
    counts_ = trace::replay_onto(reader, images_);
    late_ = trace::apply_late_lines(reader, images_);
    counts_.outside += late_.outside;
}

ReplayedImage::~ReplayedImage()
{
    for (const trace::RegionImage &image : images_)
        munmap(image.bytes.data(), image.bytes.size());
}

std::vector<std::string> ReplayedImage::digests() const
{
    std::vector<std::string> result;
    for (const trace::RegionImage &image : images_)
        result.push_back(trace::image_digest(image.bytes));
    return result;
}

trace::Comparison ReplayedImage::compare(const trace::TraceReader &reader,
                                         const std::vector<fs::path> &final_pm,
                                         std::size_t limit) const
{
    CHECK(final_pm.size() == images_.size(), "one file for each region");
    std::vector<MappedFile> files;
    std::vector<std::span<const std::byte>> actual;
    for (std::size_t i = 0; i < images_.size(); ++i) {
        files.emplace_back(final_pm[i], images_[i].region);
        actual.push_back(files.back().bytes());
    }
    return trace::compare_images(reader, images_, actual, limit);
}

std::string describe(const trace::LineDifference &difference, const trace::TraceReader &reader)
{
    std::size_t first = 0;
    while (first < difference.replayed.size() &&
           difference.replayed[first] == difference.actual[first])
        ++first;
    std::string line =
        fmt::format("line {:#x} (region {}, offset {:#x}): from byte {} on the trace says {:02x}, "
                    "PM has {:02x}",
                    difference.line * trace::kLineBytes, difference.region, difference.offset,
                    first, std::to_integer<unsigned>(difference.replayed[first]),
                    std::to_integer<unsigned>(difference.actual[first]));
    if (!difference.last_writer)
        return line + "; no store of the trace touches it";
    line += fmt::format("; last written by event {}", difference.last_writer->seq);
    for (const trace::SiteRow &row : reader.sites())
        if (row.site.id == difference.last_writer->site)
            line += fmt::format(" at {:#x} ({})", row.site.pc, row.site.disassembly);
    return line;
}

} // namespace fencepost::record
