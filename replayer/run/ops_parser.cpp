// SPDX-License-Identifier: GPL-2.0-or-later
// See ops_parser.h. Each operation is a row of kForms: its arguments by kind, in order.
#include "replayer/run/ops_parser.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "replayer/run/ops_words.h"

namespace fencepost::run {

namespace {

using agent::Op;
using agent::OpFailure;
using agent::OpKind;
using agent::OpsProgram;

constexpr std::uint64_t kFileLimit = std::numeric_limits<std::int64_t>::max();

struct Form {
    std::string_view name;
    OpKind kind;
    // Arguments by name; one in brackets may be left out.
    std::vector<std::string_view> arguments;
};

const std::vector<Form> kForms = {
    {"open", OpKind::open, {"NEW_FILE", "PATH", "OPEN_FLAGS", "[MODE]"}},
    {"close", OpKind::close, {"FILE"}},
    {"mkdir", OpKind::mkdir, {"PATH", "[MODE]"}},
    {"rmdir", OpKind::rmdir, {"PATH"}},
    {"unlink", OpKind::unlink, {"PATH"}},
    {"remove", OpKind::remove, {"PATH"}},
    {"rename", OpKind::rename, {"PATH", "PATH2", "[RENAME_FLAGS]"}},
    {"link", OpKind::link, {"PATH", "PATH2"}},
    {"symlink", OpKind::symlink, {"TARGET", "PATH2"}},
    {"truncate", OpKind::truncate, {"PATH", "LENGTH"}},
    {"ftruncate", OpKind::ftruncate, {"FILE", "LENGTH"}},
    {"write", OpKind::write, {"FILE", "DATA"}},
    {"pwrite", OpKind::pwrite, {"FILE", "OFFSET", "DATA"}},
    {"read", OpKind::read, {"FILE", "COUNT"}},
    {"pread", OpKind::pread, {"FILE", "OFFSET", "COUNT"}},
    {"fallocate", OpKind::fallocate, {"FILE", "FALLOCATE_MODE", "OFFSET", "LENGTH"}},
    {"fsync", OpKind::fsync, {"FILE"}},
    {"fdatasync", OpKind::fdatasync, {"FILE"}},
    {"syncfs", OpKind::syncfs, {"FILE"}},
    {"sync", OpKind::sync, {}},
    {"chmod", OpKind::chmod, {"PATH", "MODE"}},
    {"setxattr", OpKind::setxattr, {"PATH", "NAME", "DATA"}},
    {"removexattr", OpKind::removexattr, {"PATH", "NAME"}},
    {"map", OpKind::map, {"NEW_MAP", "FILE", "OFFSET", "LENGTH"}},
    {"store", OpKind::store, {"MAP", "OFFSET", "DATA"}},
    {"flush", OpKind::flush, {"MAP", "OFFSET", "LENGTH"}},
    {"fence", OpKind::fence, {}},
    {"msync", OpKind::msync, {"MAP", "OFFSET", "LENGTH"}},
    {"unmap", OpKind::unmap, {"MAP"}},
    {"checkpoint", OpKind::checkpoint, {"NUMBER"}},
    {"mark", OpKind::mark, {}},
};

std::string form_text(const Form &form)
{
    std::string text(form.name);
    for (const std::string_view argument : form.arguments)
        text.append(" ").append(argument);
    return text;
}

// Names of files or maps, each with a slot.
class Names {
public:
    std::optional<std::uint16_t> find(const std::string &name) const
    {
        const auto found = slots_.find(name);
        return found == slots_.end() ? std::nullopt : std::optional(found->second);
    }
    // Nothing: too many.
    std::optional<std::uint16_t> add(const std::string &name)
    {
        if (const auto known = find(name))
            return known;
        if (slots_.size() == agent::kOpsSlotLimit)
            return std::nullopt;
        const auto slot = static_cast<std::uint16_t>(slots_.size());
        slots_.emplace(name, slot);
        return slot;
    }
    std::uint16_t size() const { return static_cast<std::uint16_t>(slots_.size()); }

private:
    std::map<std::string, std::uint16_t> slots_;
};

class OpsParser {
public:
    explicit OpsParser(const SourceText &source) : source_(source) {}

