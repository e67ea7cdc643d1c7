// SPDX-License-Identifier: GPL-2.0-or-later
// See record_run.h.
#include "replayer/record/record_run.h"

#include "base/error.h"
#include "base/files.h"
#include "guest-images/image/image_store.h"
#include "replayer/record/names.h"
#include "replayer/record/summary.h"
#include "trace/journal.h"

namespace fencepost::record {

namespace fs = std::filesystem;

namespace {

// The digest of the image whose guest was recorded.
std::string recorded_image(const run::RunFiles &files)
{
    const auto meta = trace::TraceReader(files.trace()).meta();
    const auto digest = meta.find("image_digest");
    return digest == meta.end() ? "" : digest->second;
}

} // namespace

RecordResult record_run(const RecordRequest &request, const fs::path &cache,
                        const RecordProgress &progress)
{
    Recorder recorder(cache, progress);
    const run::NewRun run(request.run,
                          request.force ? run::Replace::any : run::Replace::unfinished_only);
    return record_inputs(run.files(), recorder.prepare(request.spec, request.stacks), request.spec,
                         cache, progress);
}

RecordResult record_inputs(const run::RunFiles &files, const run::Inputs &inputs,
                           const run::Spec &spec, const fs::path &cache,
                           const RecordProgress &progress)
{
    Recorder recorder(cache, progress);
    run::save_inputs(files, inputs);
    RecordResult result = recorder.record(
        inputs, files.trace(), [&](std::size_t device) { return files.final_pm(device); });
    const guest::Template source = recorder.template_of(inputs);
    save_results(files, inputs, result, source);
    for (const std::string &note : name_code(files, spec, source, cache).notes)
        progress.line(note);
    return result;
}

Reuse reuse_recording(const RecordRequest &request, const fs::path &cache,
                      const RecordProgress &progress)
{
    const run::RunFiles files = {request.run};
    std::error_code error;
    if (request.force || !fs::exists(files.summary(), error) || !fs::exists(files.trace(), error))
        return Reuse::no;
    const run::Inputs then = run::load_inputs(files);
    const run::Inputs now = Recorder(cache, progress).prepare(request.spec, request.stacks);
    if (!record_the_same(then, now))
        fail(
            ErrorKind::usage,
            "{} holds a recording of something else: the spec, a file that it names or the options "
            "have changed; --force replaces it",
            files.directory.string());
    const FileLock lock = run::lock_run(files);
    run::check_folders(files);
    trace::roll_back(files.trace()); // of a process that was killed while it gave names to code
    if (recorded_image(files) != images::ImageStore(cache).open(now.config.image).digest)
        fail(ErrorKind::usage,
             "{} was recorded with another guest image: a kernel, module or the agent in {} has "
             "changed; --force "
             "records it again",
             files.directory.string(), now.config.image);
    // Verdicts first: whenever this is cut off, those that are there go with the inputs.
    const bool judged_anew = then.test != now.test;
    if (judged_anew)
        run::remove_results(files.folder());
    save_inputs(files, now);
    return judged_anew ? Reuse::judged_anew : Reuse::as_it_is;
}

Recorded record_or_reuse(const RecordRequest &request, const fs::path &cache,
                         const RecordProgress &progress)
{
    const Reuse reuse = reuse_recording(request, cache, progress);
    if (reuse != Reuse::no)
        return {reuse, std::nullopt};
    return {reuse, record_run(request, cache, progress)};
}

std::string dry_run(const RecordRequest &request, const fs::path &cache,
                    const RecordProgress &progress)
{
    Recorder recorder(cache, progress);
    return recorder.command_line(recorder.prepare(request.spec, request.stacks));
}

void require_complete(const RecordResult &result)
{
    if (!result.complete())
        fail(ErrorKind::trace, "the recording is not complete: {} lines differ",
             result.differing_lines);
}

} // namespace fencepost::record
