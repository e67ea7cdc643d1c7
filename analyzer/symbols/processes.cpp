// SPDX-License-Identifier: GPL-2.0-or-later
// See processes.h. The markers: process_start has the program's path and [AT_PHDR, AT_ENTRY,
// AT_BASE]; a note "map PATH" has [address, length, file offset] of an executable mapping.
#include "analyzer/symbols/processes.h"

#include <algorithm>

#include "analyzer/symbols/source_file.h"
#include "base/error.h"

namespace fencepost::symbols {

namespace {

constexpr std::uint64_t kPageBytes = 4096;

} // namespace

ElfCode *ElfStore::find(const std::string &guest_path)
{
    const auto [known, added] = codes_.try_emplace(guest_path);
    if (added)
        if (auto bytes = files_.read(guest_path))
            if ((known->second = ElfCode::open(std::move(*bytes))))
                find_debug_file(*known->second);
    return known->second.get();
}

std::string ElfStore::script_interpreter(const std::string &guest_path) const
{
    const auto bytes = files_.read(guest_path);
    if (!bytes || !bytes->starts_with("#!"))
        return "";
    const std::size_t begin = bytes->find_first_not_of(" \t", 2);
    if (begin == bytes->npos)
        return "";
    return bytes->substr(begin, bytes->find_first_of(" \t\r\n", begin) - begin);
}

void ElfStore::find_debug_file(ElfCode &code) const
{
    if (code.has_debug_lines() || code.build_id().size() < 3)
        return;
    for (const std::filesystem::path &directory : debug_directories_) {
        auto bytes = read_source(directory / ".build-id" / code.build_id().substr(0, 2) /
                                 (code.build_id().substr(2) + ".debug"));
        auto debug = bytes ? ElfCode::open(std::move(*bytes)) : nullptr;
        if (debug && debug->build_id() == code.build_id())
            return code.add_debug_file(std::move(debug));
    }
}

Processes::Processes(const trace::TraceReader &reader, ElfStore &store,
                     std::vector<std::string> &notes)
{
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        const trace::Marker &marker = row.marker;
        if (row.kind == trace::MarkerKind::process_start)
            add_program(marker.process, marker, store);
        else if (row.kind == trace::MarkerKind::note && marker.text.starts_with(trace::kMapNote))
            add_mapping(marker.process, marker, store);
    });
    for (const auto &path : missing_)
        notes.push_back(
            fmt::format("{} is not among the files at hand, or no ELF for x86-64", path.first));
}

void Processes::miss(const std::string &path)
{
    missing_.emplace(path, true);
}

void Processes::add_segments(std::uint64_t process, const std::string &path, ElfCode &code,
                             std::uint64_t bias)
{
    for (const Segment &segment : code.segments())
        if (segment.executable)
            ranges_[process].push_back({.start = segment.address + bias,
                                        .size = segment.memory_size,
                                        .path = path,
                                        .code = &code,
                                        .bias = bias});
}

void Processes::add_program(std::uint64_t process, const trace::Marker &marker, ElfStore &store)
{
    if (marker.text.empty() || marker.arguments.size() < 3)
        return;
    const std::uint64_t entry = marker.arguments[1];
    const std::uint64_t interpreter_base = marker.arguments[2];
    std::string path = absolute(marker.text);
    ElfCode *code = store.find(path);
    for (int scripts = 0; !code && scripts < 4; ++scripts) {
        const std::string interpreter = store.script_interpreter(path);
        if (interpreter.empty())
            break;
        path = absolute(interpreter);
        code = store.find(path);
    }
    // Another file of that name: the entry point would be in the middle of a page elsewhere.
    if (!code || (entry - code->entry()) % kPageBytes != 0)
        return miss(path);
    add_segments(process, path, *code, entry - code->entry());
    if (code->interpreter().empty() || interpreter_base == 0)
        return;
    const std::string interpreter = absolute(code->interpreter());
    if (ElfCode *loader = store.find(interpreter)) {
        const std::uint64_t first =
            loader->segments().empty()
                ? 0
                : loader->segments().front().address / kPageBytes * kPageBytes;
        add_segments(process, interpreter, *loader, interpreter_base - first);
    } else {
        miss(interpreter);
    }
}

void Processes::add_mapping(std::uint64_t process, const trace::Marker &marker, ElfStore &store)
{
    if (marker.arguments.size() < 3)
        return;
    const std::uint64_t start = marker.arguments[0];
    const std::uint64_t length = marker.arguments[1];
    const std::uint64_t offset = marker.arguments[2];
    if (marker.text.substr(trace::kMapNote.size()).starts_with('['))
        return; // [vdso]: in no file
    const std::string path = absolute(marker.text.substr(trace::kMapNote.size()));
    ElfCode *code = store.find(path);
    if (!code)
        return miss(path);
    for (const Segment &segment : code->segments()) {
        // A mapping starts at the page that a segment starts in.
        const std::uint64_t page = segment.offset / kPageBytes * kPageBytes;
        if (segment.executable && offset >= page &&
            offset - page < segment.file_size + kPageBytes) {
            ranges_[process].push_back(
                {.start = start,
                 .size = length,
                 .path = path,
                 .code = code,
                 .bias = start - (segment.address - segment.offset + offset)});
            return;
        }
    }
}

const CodeRange *Processes::find(std::uint64_t process, std::uint64_t address,
                                 const std::string &module) const
{
    // What was mapped last is what is there, unless the recorder saw another file.
    const auto among = [&](const std::vector<CodeRange> &ranges) -> const CodeRange * {
        const CodeRange *found = nullptr;
        for (const CodeRange &range : ranges)
            if (range.contains(address) &&
                (!found || range.path == module || found->path != module))
                found = &range;
        return found;
    };
    if (const auto own = ranges_.find(process); own != ranges_.end())
        if (const CodeRange *found = among(own->second))
            return found;
    // A forked child has its parent's mappings and announces none: where all that is known of this
    // address agrees, it is that.
    const CodeRange *agreed = nullptr;
    for (const auto &other : ranges_) {
        const CodeRange *found = among(other.second);
        if (!found || (!module.empty() && found->path != module))
            continue;
        if (agreed && (agreed->code != found->code || agreed->bias != found->bias))
            return nullptr;
        agreed = found;
    }
    return agreed;
}

} // namespace fencepost::symbols
