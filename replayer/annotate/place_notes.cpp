// SPDX-License-Identifier: GPL-2.0-or-later
// See place_notes.h.
#include "replayer/annotate/place_notes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/places.h"
#include "replayer/annotate/kept_notes.h"

namespace fencepost::annotate {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kEnd = UINT64_MAX; // behind all events

// Of what lies in it, without its folders: the program is one of these.
std::string digest_of(const AnnotatorFolder &folder)
{
    std::vector<fs::path> files;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder.directory))
        if (entry.is_regular_file())
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    Digest digest;
    for (const fs::path &file : files)
        digest.add(file.filename().string()).add(file_digest(file));
    return digest.hex();
}

bool is_below(const fs::path &path, const fs::path &directory)
{
    const fs::path relative = path.lexically_relative(fs::canonical(directory));
    return !relative.empty() && *relative.begin() != "..";
}

} // namespace

void PlaceNoter::open()
{
    if (opened_)
        return;
    opened_ = true;
    if (files_.folder().kind_of(files_.inputs().filename()) != Folder::Kind::file)
        return; // a trace by itself
    const run::Inputs inputs = run::load_inputs(files_);
    if (!inputs.mount)
        return;
    const std::string &type = inputs.mount->request.fstype;
    std::optional<AnnotatorFolder> folder;
    if (!inputs.test.annotator.empty())
        folder = find_annotator(inputs.test.annotator);
    else
        folder = annotator_for(type);
    if (!folder)
        return; // nobody knows such file systems
    if (const std::string why = why_not_usable(*folder); !why.empty()) {
        give_up(why, true);
        return;
    }
    source_ = {.file_system = type,
               .region = fmt::format("pmem{}", inputs.mount->pm_device),
               .offset = inputs.mount->offset,
               .size = inputs.mount->size,
               .folder = *folder,
               .digest = digest_of(*folder)};
}

std::string PlaceNoter::why_not_usable(const AnnotatorFolder &folder) const
{
    // A run may be anybody's, and showing one runs no program that came with it.
    if (folder.users && is_below(folder.directory, files_.directory))
        return fmt::format("the annotator {} is in the run's own folder", folder.name);
    return "";
}

std::optional<image::RegionPart> PlaceNoter::part_in(const image::InitialImage &initial) const
{
    const auto regions = initial.regions();
    for (std::size_t i = 0; i < regions.size(); ++i)
        if (regions[i].name == source_->region && source_->offset <= regions[i].size &&
            source_->size <= regions[i].size - source_->offset)
            return image::RegionPart{i, source_->offset, source_->size};
    return std::nullopt;
}

std::string PlaceNoter::key_of(std::uint64_t seq, const std::vector<std::uint64_t> &addresses) const
{
    Digest digest;
    digest.add(reader_.recording().event_digest)
        .add(source_->folder.directory.string())
        .add(source_->digest)
        .add(fmt::format("{}", seq));
    for (const std::uint64_t address : addresses)
        digest.add(fmt::format("{}", address));
    return digest.hex();
}

void PlaceNoter::give_up(const std::string &why, bool for_good)
{
    why_ = why;
    if (for_good)
        source_.reset();
}

std::string PlaceNoter::why_missing()
{
    if (why_ == told_)
        return "";
    told_ = why_;
    return why_;
}

std::vector<PlaceWords> PlaceNoter::words_at(const image::InitialImage &initial,
                                             const image::RegionPart &part, std::uint64_t seq,
                                             const std::vector<std::uint64_t> &offsets)
{
    if (!scratch_)
        scratch_.emplace(cache_directory());
    const TemporaryDirectory directory(scratch_->path(), "annotated-");
    const fs::path file = directory.path() / "image";
    image::write_executed(file, reader_, initial, part, seq);
    AnnotatorAnswer answer = ask_annotator(source_->folder, file, offsets, directory.path());
    if (!answer.failure.empty())
        give_up(answer.failure, answer.hopeless);
    return std::move(answer.places);
}

void PlaceNoter::ask_all(const image::InitialImage &initial, const image::RegionPart &part,
                         std::uint64_t seq, const std::vector<std::uint64_t> &addresses,
                         BelongsTo &places)
{
    const std::uint64_t base = initial.regions()[part.region].base + part.offset;
    const std::string type = source_->file_system;
    const auto ask = [&](std::uint64_t when, const std::vector<std::uint64_t> &which) {
        std::vector<std::uint64_t> offsets;
        for (const std::uint64_t address : which)
            offsets.push_back(address - base);
        return words_at(initial, part, when, offsets);
    };
    const std::vector<PlaceWords> now = ask(seq, addresses);
    std::vector<std::uint64_t> open;
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (!now[i].text.empty())
            places[addresses[i]] = fmt::format("{}: {}", type, now[i].text);
        if (now[i].nobodys)
            open.push_back(addresses[i]);
    }
    if (open.empty() || seq >= reader_.event_count())
        return;
    const std::vector<PlaceWords> later = ask(kEnd, open);
    for (std::size_t i = 0; i < later.size(); ++i)
        if (!later[i].nobodys && !later[i].text.empty())
            places[open[i]] =
                fmt::format("{}: {} (by the end of the recording)", type, later[i].text);
}

PlaceNotes PlaceNoter::ask(const image::InitialImage &initial, std::uint64_t seq,
                           std::vector<std::uint64_t> addresses)
{
    return ask_for("", initial, seq, std::move(addresses));
}

PlaceNotes PlaceNoter::ask_for(const std::string &finding, const image::InitialImage &initial,
                               std::uint64_t seq, std::vector<std::uint64_t> addresses)
{
    PlaceNotes notes;
    if (source_)
        why_.clear(); // of another question
    try {
        open();
        const auto part = source_ ? part_in(initial) : std::nullopt;
        if (part) {
            const std::uint64_t base = initial.regions()[part->region].base + part->offset;
            std::erase_if(addresses,
                          [&](std::uint64_t address) { return address - base >= part->size; });
            std::sort(addresses.begin(), addresses.end());
            addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
        }
        if (part && !addresses.empty()) {
            const std::string key = key_of(seq, addresses);
            if (auto kept = kept_notes(files_, finding, key, addresses)) {
                notes.places = std::move(*kept);
                return notes;
            }
            const std::string annotator = source_->folder.name;
            ask_all(initial, *part, seq, addresses, notes.places);
            if (why_.empty())
                keep_notes(files_, finding, key, annotator, notes.places);
        }
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        give_up(error.what(), false);
    } catch (const fs::filesystem_error &error) {
        give_up(error.what(), false);
    }
    notes.missing = why_missing();
    return notes;
}

} // namespace fencepost::annotate
