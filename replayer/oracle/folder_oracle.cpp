// SPDX-License-Identifier: GPL-2.0-or-later
// See folder_oracle.h.
#include "replayer/oracle/folder_oracle.h"

#include <algorithm>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/json.h"
#include "replayer/oracle/log_watch.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

constexpr const char *kImage = "/image";
constexpr const char *kScratch = "/scratch";
constexpr const char *kOracle = "/oracle";
constexpr std::size_t kSummaryLimit = 300;

// A program that passes an image without having looked at it says so.
std::string not_tried_in(const std::string &output)
{
    const auto document = json_or_discarded(output);
    const auto words = document.is_object() ? document.find("not_tried") : document.end();
    return words != document.end() && words->is_string()
               ? words->get<std::string>().substr(0, kSummaryLimit)
               : std::string();
}

// What the program prints is evidence as far as it is what README.md says, and text where it is
// not.
void read_evidence(const CommandResult &result, Evidence &evidence)
{
    const auto document = json_or_discarded(result.output);
    const auto field = [&](const char *name) {
        return document.is_object() ? document.value(name, nlohmann::json()) : nlohmann::json();
    };
    const nlohmann::json summary = field("summary");
    const nlohmann::json details = field("details");
    if (summary.is_string())
        evidence.summary = summary;
    evidence.details = Details(details.is_object() ? details : nlohmann::json::object());
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
    evidence.title = evidence.summary.substr(0, kSummaryLimit);
    evidence.summary = without_numbers(evidence.title);
}

} // namespace

bool FolderOracle::look(Phase phase, const PmPart &image, const Question &question,
                        Judgement &judgement) const
{
    if (phase == Phase::before ? !folder_.before : !folder_.after)
        return true;
    ProgramAnswer answer = ask_program(folder_, phase, image, scratch_.path());
    if (answer.evidence)
        object(question, std::move(*answer.evidence), judgement);
    if (answer.not_tried.empty())
        return true;
    judgement.not_tried.push_back(fmt::format("{}: {}", name(), answer.not_tried));
    return false;
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

ProgramAnswer ask_program(const OracleFolder &folder, Phase phase, const PmPart &image,
                          const fs::path &scratch)
{
    const TemporaryDirectory directory(scratch, "oracle-");
    const bool copied = phase == Phase::before || folder.copy;
    const fs::path work = directory.path() / "scratch";
    fs::create_directory(work);
    fs::path file = image.file;
    if (copied) {
        file = directory.path() / "image";
        copy_part(image, file);
    }
    const CommandResult result =
        run_sandboxed({fmt::format("{}/{}", kOracle, folder.program.filename().string()),
                       phase == Phase::before ? "before" : "after", kImage,
                       fmt::format("{}", copied ? 0 : image.offset), kScratch},
                      {{folder.directory, kOracle}, {file, kImage, copied}, {work, kScratch, true}},
                      folder.limits);
    if (result.success())
        return {.not_tried = not_tried_in(result.output)};
    Evidence evidence;
    evidence.oracle = folder.name;
    read_evidence(result, evidence);
    evidence.details["phase"] = phase == Phase::before ? "before" : "after";
    if (result.timed_out) {
        // A checker that does not end on this image: the image may well be why, but nobody can say.
        evidence.verdict = Verdict::infra_error;
        evidence.summary = fmt::format(
            "the oracle {} did not end within {} s (time_limit in its oracle.toml)", folder.name,
            std::chrono::duration_cast<std::chrono::seconds>(folder.limits.time).count());
    } else if (!result.end.by_signal && result.end.code == 1) {
        evidence.verdict = Verdict::inconsistent;
    } else if (!result.end.by_signal && result.end.code == 2) {
        evidence.verdict = Verdict::recovery_failed;
    } else {
        evidence.verdict = Verdict::infra_error;
        evidence.summary =
            fmt::format("the oracle {} ended with {}, which says nothing (0, 1 and 2 do): {}",
                        folder.name, result.end.describe(), evidence.summary);
        evidence.details["end"] = result.end.describe();
    }
    if (evidence.verdict == Verdict::infra_error)
        evidence.title.clear();
    return {.evidence = std::move(evidence)};
}

} // namespace fencepost::oracle
