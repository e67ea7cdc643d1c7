// SPDX-License-Identifier: GPL-2.0-or-later
// See oracle_folder.h.
#include "replayer/oracle/oracle_folder.h"

#include <algorithm>

#include "base/error.h"
#include "base/places.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/run/spec_reader.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

OracleFolder read_folder(const fs::path &directory, const std::string &name)
{
    OracleFolder oracle;
    read_program_folder({.kind = "oracle", .more_fields = {"before", "after", "copy"}}, directory,
                        name, oracle, [&](const run::TableReader &reader) {
                            oracle.before = reader.flag("before").value_or(false);
                            oracle.after = reader.flag("after").value_or(!oracle.before);
                            oracle.copy = reader.flag("copy").value_or(false);
                        });
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
