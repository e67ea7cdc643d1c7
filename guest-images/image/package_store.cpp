// SPDX-License-Identifier: GPL-2.0-or-later
// See package_store.h. Files and trees get their names when they are complete, and a selection is
// written when all its packages are there; so whatever a killed process leaves is either whole or
// has a name that starts with a dot.
#include "guest-images/image/package_store.h"

#include <set>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "guest-images/image/recipe.h"

namespace fencepost::images {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char *kSelectionSuffix = ".selection.json";

FileLock lock_directory(const fs::path &directory, const PackageStore::Progress &progress)
{
    make_directories(directory);
    const fs::path file = directory / ".lock";
    if (auto lock = FileLock::try_acquire(file))
        return std::move(*lock);
    progress("waiting for another process that uses the packages");
    return FileLock::acquire(file);
}

struct Selection {
    int recipe = 0;
    std::vector<Package> packages = {};
};

// Empty when the file is missing or is not a selection.
Selection read_selection(const fs::path &file)
{
    if (!fs::exists(file))
        return {};
    try {
        const json document = parse_json(read_file(file));
        Selection selection{.recipe = document.at("recipe")};
        for (const json &entry : document.at("packages"))
            selection.packages.push_back({.name = entry.at("name"),
                                          .version = entry.at("version"),
                                          .file = entry.at("file"),
                                          .digest = entry.at("digest"),
                                          .tree = {}});
        return selection;
    } catch (const json::exception &) {
        return {};
    }
}

} // namespace

void fail_unknown_package(const std::string &name)
{
    fail(
        ErrorKind::io,
        "apt knows no package {}: run apt-get update as root; if this is not Debian, give a kernel "
        "with --kernel or --kernel-package",
        name);
}

PackageStore::PackageStore(fs::path directory, Progress progress)
    : directory_(std::move(directory)), progress_(std::move(progress)),
      lock_(lock_directory(directory_, progress_))
{
    remove_leftovers();
}

fs::path PackageStore::tree_of(const std::string &file) const
{
    return directory_ / fs::path(file).stem();
}

std::optional<std::vector<Package>> PackageStore::selection(const std::string &key) const
{
    Selection made = read_selection(directory_ / (key + kSelectionSuffix));
    if (made.recipe != kRecipeVersion)
        return std::nullopt;
    for (Package &package : made.packages) {
        package.tree = tree_of(package.file);
        if (fs::is_directory(package.tree))
            continue;
        const fs::path file = directory_ / package.file;
        if (!fs::exists(file) || file_digest(file) != package.digest)
            return std::nullopt;
        progress_(fmt::format("unpacking {} {}", package.name, package.version));
        unpack_package(file, package.tree);
    }
    return std::move(made.packages);
}

void PackageStore::save_selection(const std::string &key,
                                  const std::vector<Package> &packages) const
{
    json list = json::array();
    for (const Package &package : packages)
        list.push_back({{"name", package.name},
                        {"version", package.version},
                        {"file", package.file},
                        {"digest", package.digest}});
    const json document = {{"recipe", kRecipeVersion}, {"packages", list}};
    const fs::path file = directory_ / (key + kSelectionSuffix);
    const Selection before = read_selection(file);
    write_file(file, json_document(document, BadUtf8::refuse));
    remove_unselected(before.packages);
}

std::vector<Package> PackageStore::fetch(const std::vector<std::string> &names, bool required) const
{
    const auto known = apt_show(names);
    std::vector<PackageRecord> records;
    for (const std::string &name : names) {
        if (const auto record = known.find(name); record != known.end())
            records.push_back(record->second);
        else if (required)
            fail_unknown_package(name);
    }
    return fetch(records);
}

std::vector<Package> PackageStore::fetch(const std::vector<PackageRecord> &records) const
{
    download(records);
    std::vector<Package> packages;
    for (const PackageRecord &record : records) {
        const fs::path file = directory_ / record.file_name();
        const fs::path tree = tree_of(record.file_name());
        if (!fs::is_directory(tree)) {
            progress_(fmt::format("unpacking {} {}", record.name, record.version));
            unpack_package(file, tree);
        }
        packages.push_back({.name = record.name,
                            .version = record.version,
                            .file = record.file_name(),
                            .digest = file_digest(file),
                            .tree = tree,
                            .depends = record.depends});
    }
    return packages;
}

void PackageStore::download(const std::vector<PackageRecord> &records) const
{
    std::vector<PackageRecord> absent;
    std::uint64_t bytes = 0;
    for (const PackageRecord &record : records) {
        const fs::path file = directory_ / record.file_name();
        if (fs::exists(file) && fs::file_size(file) == record.bytes)
            continue;
        fs::remove_all(tree_of(record.file_name()));
        absent.push_back(record);
        bytes += record.bytes;
    }
    if (absent.empty())
        return;
    progress_(fmt::format("downloading {}{} ({:.1f} MB)", absent.front().file_name(),
                          absent.size() == 1 ? "" : fmt::format(" and {} more", absent.size() - 1),
                          static_cast<double>(bytes) / 1e6));
    apt_download(absent, directory_);
}

void PackageStore::remove_leftovers() const
{
    for (const auto &entry : fs::directory_iterator(directory_)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(".download-") || name.starts_with(".unpack-"))
            fs::remove_all(entry.path());
    }
}

void PackageStore::remove_unselected(const std::vector<Package> &candidates) const
{
    std::set<std::string> kept;
    for (const auto &entry : fs::directory_iterator(directory_)) {
        if (!entry.path().string().ends_with(kSelectionSuffix))
            continue;
        for (const Package &package : read_selection(entry.path()).packages)
            kept.insert(package.file);
    }
    for (const Package &package : candidates) {
        if (kept.contains(package.file))
            continue;
        fs::remove_all(tree_of(package.file));
        fs::remove(directory_ / package.file);
    }
}

} // namespace fencepost::images
