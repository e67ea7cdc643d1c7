// SPDX-License-Identifier: GPL-2.0-or-later
// See run_directory.h.
#include "replayer/run/run_directory.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/error.h"
#include "trace/journal.h"
#include "trace/reader.h"

namespace fencepost::run {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxDevices = 4;
constexpr std::size_t kFindingIdDigits = 12;
constexpr std::size_t kShownName = 60; // of one that is too long
// A reader that asks whether somebody records holds the lock for an instant.
constexpr int kLockTries = 10;
constexpr std::chrono::milliseconds kLockPause(10);

// What fencepost writes into findings/ID.
constexpr std::string_view kFindingFiles[] = {
    "summary.json", "console.log", "image.delta",  "tree.json",   "reproduce.sh",    "minimal.json",
    "pass.delta",   "fail.delta",  "workload.ops", "workload.sh", "annotations.json"};

std::vector<fs::path> recorded_files(const RunFiles &files)
{
    std::vector<fs::path> names = {files.trace(),      files.summary(),   files.spec(),
                                   files.inputs(),     files.setup_job(), files.workload_job(),
                                   files.kallsyms(),   files.modules(),   files.console(),
                                   files.kernel_log(), files.output(),    files.errors()};
    for (std::size_t i = 0; i < kMaxDevices; ++i)
        names.push_back(files.final_pm(i));
    names.push_back(files.trace().string() + "-journal");
    return names;
}

// "own.0"
bool is_legal_states_file(std::string_view name)
{
    const std::size_t dot = name.rfind('.');
    return is_plain_name(name) && dot != name.npos && dot + 1 < name.size() &&
           name.find_first_not_of("0123456789", dot + 1) == name.npos;
}

void remove_legal_states(const Folder &run)
{
    const std::optional<Folder> folder = run.below("legal_states");
    if (!folder)
        return;
    for (const std::string &name : folder->names())
        if (is_legal_states_file(name) && folder->kind_of(name) == Folder::Kind::file)
            folder->remove(name);
    run.remove_folder("legal_states");
}

// Everything that fencepost wrote there, and nothing else.
void remove_recording(const RunFiles &files)
{
    const Folder run = files.folder();
    // Verdicts on another recording would lie.
    remove_results(run);
    remove_legal_states(run);
    for (const fs::path &file : recorded_files(files))
        run.remove(file.filename().string());
}

// A recording that ended, however it ended; not one whose recorder was killed.
bool is_finished(const RunFiles &files)
{
    if (!fs::exists(fs::symlink_status(files.trace())))
        return false;
    try {
        trace::roll_back(files.trace());
        const trace::RecordingState state = trace::TraceReader(files.trace()).recording().state;
        return state == trace::RecordingState::complete ||
               state == trace::RecordingState::truncated;
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        return true; // not ours to throw away unasked
    }
}

// What may not be looked at is not taken for missing.
bool is_there(const fs::path &path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (error == std::errc::filename_too_long)
        fail(ErrorKind::usage, "there is no run with a name that long: {}...",
             path.string().substr(0, kShownName));
    if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown)
        fail_errno(fmt::format("cannot look at {}", path.string()), error.value());
    return fs::exists(status);
}

// Everything in a run has a name of its own.
void check_is_run(const RunFiles &files)
{
    bool has_trace = false;
    std::vector<std::string> foreign;
    std::set<fs::path> known;
    for (const fs::path &path : recorded_files(files))
        known.insert(path.filename());
    for (const fs::path &path :
         {files.lock(), files.results(), fs::path(files.results().string() + "-journal"),
          files.findings(), files.legal_states(), files.report_page(), files.report_data()})
        known.insert(path.filename());
    for (const fs::directory_entry &entry : fs::directory_iterator(files.directory)) {
        has_trace = has_trace || entry.path().filename() == files.trace().filename();
        if (!known.contains(entry.path().filename()) &&
            !entry.path().filename().string().ends_with(".new"))
            foreign.push_back(entry.path().filename().string());
    }
    if (!has_trace && !foreign.empty())
        fail(ErrorKind::usage, "{} is there and is not a run (it holds {}); choose another name",
             files.directory.string(), foreign.front());
}

} // namespace

fs::path RunFiles::final_pm(std::size_t device) const
{
    return directory / fmt::format("pm{}.final", device);
}

