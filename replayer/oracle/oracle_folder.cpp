// SPDX-License-Identifier: GPL-2.0-or-later
// See oracle_folder.h.
#include "replayer/oracle/oracle_folder.h"

#include <algorithm>

#include <unistd.h>

#include "base/byte_size.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/run/spec_reader.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

toml::table parse(const fs::path &file)
{
    try {
        return toml::parse(read_file(file), file.string());
    } catch (const toml::parse_error &wrong) {
        fail(ErrorKind::usage, "{}:{}: {}", file.string(), wrong.source().begin.line,
             wrong.description());
    } catch (const run::TomlGaveUp &) {
        fail(ErrorKind::usage, "{}: this is not TOML", file.string());
    }
}

OracleFolder read_folder(const fs::path &directory, const std::string &name)
{
    const fs::path file = directory / "oracle.toml";
    std::error_code error;
    if (!fs::is_regular_file(file, error))
        fail(ErrorKind::usage, "there is no oracle '{}': {} is missing", name, file.string());
    const toml::table document = parse(file);
    const run::TableReader reader(document, file.string(), "",
                                  {"summary", "file_systems", "program", "needs", "before", "after",
                                   "copy", "time_limit", "memory"});
    OracleFolder oracle;
    oracle.name = directory.filename();
    oracle.directory = fs::canonical(directory);
    oracle.summary = reader.text("summary").value_or("");
    oracle.file_systems = reader.texts("file_systems").value_or(std::vector<std::string>());
    oracle.needs = reader.texts("needs").value_or(std::vector<std::string>());
    oracle.before = reader.flag("before").value_or(false);
    oracle.after = reader.flag("after").value_or(!oracle.before);
    oracle.copy = reader.flag("copy").value_or(false);
    oracle.limits.time = std::chrono::seconds(reader.number("time_limit", 1, 86400).value_or(60));
    if (const auto memory = reader.text("memory")) {
        try {
            oracle.limits.memory = parse_size(*memory);
        } catch (const Error &wrong) {
            reader.refuse("memory", "{}", wrong.what());
        }
    }
    const std::string program = reader.text("program").value_or("");
    if (program.empty() || program.find('/') != std::string::npos)
        reader.refuse("program", "program is the name of a file in the oracle's folder");
    oracle.program = oracle.directory / program;
    if (access(oracle.program.c_str(), X_OK) < 0)
        reader.refuse("program", "{} is not there or cannot be executed", oracle.program.string());
    return oracle;
}

// Of our folders.
std::vector<std::string> shipped_names()
{
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(source_folder("fsck-oracles")))
        if (fs::exists(entry.path() / "oracle.toml"))
            names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

bool OracleFolder::is_for(const std::string &file_system) const
{
    return file_systems.empty() ||
           std::find(file_systems.begin(), file_systems.end(), file_system) != file_systems.end();
}

std::optional<std::string> OracleFolder::missing_need() const
{
    for (const std::string &program_name : needs)
        if (!find_program(program_name))
            return program_name;
    return std::nullopt;
}

OracleFolder find_folder(const std::string &name)
{
    if (name.find('/') != std::string::npos) {
        OracleFolder own = read_folder(fs::path(name).lexically_normal(), name);
        own.users = true;
        return own;
    }
    const fs::path folder = source_folder("fsck-oracles") / name;
    std::error_code error;
    if (name.empty() || name.starts_with('.') || !fs::is_directory(folder, error)) {
        std::string names;
        for (const std::string &each : oracle_names())
            names += (names.empty() ? "" : ", ") + each;
        fail(ErrorKind::usage,
             "there is no oracle '{}'; there are {}, and your own by the path of their folder",
             name, names);
    }
    return read_folder(folder, name);
}

std::vector<OracleFolder> shipped_folders()
{
    std::vector<OracleFolder> folders;
    for (const std::string &name : shipped_names())
        folders.push_back(read_folder(source_folder("fsck-oracles") / name, name));
    return folders;
}

std::vector<std::string> oracle_names()
{
    std::vector<std::string> names = shipped_names();
    for (const OracleEntry &entry : oracle_table())
        names.emplace_back(entry.name);
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace fencepost::oracle
