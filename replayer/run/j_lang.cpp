// SPDX-License-Identifier: GPL-2.0-or-later
// ACE's j-lang read as operations. A path is opened under its own name; operations on a path that
// is not open use the path where the system call has such a form, and open it for themselves else.
// Such steps that may change the tree are operations of their own: a crash may come between them.
#include "replayer/run/j_lang_parser.h"

#include <algorithm>

namespace fencepost::run {

using agent::Op;
using agent::OpFailure;
using agent::OpKind;
using agent::OpsProgram;

OpsProgram JLangParser::parse()
{
    for (const WordLine &line : source_.lines(false)) {
        if (line.words[0].text.starts_with('#'))
            section(line);
        else if (section_ == Section::none)
            source_.refuse(line.line, 1, "a j-lang file begins with '# define'");
        else if (section_ == Section::define)
            define(line);
        else if (section_ == Section::setup || section_ == Section::run)
            statement(line);
        // '# declare' has C variables of the original test programs: nothing for us.
    }
    if (section_ != Section::run)
        source_.refuse(1, 1, "a j-lang file has a section '# run'");
    number_operations();
    OpsProgram program;
    program.file_slots = slot_count_;
    program.map_slots = uses_map_ ? 1 : 0;
    program.phases.push_back({{{std::move(ops_)}}});
    return program;
}

void JLangParser::make_mark(const WordLine &line)
{
    if (mark_)
        source_.refuse(line.line, line.words[0].column, "there is a 'mark' above");
    mark_ = ops_.size();
    add_unmarked(line, OpKind::mark).text = "mark";
}

// Without 'mark' all of '# run' is the test, and what is set up before it is not.
void JLangParser::number_operations()
{
    if (!mark_ && setup_size_ != 0) {
        Op mark;
        mark.kind = OpKind::mark;
        mark.marked = false;
        mark.text = "mark";
        ops_.insert(ops_.begin() + static_cast<std::ptrdiff_t>(setup_size_), mark);
        mark_ = setup_size_;
    }
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        Op &op = ops_[i];
        op.marked = op.marked && i >= mark_.value_or(0);
        op.number = op.marked ? ++count : 0;
    }
}

void JLangParser::section(const WordLine &line)
{
    std::string name = line.text.substr(1);
    name.erase(0, std::min(name.find_first_not_of(" \t"), name.size()));
    setup_size_ = ops_.size(); // as far as it goes, when '# run' comes
    if (name == "define")
        section_ = Section::define;
    else if (name == "declare")
        section_ = Section::declare;
    else if (name == "setup")
        section_ = Section::setup;
    else if (name == "run")
        section_ = Section::run;
    else
        source_.refuse(line.line, 1,
                       "the sections are '# define', '# declare', '# setup' and '# run'");
}

void JLangParser::define(const WordLine &line)
{
    for (const Word &word : line.words) {
        std::string flat;
        for (const char c : word.text)
            if (c != '/')
                flat += c;
        if (flat.empty() || word.text.front() == '/' || word.text.find("..") != std::string::npos)
            source_.refuse(line.line, word.column, "'{}' is not a relative path", word.text);
        const auto [known, added] = paths_.emplace(flat, word.text);
        if (!added && known->second != word.text)
            source_.refuse(line.line, word.column, "{} and {} are the same without their slashes",
                           word.text, known->second);
        if (paths_.size() > agent::kOpsSlotLimit)
            source_.refuse(line.line, word.column, "there are at most {} paths",
                           agent::kOpsSlotLimit);
    }
}

const Word &JLangParser::word(const WordLine &line, std::size_t index)
{
    if (index >= line.words.size())
        source_.refuse(line.line, line.end_column, "'{}' wants more words", line.words[0].text);
    return line.words[index];
}

const std::string &JLangParser::path(const WordLine &line, std::size_t index)
{
    const Word &name = word(line, index);
    std::string flat;
    for (const char c : name.text)
        if (c != '/')
            flat += c;
    const auto found = paths_.find(flat);
    if (found == paths_.end())
        source_.refuse(line.line, name.column, "the path '{}' is not among those of '# define'",
                       name.text);
    return found->second;
}

std::uint64_t JLangParser::number(const WordLine &line, std::size_t index, std::uint64_t limit)
{
    return source_.number(line, word(line, index), limit);
}

std::uint16_t JLangParser::slot(const WordLine &line, const std::string &path)
{
    const auto [found, added] = slots_.emplace(path, slot_count_);
    if (added && slot_count_++ == agent::kOpsSlotLimit)
        source_.refuse(line.line, 1, "there are at most {} files", agent::kOpsSlotLimit);
    return found->second;
}

Op &JLangParser::add_unmarked(const WordLine &line, OpKind kind)
{
    Op &op = ops_.emplace_back();
    op.kind = kind;
    op.line = line.line;
    op.marked = false;
    op.failure = OpFailure::by_arguments;
    op.text = line.text;
    return op;
}

Op &JLangParser::add(const WordLine &line, OpKind kind, const char *part)
{
    Op &op = add_unmarked(line, kind);
    op.text += part;
    op.marked = true;
    return op;
}

std::uint16_t JLangParser::opened(const WordLine &line, const std::string &path,
                                  std::uint64_t flags)
{
    const std::uint16_t file = slot(line, path);
    if (!open_.contains(path)) {
        Op &op = add_unmarked(line, OpKind::open);
        op.slot = file;
        op.path = path;
        op.numbers[0] = flags;
        op.numbers[1] = 0777;
        opened_here_ = path;
    }
    return file;
}

void JLangParser::after(const WordLine &line)
{
    if (opened_here_.empty())
        return;
    add_unmarked(line, OpKind::close).slot = slot(line, opened_here_);
    opened_here_.clear();
}

OpsProgram parse_j_lang(const SourceText &source)
{
    return JLangParser(source).parse();
}

} // namespace fencepost::run
