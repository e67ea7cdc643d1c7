// SPDX-License-Identifier: GPL-2.0-or-later
// The operations of j-lang; see j_lang_parser.h.
#include "replayer/run/j_lang_parser.h"

#include <fmt/core.h>

namespace fencepost::run {

using agent::Op;
using agent::OpKind;

namespace {

constexpr const char *kAttribute = "user.fencepost";

} // namespace

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

void JLangParser::open(const WordLine &line)
{
    const std::string &file = path(line, 1);
    const bool directory = line.words[0].text == "opendir";
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
}

void JLangParser::close(const WordLine &line)
{
    const std::string &file = path(line, 1);
    if (!open_.erase(file))
        source_.refuse(line.line, line.words[1].column, "'{}' is not open here",
                       line.words[1].text);
    add(line, OpKind::close).slot = slot(line, file);
}

void JLangParser::make_directory(const WordLine &line)
{
    const std::string &made = path(line, 1);
    const std::uint64_t mode = line.words.size() > 2 ? source_.octal(line, line.words[2]) : 0777;
    Op &op = add(line, OpKind::mkdir);
    op.path = made;
    op.numbers[0] = mode;
}

void JLangParser::fallocate(const WordLine &line)
{
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
}

void JLangParser::truncate(const WordLine &line)
{
    const std::uint64_t length = number(line, 2);
    add(line, OpKind::truncate).path = path(line, 1);
    ops_.back().numbers[0] = length;
}

void JLangParser::attribute(const WordLine &line)
{
    add(line, line.words[0].text == "fsetxattr" ? OpKind::setxattr : OpKind::removexattr).path =
        path(line, 1);
    ops_.back().path2 = kAttribute;
    ops_.back().data = {true, fmt::format("val{}", ops_.size()), 0, 0};
}

void JLangParser::checkpoint(const WordLine &line)
{
    const std::uint64_t which = number(line, 1);
    add_unmarked(line, OpKind::checkpoint).numbers[0] = which;
}

// Operations that consist of a path, two paths or an open file.
bool JLangParser::plain_statement(const WordLine &line)
{
    static const std::map<std::string, OpKind> kOnPath = {
        {"rmdir", OpKind::rmdir}, {"unlink", OpKind::unlink}, {"remove", OpKind::remove}};
    static const std::map<std::string, OpKind> kOnTwo = {
        {"rename", OpKind::rename}, {"link", OpKind::link}, {"symlink", OpKind::symlink}};
    static const std::map<std::string, OpKind> kOnFile = {{"fsync", OpKind::fsync},
                                                          {"fdatasync", OpKind::fdatasync}};
    const std::string &name = line.words[0].text;
    if (const auto on_path = kOnPath.find(name); on_path != kOnPath.end()) {
        const std::string &first = path(line, 1);
        add(line, on_path->second).path = first;
    } else if (const auto on_two = kOnTwo.find(name); on_two != kOnTwo.end()) {
        const std::string &from = path(line, 1);
        const std::string &to = path(line, 2);
        Op &op = add(line, on_two->second);
        op.path = from;
        op.path2 = to;
    } else if (const auto on_file = kOnFile.find(name); on_file != kOnFile.end()) {
        const std::uint16_t file = opened(line, path(line, 1), 0);
        add(line, on_file->second).slot = file;
        after(line);
    } else {
        return false;
    }
    return true;
}

void JLangParser::statement(const WordLine &line)
{
    static const std::map<std::string, void (JLangParser::*)(const WordLine &)> kStatements = {
        {"open", &JLangParser::open},
        {"opendir", &JLangParser::open},
        {"close", &JLangParser::close},
        {"mkdir", &JLangParser::make_directory},
        {"mmapwrite", &JLangParser::mmap_write},
        {"falloc", &JLangParser::fallocate},
        {"truncate", &JLangParser::truncate},
        {"fsetxattr", &JLangParser::attribute},
        {"removexattr", &JLangParser::attribute},
        {"mark", &JLangParser::make_mark},
        {"checkpoint", &JLangParser::checkpoint},
    };
    const std::string &name = line.words[0].text;
    if (const auto found = kStatements.find(name); found != kStatements.end())
        (this->*found->second)(line);
    else if (name == "write")
        write(line, 0);
    else if (name == "dwrite")
        write(line, 040000); // O_DIRECT
    else if (name == "sync")
        add(line, OpKind::sync);
    else if (name != "none" && !plain_statement(line)) // `none`: no persistence call at this place
        source_.refuse(line.line, line.words[0].column, "there is no operation '{}' in j-lang",
                       name);
}

} // namespace fencepost::run
