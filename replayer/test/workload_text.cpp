// SPDX-License-Identifier: GPL-2.0-or-later
// See workload_text.h.
#include "replayer/test/workload_text.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"
#include "replayer/run/ops_parser.h"
#include "replayer/test/needed_parts.h"

namespace fencepost::test {

namespace {

// What a number may become, the smallest first.
constexpr std::uint64_t kSizes[] = {0, 1, 8, 64, 4096};

class Shortener {
public:
    Shortener(const Lines &lines, const OperationsIn &operations, const StillFails &still_fails)
        : lines_(lines), operations_(operations), still_fails_(still_fails)
    {
    }

    Shortened run()
    {
        best_ = lines_;
        const NeededParts needed =
            find_needed(lines_.size(), [&](std::size_t first, std::span<const std::size_t> others) {
                return fails(some(first, others));
            });
        if (needed.complete)
            for (std::size_t line = 0; line < best_.size() && !stopped_; ++line)
                make_smaller(line);
        return {best_, needed.complete && !stopped_};
    }

private:
    Lines some(std::size_t first, std::span<const std::size_t> others) const
    {
        Lines kept;
        for (std::size_t i = 0; i < lines_.size(); ++i)
            if (i < first || std::find(others.begin(), others.end(), i) != others.end())
                kept.push_back(lines_[i]);
        return kept;
    }

    std::optional<bool> fails(const Lines &lines)
    {
        if (stopped_)
            return std::nullopt;
        if (const auto known = said_.find(lines); known != said_.end())
            return known->second;
        std::optional<bool> said = false;
        if (operations_(lines) != 0)
            said = still_fails_(lines);
        stopped_ = !said;
        if (!said)
            return said;
        said_[lines] = *said;
        if (*said)
            best_ = lines;
        return said;
    }

    // A word of the line is a number, maybe with K or M, or LENGTH:SEED.
    void make_smaller(std::size_t line)
    {
        for (std::size_t at = best_[line].find(' '); at != std::string::npos && !stopped_;
             at = best_[line].find(' ', at + 1)) {
            const std::size_t end =
                std::min(best_[line].find_first_of(" :", at + 1), best_[line].size());
            const std::string word = best_[line].substr(at + 1, end - at - 1);
            const std::optional<std::uint64_t> number = number_in(word);
            for (const std::uint64_t size : kSizes) {
                if (!number || size >= *number)
                    break;
                Lines smaller = best_;
                smaller[line].replace(at + 1, word.size(), std::to_string(size));
                if (fails(smaller).value_or(true))
                    break;
            }
        }
    }

    static std::optional<std::uint64_t> number_in(const std::string &word)
    {
        std::uint64_t value = 0;
        const char *const end = word.data() + word.size();
        const auto parsed = std::from_chars(word.data(), end, value);
        // An octal number is a mode.
        if (parsed.ec != std::errc() || (word.size() > 1 && word[0] == '0'))
            return std::nullopt;
        const std::string_view unit(parsed.ptr, end);
        if (unit == "K")
            return value << 10;
        if (unit == "M")
            return value << 20;
        return unit.empty() ? std::optional(value) : std::nullopt;
    }

    const Lines &lines_;
    const OperationsIn &operations_;
    const StillFails &still_fails_;
    std::map<Lines, bool> said_;
    Lines best_;
    bool stopped_ = false;
};

} // namespace

Lines lines_of(const agent::OpsProgram &program)
{
    Lines lines;
    for (const agent::OpsPhase &phase : program.phases) {
        if (phase.threads.size() == 1) {
            for (const agent::Op &op : phase.threads[0].ops)
                lines.push_back(op.text);
            continue;
        }
        std::string together = "parallel"; // left out as one
        for (const agent::OpsThread &thread : phase.threads) {
            together += "\nthread";
            for (const agent::Op &op : thread.ops)
                together += "\n  " + op.text;
        }
        lines.push_back(together + "\nend");
    }
    return lines;
}

std::string text_of(const Lines &lines)
{
    std::string text;
    for (const std::string &line : lines)
        text += line + "\n";
    return text;
}

std::optional<agent::OpsProgram> program_of(const Lines &lines)
{
    try {
        return run::parse_ops({text_of(lines), "workload.ops"});
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::usage)
            throw;
        return std::nullopt;
    }
}

std::size_t operations_in(const agent::OpsProgram &program)
{
    std::size_t count = 0;
    for (const agent::OpsPhase &phase : program.phases)
        for (const agent::OpsThread &thread : phase.threads)
            count += static_cast<std::size_t>(
                std::count_if(thread.ops.begin(), thread.ops.end(),
                              [](const agent::Op &op) { return op.number != 0; }));
    return count;
}

Shortened shorten(const Lines &lines, const OperationsIn &operations, const StillFails &still_fails)
{
    return Shortener(lines, operations, still_fails).run();
}

} // namespace fencepost::test
