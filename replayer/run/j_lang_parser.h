// SPDX-License-Identifier: GPL-2.0-or-later
// The parser of ACE's j-lang: j_lang.cpp has its sections and paths, j_lang_statements.cpp its
// operations.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/run/ops_parser.h"
#include "replayer/run/ops_words.h"

namespace fencepost::run {

class JLangParser {
public:
    explicit JLangParser(const SourceText &source) : source_(source) {}

    agent::OpsProgram parse();

private:
    enum class Section { none, define, declare, setup, run };

    void section(const WordLine &line);
    void define(const WordLine &line);
    void statement(const WordLine &line);
    const std::string &path(const WordLine &line, std::size_t word);
    std::uint64_t number(const WordLine &line, std::size_t word,
                         std::uint64_t limit = std::numeric_limits<std::int64_t>::max());
    const Word &word(const WordLine &line, std::size_t index);
    std::uint16_t slot(const WordLine &line, const std::string &path);
    // The slot of an open file; opens it for this operation if it is not, and closes it with
    // after().
    std::uint16_t opened(const WordLine &line, const std::string &path, std::uint64_t flags);
    void after(const WordLine &line);
    // `part`: what the operation of the line consists of, where that is more than one.
    agent::Op &add(const WordLine &line, agent::OpKind kind, const char *part = "");
    agent::Op &add_unmarked(const WordLine &line, agent::OpKind kind);
    // Bytes that no other operation writes.
    void data(agent::Op &op, std::uint64_t length)
    {
        op.data.length = length;
        op.data.seed = ops_.size();
    }
    void make_mark(const WordLine &line);
    void number_operations();
    bool plain_statement(const WordLine &line);
    void open(const WordLine &line);
    void close(const WordLine &line);
    void make_directory(const WordLine &line);
    void write(const WordLine &line, std::uint64_t extra_flags);
    void mmap_write(const WordLine &line);
    void fallocate(const WordLine &line);
    void truncate(const WordLine &line);
    void attribute(const WordLine &line);
    void checkpoint(const WordLine &line);

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
    std::vector<agent::Op> ops_;
};

} // namespace fencepost::run
