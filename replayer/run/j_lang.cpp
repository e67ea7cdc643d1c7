// SPDX-License-Identifier: GPL-2.0-or-later
// ACE's j-lang read as operations. A path is opened under its own name; operations on a path that
// is not open use the path where the system call has such a form, and open it for themselves else.
// Such steps that may change the tree are operations of their own: a crash may come between them.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "replayer/run/ops_parser.h"
#include "replayer/run/ops_words.h"

namespace fencepost::run {

namespace {

using agent::Op;
using agent::OpFailure;
using agent::OpKind;
using agent::OpsProgram;

constexpr std::uint64_t kFileLimit = std::numeric_limits<std::int64_t>::max();
constexpr const char *kAttribute = "user.fencepost";

class JLangParser {
public:
    explicit JLangParser(const SourceText &source) : source_(source) {}

    OpsProgram parse();

private:
    enum class Section { none, define, declare, setup, run };

    void section(const WordLine &line);
    void define(const WordLine &line);
    void statement(const WordLine &line);
    const std::string &path(const WordLine &line, std::size_t word);
    std::uint64_t number(const WordLine &line, std::size_t word, std::uint64_t limit = kFileLimit);
    const Word &word(const WordLine &line, std::size_t index);
    std::uint16_t slot(const WordLine &line, const std::string &path);
    // The slot of an open file; opens it for this operation if it is not, and closes it with
    // after().
    std::uint16_t opened(const WordLine &line, const std::string &path, std::uint64_t flags);
    void after(const WordLine &line);
    // `part`: what the operation of the line consists of, where that is more than one.
    Op &add(const WordLine &line, OpKind kind, const char *part = "");
    Op &add_unmarked(const WordLine &line, OpKind kind);
    // Bytes that no other operation writes.
    void data(Op &op, std::uint64_t length)
    {
        op.data.length = length;
        op.data.seed = ops_.size();
    }
    void make_mark(const WordLine &line);
    void number_operations();
    void write(const WordLine &line, std::uint64_t extra_flags);
    void mmap_write(const WordLine &line);

