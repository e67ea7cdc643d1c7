// SPDX-License-Identifier: GPL-2.0-or-later
// See apt.h.
#include "guest-images/image/apt.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <sstream>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

void need_program(const char *name)
{
    if (!find_program(name))
        fail(ErrorKind::io,
             "there is no {} here, so Debian's packages cannot be had: copy the packages directory "
             "of "
             "the cache from a Debian machine (--packages), or build without packages (--kernel, "
             "--no-packages, and a user space in --extra)",
             name);
}

CommandResult run_quietly(std::vector<std::string> command, const fs::path &directory = {})
{
    need_program(command[0].c_str());
    return run_command(command, {.environment = {{"LC_ALL", "C"}}, .directory = directory});
}

// Neither apt nor dpkg tells a full disk by its exit status.
void fail_if_disk_full(const CommandResult &result, const std::string &what)
{
    for (const char *sign : {"No space left on device", "enough free space"}) {
        if (result.errors.find(sign) != std::string::npos ||
            result.output.find(sign) != std::string::npos)
            fail_errno(what, ENOSPC);
    }
}

// "a (>= 1) | b:any, c" gives a, b, c.
void add_dependencies(std::vector<std::string> &names, std::string_view field)
{
    std::string name;
    bool in_name = true;
    for (const char c : field) {
        if (c == ',' || c == '|') {
            if (!name.empty())
                names.push_back(name);
            name.clear();
            in_name = true;
        } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' ||
                   c == '.') {
            if (in_name)
                name += c;
        } else if (!name.empty()) {
            in_name = false;
        }
    }
    if (!name.empty())
        names.push_back(name);
}

void take_field(PackageRecord &record, const std::string &key, const std::string &value)
{
    if (key == "Package")
        record.name = value;
    else if (key == "Version")
        record.version = value;
    else if (key == "Architecture")
        record.architecture = value;
    else if (key == "Depends" || key == "Pre-Depends")
        add_dependencies(record.depends, value);
    else if (key == "Size")
        std::from_chars(value.data(), value.data() + value.size(), record.bytes);
}

// A package that provides a name that is not a package: a library that was renamed, say.
std::string provider(const std::string &name)
{
    std::istringstream lines(run_quietly({"apt-cache", "showpkg", name}).output);
    bool listed = false;
    for (std::string line; std::getline(lines, line);) {
        if (listed)
            return line.substr(0, line.find(' '));
        listed = line.starts_with("Reverse Provides:");
    }
    return {};
}

std::map<std::string, PackageRecord> show(const std::vector<std::string> &names)
{
    std::vector<std::string> command = {"apt-cache", "show", "--no-all-versions"};
    command.insert(command.end(), names.begin(), names.end());
    // It fails when it knows none of the names, which is an answer.
    return parse_records(run_quietly(command).output);
}

} // namespace

std::string PackageRecord::file_name() const
{
    std::string text = fmt::format("{}_{}_{}.deb", name, version, architecture);
    for (std::size_t colon; (colon = text.find(':')) != std::string::npos;)
        text.replace(colon, 1, "%3a");
    return text;
}

std::map<std::string, PackageRecord> parse_records(const std::string &text)
{
    std::map<std::string, PackageRecord> records;
    PackageRecord record;
    const auto finish = [&] {
        if (!record.name.empty() && !record.version.empty())
            records.try_emplace(record.name, record);
        record = {};
    };
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (line.empty())
            finish();
        else if (colon != std::string::npos) // of a continuation line the key starts with a space
            take_field(record, line.substr(0, colon),
                       line.substr(std::min(line.size(), line.find_first_not_of(' ', colon + 1))));
    }
    finish();
    return records;
}

std::map<std::string, PackageRecord> apt_show(const std::vector<std::string> &names)
{
    if (names.empty())
        return {};
    std::map<std::string, PackageRecord> known = show(names);
    std::map<std::string, PackageRecord> records;
    for (const std::string &name : names) {
        if (const auto found = known.find(name); found != known.end()) {
            records[name] = found->second;
        } else if (const std::string other = provider(name); !other.empty()) {
            if (const auto provided = show({other}); provided.contains(other))
                records[name] = provided.at(other);
        }
    }
    return records;
}

void apt_download(const std::vector<PackageRecord> &records, const fs::path &directory)
{
    if (records.empty())
        return;
    const TemporaryDirectory place(directory, ".download-");
    // As root, apt would drop to a user who may not write here, and warn about it.
    std::vector<std::string> command = {"apt-get", "-qq", "-o", "APT::Sandbox::User=root",
                                        "download"};
    for (const PackageRecord &record : records) {
        // An installed package has a record but no size when apt has no list that offers it.
        if (record.bytes == 0)
            fail(ErrorKind::io,
                 "cannot download the package {}: apt has no package lists; run apt-get update as "
                 "root",
                 record.name);
        command.push_back(record.name + "=" + record.version);
    }
    const CommandResult result = run_quietly(command, place.path());
    fail_if_disk_full(result, "cannot download packages");
    if (!result.success())
        fail(ErrorKind::io, "cannot download packages: {} (apt-get update, as root, may help)",
             result.last_words());
    for (const PackageRecord &record : records) {
        const fs::path file = place.path() / record.file_name();
        if (!fs::exists(file) || fs::file_size(file) != record.bytes)
            fail(ErrorKind::io, "apt-get did not download {} as it should have",
                 record.file_name());
        fs::rename(file, directory / record.file_name());
    }
}

void unpack_package(const fs::path &file, const fs::path &directory)
{
    const std::string what = fmt::format("cannot unpack {}", file.string());
    const TemporaryDirectory place(directory.parent_path(), ".unpack-");
    const CommandResult result =
        run_quietly({"dpkg-deb", "-x", file.string(), (place.path() / "tree").string()});
    fail_if_disk_full(result, what);
    if (!result.success())
        fail(ErrorKind::io, "{}: {}", what, result.last_words());
    fs::rename(place.path() / "tree", directory);
}

} // namespace fencepost::images