void check_run_name(const fs::path &path)
{
    if (path.empty())
        fail(ErrorKind::usage, "-o needs the name of a run directory, and is empty");
    std::error_code error;
    const bool there = fs::exists(path, error);
    if (!there && error == std::errc::filename_too_long)
        fail(ErrorKind::usage, "no directory can have a name that long: {}...",
             path.string().substr(0, kShownName));
}

fs::path trace_of(const fs::path &run)
{
    if (run.empty())
        fail(ErrorKind::usage, "RUN is empty; name a run directory");
    if (!is_there(run))
        fail(ErrorKind::usage, "there is no run {}", run.string());
    if (!fs::is_directory(run))
        return fs::is_symlink(run) ? fs::canonical(run) : run; // a link of the user's own
    fs::path trace = RunFiles{run}.trace();
    if (!is_there(trace))
        fail(ErrorKind::usage, "{} is not a run: it has no trace.db", run.string());
    return trace;
}

RunFiles open_run(const fs::path &path)
{
    const fs::path trace = trace_of(path);
    const RunFiles files = {trace.has_parent_path() ? trace.parent_path() : fs::path(".")};
    if (trace.filename() != files.trace().filename())
        fail(ErrorKind::usage, "{} is neither a run directory nor the trace.db in one",
             path.string());
    return files;
}

FileLock lock_run(const RunFiles &files)
{
    for (int tries = 0; tries < kLockTries; ++tries) {
        if (tries > 0)
            std::this_thread::sleep_for(kLockPause);
        if (std::optional<FileLock> lock = FileLock::try_acquire(files.lock()))
            return std::move(*lock);
    }
    fail(ErrorKind::usage, "{} is being recorded or tested by another process",
         files.directory.string());
}

bool is_being_recorded(const RunFiles &files)
{
    return FileLock::is_held(files.lock());
}

void check_folders(const RunFiles &files)
{
    const Folder run = files.folder();
    run.below(files.findings().filename());
    run.below(files.legal_states().filename());
}

bool is_finding_id(std::string_view id)
{
    return id.size() == kFindingIdDigits && id.find_first_not_of("0123456789abcdef") == id.npos;
}

bool is_finding_file(std::string_view name)
{
    return std::find(std::begin(kFindingFiles), std::end(kFindingFiles), name) !=
           std::end(kFindingFiles);
}

void remove_findings(const Folder &run, const std::set<std::string> &kept)
{
    const std::optional<Folder> findings = run.below("findings");
    if (!findings)
        return;
    for (const std::string &id : findings->names()) {
        if (!is_finding_id(id) || kept.contains(id) ||
            findings->kind_of(id) != Folder::Kind::folder)
            continue;
        if (const std::optional<Folder> finding = findings->below(id))
            for (const std::string &name : finding->names())
                if (is_finding_file(name) && finding->kind_of(name) == Folder::Kind::file)
                    finding->remove(name);
        findings->remove_folder(id);
    }
    if (kept.empty())
        run.remove_folder("findings");
}

void remove_results(const Folder &run)
{
    run.remove("report.html");
    run.remove("report.json");
    // The verdicts last: without them nothing vouches for the findings.
    remove_findings(run);
    run.remove("results.db-journal");
    run.remove("results.db");
}

NewRun::NewRun(const fs::path &path, Replace replace) : files_{path}
{
    std::error_code error;
    check_run_name(path);
    const bool there = fs::exists(path, error);
    if (there && !fs::is_directory(path, error))
        fail(ErrorKind::usage, "{} is there and is not a directory", path.string());
    if (there)
        check_is_run(files_);
    make_directories(path);
    lock_ = lock_run(files_);
    if (there && replace != Replace::any && is_finished(files_))
        fail(ErrorKind::usage, "{} holds a recording already; --force replaces it", path.string());
    remove_recording(files_);
}

NewRun::~NewRun()
{
    std::error_code ignored;
    if (!lock_ || fs::exists(files_.trace(), ignored))
        return;
    try {
        remove_recording(files_);
    } catch (const std::exception &) {
        return; // what is left says that it is not finished
    }
    fs::remove(files_.lock(), ignored);
    fs::remove(files_.directory, ignored); // only if it is empty
}

} // namespace fencepost::run
