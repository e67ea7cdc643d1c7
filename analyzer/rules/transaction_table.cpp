// SPDX-License-Identifier: GPL-2.0-or-later
// See transaction_table.h.
#include "analyzer/rules/transaction_table.h"

#include <charconv>

#include "analyzer/rules/transaction_tables.h"
#include "trace/event.h"

namespace fencepost::rules {

namespace {

TransactionTable::Entry parse_entry(const TextLine &line)
{
    TransactionTable::Entry entry;
    for (std::size_t i = 1; i < line.words.size(); ++i) {
        const auto [key, value] = split_assignment(line.words[i]);
        if (key == "tag") {
            const std::size_t slash = value.find('/');
            if (slash == std::string::npos)
                line.refuse("tag is MASK/VALUE");
            entry.tag_mask = number_in(line, value.substr(0, slash));
            entry.tag = number_in(line, value.substr(slash + 1));
        } else if (key == "offset" || key == "size") {
            const std::uint64_t at = number_in(line, value);
            if (at % trace::kUnitBytes != 0 || at >= trace::kLineBytes)
                line.refuse("{} is a multiple of 8 below 64: where the word stands in the entry's "
                            "first line",
                            key);
            (key == "offset" ? entry.offset_at : entry.size_at) = static_cast<unsigned>(at);
        } else if (key == "every") {
            const std::uint64_t every = number_in(line, value);
            if (every != 8 && every != 16 && every != 32 && every != 64)
                line.refuse("every is 8, 16, 32 or 64: entries begin at multiples of it");
            entry.every = static_cast<unsigned>(every);
        } else if (key == "bytes" || key == "unit") {
            const std::uint64_t number = number_in(line, value);
            if (number == 0 || number > 1 << 20)
                line.refuse("{} is a number of bytes, not {}", key, value);
            (key == "bytes" ? entry.bytes : entry.unit) = number;
        } else {
            line.refuse("an entry has tag=MASK/VALUE, every=BYTES, offset=BYTES, unit=BYTES, and "
                        "size=BYTES or bytes=NUMBER, not '{}'",
                        line.words[i]);
        }
    }
    if (entry.tag_mask == 0 && entry.bytes == 0)
        line.refuse("an entry needs tag=MASK/VALUE with a mask that is not 0, else every line "
                    "would be one; or bytes=NUMBER, where all entries save as many bytes");
    if (entry.offset_at >= entry.every || (entry.bytes == 0 && entry.size_at >= entry.every))
        line.refuse("an entry of {} bytes has no word behind them", entry.every);
    return entry;
}

} // namespace

std::uint64_t number_in(const TextLine &line, const std::string &text)
{
    const bool hex = text.starts_with("0x");
    std::uint64_t value = 0;
    const char *first = text.data() + (hex ? 2 : 0);
    const char *last = text.data() + text.size();
    const auto parsed = std::from_chars(first, last, value, hex ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != last || first == last)
        line.refuse("'{}' is not a number", text);
    return value;
}

std::vector<TransactionTable> parse_transaction_tables(const std::vector<TextLine> &lines)
{
    std::vector<TransactionTable> tables;
    const auto need_commit = [&] {
        if (!tables.empty() && tables.back().commit.empty())
            fail(ErrorKind::usage, "{}: transaction {} has no commit: it would never end",
                 tables.back().place, tables.back().name);
    };
    for (const TextLine &line : lines) {
        const std::string &keyword = line.words[0];
        const std::vector<std::string> rest(line.words.begin() + 1, line.words.end());
        if (rest.empty())
            line.refuse("'{}' says nothing", keyword);
        if (keyword == "transaction") {
            need_commit();
            if (rest.size() != 1)
                line.refuse("a transaction has one name");
            tables.push_back({.name = rest[0], .place = line.place});
            continue;
        }
        if (tables.empty())
            line.refuse("'transaction NAME' comes first");
        TransactionTable &table = tables.back();
        const auto add_to = [&](std::vector<std::string> &globs) {
            globs.insert(globs.end(), rest.begin(), rest.end());
        };
        if (keyword == "begin")
            add_to(table.begin);
        else if (keyword == "log")
            add_to(table.log);
        else if (keyword == "commit")
            add_to(table.commit);
        else if (keyword == "abort")
            add_to(table.abort);
        else if (keyword == "alloc")
            add_to(table.alloc);
        else if (keyword == "free")
            add_to(table.free);
        else if (keyword == "module")
            add_to(table.modules);
        else if (keyword == "covers" && rest == std::vector<std::string>{"flushed-at-commit"})
            table.flushed_at_commit = true;
        else if (keyword == "covers")
            line.refuse("covers is 'flushed-at-commit'");
        else if (keyword == "entry")
            table.entry = parse_entry(line);
        else
            line.refuse("'{}' is no word of a transaction table; there are transaction, module, "
                        "begin, log, commit, abort, "
                        "alloc, free, covers and entry",
                        keyword);
    }
    need_commit();
    return tables;
}

std::vector<TransactionTable> built_in_transaction_tables()
{
    std::vector<TransactionTable> tables =
        parse_transaction_tables(split_lines(kLibpmemobjTable, "libpmemobj"));
    for (TransactionTable &table : parse_transaction_tables(split_lines(kJbd2Table, "jbd2")))
        tables.push_back(std::move(table));
    return tables;
}

} // namespace fencepost::rules
