// SPDX-License-Identifier: GPL-2.0-or-later
// See program_folder.h.
#include "replayer/oracle/program_folder.h"

#include <algorithm>

#include <unistd.h>

#include "base/byte_size.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
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

void read_limits(const run::TableReader &reader, const FolderKind &kind, SandboxLimits &limits)
{
    limits.time = std::chrono::seconds(
        reader.number("time_limit", 1, 86400).value_or(kind.time_limit.count()));
    if (const auto memory = reader.text("memory")) {
        try {
            limits.memory = parse_size(*memory);
        } catch (const Error &wrong) {
            reader.refuse("memory", "{}", wrong.what());
        }
    }
}

} // namespace

bool ProgramFolder::is_for(const std::string &file_system) const
{
    return file_systems.empty() ||
           std::find(file_systems.begin(), file_systems.end(), file_system) != file_systems.end();
}

std::optional<std::string> ProgramFolder::missing_need() const
{
    for (const std::string &program_name : needs)
        if (!find_program(program_name))
            return program_name;
    return std::nullopt;
}

void read_program_folder(const FolderKind &kind, const fs::path &directory, const std::string &name,
                         ProgramFolder &folder,
                         const std::function<void(const run::TableReader &)> &read_more)
{
    const fs::path file = directory / (kind.kind + ".toml");
    std::error_code error;
    if (!fs::is_regular_file(file, error))
        fail(ErrorKind::usage, "there is no {} '{}': {} is missing", kind.kind, name,
             file.string());
    const toml::table document = parse(file);
    std::vector<std::string> fields = {"summary", "file_systems", "program",
                                       "needs",   "time_limit",   "memory"};
    fields.insert(fields.end(), kind.more_fields.begin(), kind.more_fields.end());
    const run::TableReader reader(document, file.string(), "", fields);
    folder.directory = fs::canonical(directory);
    folder.name = folder.directory.filename();
    folder.summary = reader.text("summary").value_or("");
    folder.file_systems = reader.texts("file_systems").value_or(std::vector<std::string>());
    folder.needs = reader.texts("needs").value_or(std::vector<std::string>());
    if (read_more)
        read_more(reader);
    read_limits(reader, kind, folder.limits);
    const std::string program = reader.text("program").value_or("");
    if (program.empty() || program.find('/') != std::string::npos)
        reader.refuse("program", "program is the name of a file in the {}'s folder", kind.kind);
    folder.program = folder.directory / program;
    if (access(folder.program.c_str(), X_OK) < 0)
        reader.refuse("program", "{} is not there or cannot be executed", folder.program.string());
}

} // namespace fencepost::oracle
