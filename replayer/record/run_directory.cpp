// SPDX-License-Identifier: GPL-2.0-or-later
// See run_directory.h.
#include "replayer/record/run_directory.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "trace/reader.h"

namespace fencepost::record {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxDevices = 4;

std::vector<fs::path> recorded_files(const RunFiles &files)
{
    std::vector<fs::path> names = {files.trace(),      files.summary(),      files.spec(),    files.inputs(),
                                   files.setup_job(),  files.workload_job(), files.kallsyms(), files.modules(),
                                   files.console(),    files.kernel_log(),   files.output(),  files.errors()};
    for (std::size_t i = 0; i < kMaxDevices; ++i)
        names.push_back(files.final_pm(i));
    names.push_back(files.trace().string() + "-journal");
    // Verdicts on another recording would lie.
    names.push_back(files.results());
    names.push_back(files.results().string() + "-journal");
    names.push_back(files.findings());
    names.push_back(files.legal_states());
    return names;
}

// A recording that ended, however it ended; not one whose recorder was killed.
bool is_finished(const RunFiles &files)
{
    if (!fs::exists(files.trace()))
        return false;
    try {
        const trace::RecordingState state = trace::TraceReader(files.trace()).recording().state;
        return state == trace::RecordingState::complete || state == trace::RecordingState::truncated;
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
    known.insert(files.lock().filename());
    for (const fs::directory_entry &entry : fs::directory_iterator(files.directory)) {
        has_trace = has_trace || entry.path().filename() == files.trace().filename();
        if (!known.contains(entry.path().filename()) && !entry.path().filename().string().ends_with(".new"))
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

fs::path trace_of(const fs::path &run)
{
    if (!is_there(run))
        fail(ErrorKind::usage, "there is no run {}", run.string());
    if (!fs::is_directory(run))
        return run;
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
        fail(ErrorKind::usage, "{} is neither a run directory nor the trace.db in one", path.string());
    return files;
}

FileLock lock_run(const RunFiles &files)
{
    std::optional<FileLock> lock = FileLock::try_acquire(files.lock());
    if (!lock)
        fail(ErrorKind::usage, "{} is being recorded or tested by another process", files.directory.string());
    return std::move(*lock);
}

NewRun::NewRun(const fs::path &path, Replace replace) : files_{path}
{
    std::error_code error;
    const bool there = fs::exists(path, error);
    if (there && !fs::is_directory(path, error))
        fail(ErrorKind::usage, "{} is there and is not a directory", path.string());
    if (there)
        check_is_run(files_);
    make_directories(path);
    lock_ = lock_run(files_);
    if (there && replace != Replace::any && is_finished(files_))
        fail(ErrorKind::usage, "{} holds a recording already; --force replaces it", path.string());
    for (const fs::path &file : recorded_files(files_)) {
        fs::remove_all(file, error);
        if (error)
            fail_errno(fmt::format("cannot remove {}", file.string()), error.value());
    }
}

NewRun::~NewRun()
{
    std::error_code ignored;
    if (!lock_ || fs::exists(files_.trace(), ignored))
        return;
    for (const fs::path &file : recorded_files(files_))
        fs::remove_all(file, ignored);
    fs::remove(files_.lock(), ignored);
    fs::remove(files_.directory, ignored); // only if it is empty
}

} // namespace fencepost::record
