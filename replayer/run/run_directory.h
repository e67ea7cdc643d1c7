// SPDX-License-Identifier: GPL-2.0-or-later
// The directory of a run: what is in it, and who may replace it.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/folder.h"

namespace fencepost::run {

// Names of what a recording leaves; every one may be made again by recording again.
struct RunFiles {
    std::filesystem::path directory;

    std::filesystem::path trace() const { return directory / "trace.db"; }
    std::filesystem::path summary() const { return directory / "record.json"; }
    std::filesystem::path spec() const { return directory / "spec.toml"; }
    // What the guest was and what it was told, so that it can be told again.
    std::filesystem::path inputs() const { return directory / "inputs.json"; }
    std::filesystem::path setup_job() const { return directory / "setup.job"; }
    std::filesystem::path workload_job() const { return directory / "workload.job"; }
    // For names of code.
    std::filesystem::path kallsyms() const { return directory / "kallsyms.zst"; }
    std::filesystem::path modules() const { return directory / "modules.txt"; }
    // What the guest said.
    std::filesystem::path console() const { return directory / "console.log"; }
    std::filesystem::path kernel_log() const { return directory / "kernel.log"; }
    std::filesystem::path output() const { return directory / "output.txt"; }
    std::filesystem::path errors() const { return directory / "errors.txt"; }
    // Only of a recording that is not complete: PM as it was at the end.
    std::filesystem::path final_pm(std::size_t device) const;
    // What the workload leaves after each operation, found by the first test.
    std::filesystem::path legal_states() const { return directory / "legal_states"; }
    std::filesystem::path lock() const { return directory / "lock"; }
    // What testing the recording leaves.
    std::filesystem::path results() const { return directory / "results.db"; }
    std::filesystem::path findings() const { return directory / "findings"; }
    // What `fencepost report` makes of all of it.
    std::filesystem::path report_page() const { return directory / "report.html"; }
    std::filesystem::path report_data() const { return directory / "report.json"; }

    // A run may come from somebody else: what is in it is read, written and removed through this.
    Folder folder() const { return Folder(directory); }
};

// Of its files: what is larger than these was not written by fencepost.
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostJob = std::uint64_t{512} << 20;

// The trace of a run directory, or the file that is named instead of one, whatever it holds. A
// usage error if there is none.
std::filesystem::path trace_of(const std::filesystem::path &run);

// RUN, or RUN/trace.db. A usage error if there is none.
RunFiles open_run(const std::filesystem::path &path);

// For whoever changes what is in the directory: a usage error while another process holds it.
FileLock lock_run(const RunFiles &files);

// Before work begins in a run that is there: a trace error for links and files where folders should
// be.
void check_folders(const RunFiles &files);

// Whether a recorder is at work in the directory.
bool is_being_recorded(const RunFiles &files);

// 12 hexadecimal digits, as findings are named. What a database says otherwise never becomes a
// path.
bool is_finding_id(std::string_view id);
// Whether fencepost writes a file of that name into findings/ID.
bool is_finding_file(std::string_view name);
// Removes the findings but those in `kept`: of each what fencepost wrote, and its folder if nothing
// else is in it.
void remove_findings(const Folder &run, const std::set<std::string> &kept = {});
// Verdicts and findings, and the report about them.
void remove_results(const Folder &run);

// A usage error for a directory that cannot be made under its name.
void check_run_name(const std::filesystem::path &path);

enum class Replace { unfinished_only, any };

// An empty run directory, held by this process. One that holds an unfinished recording whose
// recorder is gone starts clean; a finished one is a usage error unless `replace` says otherwise,
// and a directory that is no run is one always.
class NewRun {
public:
    NewRun(const std::filesystem::path &path, Replace replace);
    ~NewRun(); // removes the directory again if no trace came into it
    NewRun(const NewRun &) = delete;
    NewRun &operator=(const NewRun &) = delete;

    const RunFiles &files() const { return files_; }

private:
    RunFiles files_;
    std::optional<FileLock> lock_;
};

} // namespace fencepost::run
