// SPDX-License-Identifier: GPL-2.0-or-later
// See host_oracle.h.
#include "replayer/oracle/host_oracle.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files.h"
#include "base/places.h"
#include "replayer/guest/guest_config.h"
#include "replayer/oracle/log_watch.h"
#include "replayer/run/spec_reader.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

constexpr const char *kImage = "/image";
constexpr const char *kScratch = "/scratch";
constexpr const char *kOracle = "/oracle";
constexpr std::size_t kSummaryLimit = 300;

OracleFolder read_oracle(const fs::path &directory, const std::string &name)
{
    const fs::path file = directory / "oracle.toml";
    std::error_code error;
    if (!fs::is_regular_file(file, error))
        fail(ErrorKind::usage, "there is no oracle '{}': {} is missing", name, file.string());
    toml::table document;
    try {
        document = toml::parse(read_file(file), file.string());
    } catch (const toml::parse_error &wrong) {
        fail(ErrorKind::usage, "{}:{}: {}", file.string(), wrong.source().begin.line,
             wrong.description());
    } catch (const run::TomlGaveUp &) {
        fail(ErrorKind::usage, "{}: this is not TOML", file.string());
    }
    const run::TableReader reader(document, file.string(), "",
                                     {"summary", "built_in", "file_systems", "program", "needs",
                                      "before", "after", "copy", "time_limit", "memory"});
    OracleFolder oracle;
    oracle.name = directory.filename();
    oracle.directory = fs::canonical(directory);
    oracle.summary = reader.text("summary").value_or("");
    oracle.built_in = reader.flag("built_in").value_or(false);
    oracle.file_systems = reader.texts("file_systems").value_or(std::vector<std::string>());
    oracle.needs = reader.texts("needs").value_or(std::vector<std::string>());
    oracle.before = reader.flag("before").value_or(false);
    oracle.after = reader.flag("after").value_or(!oracle.before);
    oracle.copy = reader.flag("copy").value_or(false);
    oracle.limits.time = std::chrono::seconds(reader.number("time_limit", 1, 86400).value_or(60));
    if (const auto memory = reader.text("memory")) {
        try {
            oracle.limits.memory = guest::parse_size(*memory);
        } catch (const Error &wrong) {
            reader.refuse("memory", "{}", wrong.what());
        }
    }
    if (oracle.built_in)
        return oracle;
    const std::string program = reader.text("program").value_or("");
    if (program.empty() || program.find('/') != std::string::npos)
        reader.refuse("program", "program is the name of a file in the oracle's folder");
    oracle.program = oracle.directory / program;
    if (access(oracle.program.c_str(), X_OK) < 0)
        reader.refuse("program", "{} is not there or cannot be executed", oracle.program.string());
    return oracle;
}

// What the program prints is evidence as far as it is what README.md says, and text where it is
// not.
void read_evidence(const CommandResult &result, Evidence &evidence)
{
    const auto document = nlohmann::json::parse(result.output, nullptr, false);
    const auto field = [&](const char *name) {
        return document.is_object() ? document.value(name, nlohmann::json()) : nlohmann::json();
    };
    const nlohmann::json summary = field("summary");
    const nlohmann::json details = field("details");
    if (summary.is_string())
        evidence.summary = summary;
    evidence.details = details.is_object() ? details : nlohmann::json::object();
    const bool as_agreed = document.is_object() && (summary.is_string() || summary.is_null()) &&
                           (details.is_object() || details.is_null());
    if (!as_agreed)
        evidence.details["output"] = result.output;
    if (!result.errors.empty())
        evidence.details["errors"] = result.errors;
    if (evidence.summary.empty())
        evidence.summary = last_line(result.output);
    if (evidence.summary.empty())
        evidence.summary = result.last_words();
    evidence.summary = without_numbers(evidence.summary.substr(0, kSummaryLimit));
}

} // namespace

bool OracleFolder::is_for(const std::string &file_system) const
{
    return file_systems.empty() ||
           std::find(file_systems.begin(), file_systems.end(), file_system) != file_systems.end();
}

