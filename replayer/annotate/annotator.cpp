// SPDX-License-Identifier: GPL-2.0-or-later
// See annotator.h.
#include "replayer/annotate/annotator.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "base/terminal_text.h"

namespace fencepost::annotate {

namespace fs = std::filesystem;

namespace {

constexpr const char *kAnnotator = "/annotator";
constexpr const char *kImage = "/image";
constexpr const char *kPlaces = "/places";
constexpr const char *kScratch = "/scratch";
constexpr std::size_t kMostText = 200;  // of one place
constexpr std::size_t kMostWords = 200; // of a failure
constexpr std::chrono::seconds kTimeLimit(10);

fs::path shipped()
{
    return source_folder("annotators");
}

AnnotatorFolder read_folder(const fs::path &directory, const std::string &name)
{
    AnnotatorFolder folder;
    oracle::read_program_folder({.kind = "annotator", .time_limit = kTimeLimit}, directory, name,
                                folder);
    return folder;
}

// Safe to print, and not too long.
std::string printable(std::string_view text, std::size_t most)
{
    return terminal_text(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

PlaceWords words_in(std::string_view line)
{
    const bool nobodys = line.starts_with('-');
    if (nobodys)
        line.remove_prefix(1);
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    return {printable(line.substr(start), kMostText), nobodys};
}

AnnotatorAnswer failed(const AnnotatorFolder &folder, const std::string &why, bool hopeless)
{
    return {.failure = fmt::format("the annotator {} {}", folder.name, why), .hopeless = hopeless};
}

// A line for each place, or it is not what README.md says.
AnnotatorAnswer read_lines(const AnnotatorFolder &folder, const CommandResult &result,
                           std::size_t places)
{
    AnnotatorAnswer answer;
    std::string_view rest = result.output;
    while (!rest.empty() && answer.places.size() < places) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        answer.places.push_back(words_in(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (answer.places.size() == places && rest.empty())
        return answer;
    return failed(folder,
                  fmt::format("printed {} than a line for each of the {} places",
                              rest.empty() ? "less" : "more", places),
                  false);
}

AnnotatorAnswer read_answer(const AnnotatorFolder &folder, const CommandResult &result,
                            std::size_t places)
{
    if (result.timed_out)
        return failed(
            folder,
            fmt::format(
                "did not end within {} s (time_limit in its annotator.toml)",
                std::chrono::duration_cast<std::chrono::seconds>(folder.limits.time).count()),
            true);
    if (!result.end.success()) {
        const std::string words = printable(last_line(result.errors), kMostWords);
        return failed(folder,
                      fmt::format("ended with {}{}{}", result.end.describe(),
                                  words.empty() ? "" : ": ", words),
                      false);
    }
    return read_lines(folder, result, places);
}

} // namespace

AnnotatorFolder find_annotator(const std::string &name)
{
    if (name.find('/') != std::string::npos) {
        AnnotatorFolder own = read_folder(fs::path(name).lexically_normal(), name);
        own.users = true;
        return own;
    }
    std::string names;
    for (const AnnotatorFolder &each : shipped_annotators()) {
        if (each.name == name)
            return each;
        names += (names.empty() ? "" : ", ") + each.name;
    }
    fail(ErrorKind::usage,
         "there is no annotator '{}'; there are {}, and your own by the path of their folder", name,
         names);
}

std::optional<AnnotatorFolder> annotator_for(const std::string &file_system)
{
    for (AnnotatorFolder &each : shipped_annotators())
        if (!each.file_systems.empty() && each.is_for(file_system))
            return std::move(each);
    return std::nullopt;
}

std::vector<AnnotatorFolder> shipped_annotators()
{
    std::vector<AnnotatorFolder> folders;
    for (const fs::directory_entry &entry : fs::directory_iterator(shipped()))
        if (fs::exists(entry.path() / "annotator.toml"))
            folders.push_back(read_folder(entry.path(), entry.path().filename()));
    std::sort(folders.begin(), folders.end(),
              [](const AnnotatorFolder &a, const AnnotatorFolder &b) { return a.name < b.name; });
    return folders;
}

AnnotatorAnswer ask_annotator(const AnnotatorFolder &folder, const fs::path &image,
                              const std::vector<std::uint64_t> &offsets, const fs::path &scratch)
{
    if (const auto missing = folder.missing_need())
        return failed(folder, fmt::format("needs {}, which is not installed", *missing), true);
    try {
        const TemporaryDirectory directory(scratch, "annotator-");
        const fs::path work = directory.path() / "scratch";
        const fs::path places = directory.path() / "places";
        fs::create_directory(work);
        std::string text;
        for (const std::uint64_t offset : offsets)
            text += fmt::format("{}\n", offset);
        write_file(places, text);
        const CommandResult result = oracle::run_sandboxed(
            {fmt::format("{}/{}", kAnnotator, folder.program.filename().string()), kImage, kPlaces,
             kScratch},
            {{folder.directory, kAnnotator},
             {image, kImage, true},
             {places, kPlaces},
             {work, kScratch, true}},
            folder.limits);
        return read_answer(folder, result, offsets.size());
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::io)
            throw;
        return failed(folder, fmt::format("cannot be asked: {}", error.what()), true);
    }
}

} // namespace fencepost::annotate