    OpsSource source_;
    Section section_ = Section::none;
    std::optional<std::size_t> mark_;            // its place in ops_
    std::size_t setup_size_ = 0;                 // operations of '# setup'
    std::map<std::string, std::string> paths_;   // by the name without slashes
    std::map<std::string, std::uint16_t> slots_; // by path: of its latest opening
    std::uint16_t slot_count_ = 0;
    std::set<std::string> open_;
    std::string opened_here_;
    bool uses_map_ = false;
    std::vector<Op> ops_;
};

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

void JLangParser::write(const WordLine &line, std::uint64_t extra_flags)
{
    const std::string &file = path(line, 1);
    const std::uint64_t offset = number(line, 2);
    const std::uint64_t length = number(line, 3, agent::kOpsDataLimit);
    const bool direct = extra_flags != 0;
    // O_DIRECT is asked for at the opening, so such a write has a descriptor of its own.
    const std::string name = direct ? file + " (direct)" : file;
    const std::uint16_t to = slot(line, name);
    const bool temporary = direct || !open_.contains(file);
    if (temporary) {
        Op &op = add(line, OpKind::open, " (open)");
        op.slot = to;
        op.path = file;
        op.numbers[0] = 2 | extra_flags | 0100; // O_RDWR | O_CREAT
        op.numbers[1] = 0777;
    }
    Op &op = add(line, OpKind::pwrite, temporary ? " (write)" : "");
    op.slot = to;
    op.numbers[0] = offset;
    data(op, length);
    if (temporary)
        add_unmarked(line, OpKind::close).slot = to;
}

void JLangParser::mmap_write(const WordLine &line)
{
    const std::string &file = path(line, 1);
    const std::uint64_t offset = number(line, 2);
    const std::uint64_t length = number(line, 3, agent::kOpsDataLimit);
    if (length == 0 || offset > (1ull << 40))
        source_.refuse(line.line, line.words[2].column, "this range cannot be mapped");
    const std::uint16_t from = opened(line, file, 2);
    const std::uint64_t page = offset & ~std::uint64_t{4095};
    uses_map_ = true;
    // The original tests make room first.
    Op &room = add(line, OpKind::fallocate, " (fallocate)");
    room.slot = from;
    room.numbers[1] = offset;
    room.numbers[2] = length;
    Op &map = add_unmarked(line, OpKind::map);
    map.slot2 = from;
    map.numbers[0] = page;
    map.numbers[1] = offset - page + length;
    Op &store = add(line, OpKind::store, " (store)");
    store.numbers[0] = offset - page;
    data(store, length);
    Op &sync = add(line, OpKind::msync, " (msync)");
    sync.numbers[0] = offset - page;
    sync.numbers[1] = length;
    add_unmarked(line, OpKind::unmap);
    after(line);
}

void JLangParser::statement(const WordLine &line)
{
    const std::string &name = line.words[0].text;
    auto on_path = [&](OpKind kind) { add(line, kind).path = path(line, 1); };
    auto on_two = [&](OpKind kind) {
        const std::string &from = path(line, 1);
        const std::string &to = path(line, 2);
        Op &op = add(line, kind);
        op.path = from;
        op.path2 = to;
    };
    auto on_file = [&](OpKind kind, std::uint64_t flags) {
        const std::uint16_t file = opened(line, path(line, 1), flags);
        add(line, kind).slot = file;
        after(line);
    };
    if (name == "open" || name == "opendir") {
        const std::string &file = path(line, 1);
        const bool directory = name == "opendir";
        const std::uint64_t flags =
            directory ? 0200000 : source_.open_flags(line, word(line, 2)); // O_DIRECTORY
        const std::uint64_t mode = line.words.size() > (directory ? 2u : 3u)
                                       ? source_.octal(line, line.words[directory ? 2 : 3])
                                       : 0777;
        // The tests of ACE forget the descriptor of an earlier opening, which stays open.
        if (open_.contains(file))
            slots_.erase(file);
        Op &op = add(line, OpKind::open);
        op.slot = slot(line, file);
        op.path = file;
        op.numbers[0] = flags;
        op.numbers[1] = mode;
        open_.insert(file);
    } else if (name == "close") {
        const std::string &file = path(line, 1);
        if (!open_.erase(file))
            source_.refuse(line.line, line.words[1].column, "'{}' is not open here",
                           line.words[1].text);
        add(line, OpKind::close).slot = slot(line, file);
    } else if (name == "mkdir") {
        const std::string &made = path(line, 1);
        const std::uint64_t mode =
            line.words.size() > 2 ? source_.octal(line, line.words[2]) : 0777;
        Op &op = add(line, OpKind::mkdir);
        op.path = made;
        op.numbers[0] = mode;
    } else if (name == "rmdir") {
        on_path(OpKind::rmdir);
    } else if (name == "unlink") {
        on_path(OpKind::unlink);
    } else if (name == "remove") {
        on_path(OpKind::remove);
    } else if (name == "rename") {
        on_two(OpKind::rename);
    } else if (name == "link") {
        on_two(OpKind::link);
    } else if (name == "symlink") {
        on_two(OpKind::symlink);
    } else if (name == "write") {
        write(line, 0);
    } else if (name == "dwrite") {
        write(line, 040000); // O_DIRECT
    } else if (name == "mmapwrite") {
        mmap_write(line);
    } else if (name == "falloc") {
        const std::uint64_t mode = source_.fallocate_mode(line, word(line, 2));
        const std::uint64_t offset = number(line, 3);
        const std::uint64_t length = number(line, 4);
        const std::uint16_t file = opened(line, path(line, 1), 2);
        Op &op = add(line, OpKind::fallocate);
        op.slot = file;
        op.numbers[0] = mode;
        op.numbers[1] = offset;
        op.numbers[2] = length;
        after(line);
    } else if (name == "truncate") {
        const std::uint64_t length = number(line, 2);
        on_path(OpKind::truncate);
        ops_.back().numbers[0] = length;
    } else if (name == "fsetxattr" || name == "removexattr") {
        on_path(name == "fsetxattr" ? OpKind::setxattr : OpKind::removexattr);
        ops_.back().path2 = kAttribute;
        ops_.back().data = {true, fmt::format("val{}", ops_.size()), 0, 0};
    } else if (name == "fsync") {
        on_file(OpKind::fsync, 0);
    } else if (name == "fdatasync") {
        on_file(OpKind::fdatasync, 0);
    } else if (name == "sync") {
        add(line, OpKind::sync);
    } else if (name == "none") {
        // No persistence call at this place.
    } else if (name == "mark") {
        make_mark(line);
    } else if (name == "checkpoint") {
        const std::uint64_t which = number(line, 1);
        add_unmarked(line, OpKind::checkpoint).numbers[0] = which;
    } else {
        source_.refuse(line.line, line.words[0].column, "there is no operation '{}' in j-lang",
                       name);
    }
}

} // namespace

OpsProgram parse_j_lang(const SourceText &source)
{
    return JLangParser(source).parse();
}

} // namespace fencepost::run
