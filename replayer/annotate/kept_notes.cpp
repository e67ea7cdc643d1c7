// SPDX-License-Identifier: GPL-2.0-or-later
// See kept_notes.h.
#include "replayer/annotate/kept_notes.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/terminal_text.h"

namespace fencepost::annotate {

using nlohmann::json;

namespace {

constexpr const char *kName = "annotations.json";
constexpr std::uint64_t kMostFile = std::uint64_t{4} << 20;
constexpr std::size_t kMostText = 1024; // of a place, escapes included

std::optional<Folder> folder_of(const run::RunFiles &run, const std::string &finding)
{
    const std::optional<Folder> findings = run.folder().below("findings");
    return findings && run::is_finding_id(finding) ? findings->below(finding) : std::nullopt;
}

// Anybody may have written the file.
std::optional<BelongsTo> read_places(const json &document, const std::string &key,
                                     const std::vector<std::uint64_t> &addresses)
{
    if (!document.is_object() || document.value("key", json()) != key)
        return std::nullopt;
    const json list = document.value("places", json());
    if (!list.is_array())
        return std::nullopt;
    BelongsTo places;
    for (const json &each : list) {
        const json address = each.is_object() ? each.value("address", json()) : json();
        const json text = each.is_object() ? each.value("belongs_to", json()) : json();
        if (!address.is_number_unsigned() || !text.is_string() ||
            !std::binary_search(addresses.begin(), addresses.end(), address.get<std::uint64_t>()))
            return std::nullopt;
        places[address.get<std::uint64_t>()] =
            terminal_text(text.get<std::string>().substr(0, kMostText));
    }
    return places;
}

} // namespace

std::optional<BelongsTo> kept_notes(const run::RunFiles &run, const std::string &finding,
                                    const std::string &key,
                                    const std::vector<std::uint64_t> &addresses)
{
    const std::optional<Folder> folder = folder_of(run, finding);
    if (!folder || folder->kind_of(kName) != Folder::Kind::file)
        return std::nullopt;
    return read_places(json_or_discarded(folder->read(kName, kMostFile)), key, addresses);
}

void keep_notes(const run::RunFiles &run, const std::string &finding, const std::string &key,
                const std::string &annotator, const BelongsTo &places)
{
    const std::optional<Folder> folder = folder_of(run, finding);
    if (!folder)
        return;
    json list = json::array();
    for (const auto &[address, text] : places)
        list.push_back({{"address", address}, {"belongs_to", text}});
    try {
        folder->write(kName,
                      json_document({{"key", key}, {"annotator", annotator}, {"places", list}}));
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw; // else the next one asks again
    }
}

} // namespace fencepost::annotate