OracleFolder find_oracle(const std::string &name)
{
    if (name.find('/') != std::string::npos)
        return read_oracle(fs::path(name).lexically_normal(), name);
    const fs::path folder = source_folder("fsck-oracles") / name;
    std::error_code error;
    if (name.empty() || name.starts_with('.') || !fs::is_directory(folder, error)) {
        std::string names;
        for (const OracleFolder &oracle : shipped_oracles())
            names += (names.empty() ? "" : ", ") + oracle.name;
        fail(ErrorKind::usage,
             "there is no oracle '{}'; there are {}, and your own by the path of their folder",
             name, names);
    }
    return read_oracle(folder, name);
}

std::vector<OracleFolder> shipped_oracles()
{
    std::vector<OracleFolder> oracles;
    for (const fs::directory_entry &entry : fs::directory_iterator(source_folder("fsck-oracles")))
        if (fs::exists(entry.path() / "oracle.toml"))
            oracles.push_back(read_oracle(entry.path(), entry.path().filename()));
    std::sort(oracles.begin(), oracles.end(),
              [](const OracleFolder &a, const OracleFolder &b) { return a.name < b.name; });
    return oracles;
}

void copy_part(const PmPart &from, const fs::path &to)
{
    const Fd in = open_file(from.file, O_RDONLY);
    const Fd out = open_file(to, O_WRONLY | O_CREAT | O_TRUNC);
    const auto start = static_cast<off_t>(from.offset);
    const auto end = static_cast<off_t>(from.offset + from.size);
    if (ftruncate(out.get(), end - start) < 0)
        fail_errno(fmt::format("cannot size {}", to.string()));
    for (off_t at = start; at < end;) {
        off_t data = lseek(in.get(), at, SEEK_DATA);
        if (data < 0 || data >= end)
            return;
        const off_t stop = std::min(lseek(in.get(), data, SEEK_HOLE), end);
        if (lseek(out.get(), data - start, SEEK_SET) < 0)
            fail_errno(fmt::format("cannot write {}", to.string()));
        while (data < stop) {
            const ssize_t put =
                sendfile(out.get(), in.get(), &data, static_cast<std::size_t>(stop - data));
            if (put <= 0)
                fail_errno(fmt::format("cannot copy {} to {}", from.file.string(), to.string()),
                           put < 0 ? errno : EIO);
        }
        at = stop;
    }
}

std::optional<Evidence> ask_program(const OracleFolder &oracle, Phase phase, const PmPart &image,
                                    const fs::path &scratch)
{
    const TemporaryDirectory directory(scratch, "oracle-");
    const bool copied = phase == Phase::before || oracle.copy;
    const fs::path work = directory.path() / "scratch";
    fs::create_directory(work);
    fs::path file = image.file;
    if (copied) {
        file = directory.path() / "image";
        copy_part(image, file);
    }
    const CommandResult result =
        run_sandboxed({fmt::format("{}/{}", kOracle, oracle.program.filename().string()),
                       phase == Phase::before ? "before" : "after", kImage,
                       fmt::format("{}", copied ? 0 : image.offset), kScratch},
                      {{oracle.directory, kOracle}, {file, kImage, copied}, {work, kScratch, true}},
                      oracle.limits);
    if (result.success())
        return std::nullopt;
    Evidence evidence;
    evidence.oracle = oracle.name;
    read_evidence(result, evidence);
    evidence.details["phase"] = phase == Phase::before ? "before" : "after";
    if (result.timed_out) {
        // A checker that does not end on this image: the image may well be why, but nobody can say.
        evidence.verdict = Verdict::infra_error;
        evidence.summary = fmt::format(
            "the oracle {} did not end within {} s (time_limit in its oracle.toml)", oracle.name,
            std::chrono::duration_cast<std::chrono::seconds>(oracle.limits.time).count());
    } else if (!result.end.by_signal && result.end.code == 1) {
        evidence.verdict = Verdict::inconsistent;
    } else if (!result.end.by_signal && result.end.code == 2) {
        evidence.verdict = Verdict::recovery_failed;
    } else {
        evidence.verdict = Verdict::infra_error;
        evidence.summary =
            fmt::format("the oracle {} ended with {}, which says nothing (0, 1 and 2 do): {}",
                        oracle.name, result.end.describe(), evidence.summary);
        evidence.details["end"] = result.end.describe();
    }
    return evidence;
}

} // namespace fencepost::oracle