    OpsProgram parse()
    {
        for (const WordLine &line : source_.lines(true))
            statement(line);
        if (parallel_line_ != 0)
            source_.refuse(parallel_line_, 1, "this 'parallel' has no 'end'");
        program_.file_slots = files_.size();
        program_.map_slots = maps_.size();
        return std::move(program_);
    }

private:
    void statement(const WordLine &line);
    void parallel_word(const WordLine &line);
    void argument(const WordLine &line, std::string_view kind, const Word &word, Op &op,
                  unsigned &numbers);
    std::uint16_t new_slot(const WordLine &line, const Word &word, Names &names, const char *what);
    std::uint16_t known_slot(const WordLine &line, const Word &word, const Names &names,
                             const char *what);
    std::string path(const WordLine &line, const Word &word, const char *what);
    std::vector<Op> &ops_here();
    void begin_test(const WordLine &line);

    OpsSource source_;
    OpsProgram program_;
    Names files_;
    Names maps_;
    std::uint32_t count_ = 0;
    unsigned parallel_line_ = 0; // not 0: inside
    bool marked_ = false;
    bool seeded_ = false; // the operation being read says which bytes it writes
    std::uint64_t writes_ = 0;
};

void OpsParser::parallel_word(const WordLine &line)
{
    const std::string &word = line.words.front().text;
    if (line.words.size() > 1)
        source_.refuse(line.line, line.words[1].column, "'{}' stands alone on its line", word);
    if (word == "parallel") {
        if (parallel_line_ != 0)
            source_.refuse(line.line, 1, "'parallel' inside of 'parallel'");
        parallel_line_ = line.line;
        program_.phases.emplace_back();
        return;
    }
    if (parallel_line_ == 0)
        source_.refuse(line.line, line.words[0].column, "'{}' outside of 'parallel'", word);
    if (word == "thread") {
        if (program_.phases.back().threads.size() == agent::kOpsThreadLimit)
            source_.refuse(line.line, line.words[0].column, "there are at most {} threads",
                           agent::kOpsThreadLimit);
        program_.phases.back().threads.emplace_back();
        return;
    }
    if (program_.phases.back().threads.empty())
        source_.refuse(line.line, line.words[0].column, "'parallel' without a 'thread'");
    parallel_line_ = 0;
    program_.phases.emplace_back();
    program_.phases.back().threads.emplace_back();
}

std::vector<Op> &OpsParser::ops_here()
{
    if (program_.phases.empty()) {
        program_.phases.emplace_back();
        program_.phases.back().threads.emplace_back();
    }
    return program_.phases.back().threads.back().ops;
}

void OpsParser::statement(const WordLine &line)
{
    std::size_t at = 0;
    const std::string &first = line.words[0].text;
    if (first == "parallel" || first == "thread" || first == "end") {
        parallel_word(line);
        return;
    }
    Op op;
    if (first == "try")
        op.failure = OpFailure::is_result;
    at += first == "try";
    if (at == line.words.size())
        source_.refuse(line.line, line.end_column, "an operation is missing behind 'try'");
    const Word &name = line.words[at++];
    const auto form = std::find_if(kForms.begin(), kForms.end(),
                                   [&](const Form &one) { return one.name == name.text; });
    if (form == kForms.end() || name.quoted)
        source_.refuse(line.line, name.column, "there is no operation '{}'", name.text);
    op.kind = form->kind;
    op.line = line.line;
    op.text = line.text;
    if (op.kind == OpKind::open)
        op.numbers[1] = 0644;
    if (op.kind == OpKind::mkdir)
        op.numbers[0] = 0755;
    seeded_ = false;
    unsigned numbers = 0;
    for (const std::string_view kind : form->arguments) {
        const bool optional = kind.starts_with('[');
        if (at == line.words.size()) {
            if (optional)
                break;
            source_.refuse(line.line, line.end_column, "{} is missing: {}", kind, form_text(*form));
        }
        argument(line, optional ? kind.substr(1, kind.size() - 2) : kind, line.words[at++], op,
                 numbers);
    }
    if (at < line.words.size())
        source_.refuse(line.line, line.words[at].column, "this is too much: {}", form_text(*form));
    if (parallel_line_ != 0 && program_.phases.back().threads.empty())
        source_.refuse(line.line, line.words[0].column,
                       "'thread' comes first inside of 'parallel'");
    if (op.kind == OpKind::mark)
        begin_test(line);
    else if (op.kind != OpKind::checkpoint)
        op.number = ++count_;
    if (op.data.length != 0 && !seeded_)
        op.data.seed = ++writes_;
    ops_here().push_back(std::move(op));
}

// What came before has no markers; operations are counted from here.
void OpsParser::begin_test(const WordLine &line)
{
    if (parallel_line_ != 0)
        source_.refuse(line.line, line.words[0].column, "'mark' inside of 'parallel'");
    if (marked_)
        source_.refuse(line.line, line.words[0].column, "there is a 'mark' above");
    marked_ = true;
    count_ = 0;
    for (agent::OpsPhase &phase : program_.phases)
        for (agent::OpsThread &thread : phase.threads)
            for (Op &op : thread.ops) {
                op.marked = false;
                op.number = 0;
            }
}

std::uint16_t OpsParser::new_slot(const WordLine &line, const Word &word, Names &names,
                                  const char *what)
{
    if (word.text.empty() || word.quoted)
        source_.refuse(line.line, word.column, "the name of a {} is a word without quotes", what);
    const auto slot = names.add(word.text);
    if (!slot)
        source_.refuse(line.line, word.column, "there are at most {} {}s", agent::kOpsSlotLimit,
                       what);
    return *slot;
}

std::uint16_t OpsParser::known_slot(const WordLine &line, const Word &word, const Names &names,
                                    const char *what)
{
    const auto slot = names.find(word.text);
    if (!slot || word.quoted)
        source_.refuse(line.line, word.column, "there is no {} '{}' above", what, word.text);
    return *slot;
}

std::string OpsParser::path(const WordLine &line, const Word &word, const char *what)
{
    if (word.text.empty() || word.text.find('\0') != std::string::npos)
        source_.refuse(line.line, word.column, "{} is empty or holds a NUL character", what);
    return word.text;
}

void OpsParser::argument(const WordLine &line, std::string_view kind, const Word &word, Op &op,
                         unsigned &numbers)
{
    auto number = [&](std::uint64_t value) { op.numbers[numbers++] = value; };
    if (kind == "NEW_FILE")
        op.slot = new_slot(line, word, files_, "file");
    else if (kind == "NEW_MAP")
        op.slot = new_slot(line, word, maps_, "map");
    else if (kind == "MAP")
        op.slot = known_slot(line, word, maps_, "map");
    else if (kind == "FILE" && op.kind == OpKind::map)
        op.slot2 = known_slot(line, word, files_, "file");
    else if (kind == "FILE")
        op.slot = known_slot(line, word, files_, "file");
    else if (kind == "PATH" || kind == "TARGET")
        op.path = path(line, word, "a path");
    else if (kind == "PATH2")
        op.path2 = path(line, word, "a path");
    else if (kind == "NAME")
        op.path2 = path(line, word, "a name");
    else if (kind == "OPEN_FLAGS")
        number(source_.open_flags(line, word));
    else if (kind == "RENAME_FLAGS")
        number(source_.rename_flags(line, word));
    else if (kind == "FALLOCATE_MODE")
        number(source_.fallocate_mode(line, word));
    else if (kind == "MODE")
        number(source_.octal(line, word));
    else if (kind == "COUNT")
        number(source_.number(line, word, agent::kOpsDataLimit));
    else if (kind == "NUMBER" || kind == "OFFSET" || kind == "LENGTH")
        number(source_.number(line, word, kFileLimit));
    else if (kind == "DATA" && word.quoted) {
        op.data.literal = true;
        op.data.text = word.text;
    } else if (kind == "DATA") {
        const std::size_t colon = std::min(word.text.find(':'), word.text.size());
        op.data.length =
            source_.number(line, {word.text.substr(0, colon), word.column}, agent::kOpsDataLimit);
        seeded_ = colon < word.text.size();
        if (seeded_)
            op.data.seed = source_.number(
                line, {word.text.substr(colon + 1), word.column + static_cast<unsigned>(colon) + 1},
                UINT32_MAX);
    } else {
        CHECK(false, "a kind of argument that is not read");
    }
}

} // namespace

OpsProgram parse_ops(const SourceText &source)
{
    return OpsParser(source).parse();
}

std::vector<std::string> ops_forms()
{
    std::vector<std::string> result;
    for (const Form &form : kForms)
        result.push_back(form_text(form));
    return result;
}

} // namespace fencepost::run
