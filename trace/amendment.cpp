// SPDX-License-Identifier: GPL-2.0-or-later
// See amendment.h.
#include "trace/amendment.h"

#include "trace/file_check.h"

namespace fencepost::trace {

TraceAmendment::TraceAmendment(const std::filesystem::path &path)
    : database_(open_trace(path, OpenFor::writing)),
      add_symbol_(database_.get(), "INSERT OR REPLACE INTO symbol VALUES (?1,?2,?3,?4,?5)"),
      locate_site_(
          database_.get(),
          "UPDATE site SET symbol = nullif(?2, 0), source_file = nullif(?3, ''),"
          " source_line = nullif(?4, 0), module = coalesce(nullif(?5, ''), module) WHERE id = ?1"),
      locate_frame_(
          database_.get(),
          "UPDATE stack_frame SET symbol = nullif(?2, 0), source_file = nullif(?3, ''),"
          " source_line = nullif(?4, 0), module = coalesce(nullif(?5, ''), module) WHERE id = ?1")
{
    database_.execute("BEGIN IMMEDIATE");
}

void TraceAmendment::put_meta(std::string_view key, std::string_view value)
{
    Statement(database_.get(), "INSERT OR REPLACE INTO meta VALUES (?1, ?2)")
        .bind(1, key)
        .bind(2, value)
        .run();
}

void TraceAmendment::remove_symbols()
{
    for (const char *table : {"site", "stack_frame"})
        database_.execute(std::string("UPDATE ") + table +
                          " SET symbol = NULL, source_file = NULL, source_line = NULL");
    database_.execute("DELETE FROM symbol");
}

void TraceAmendment::put_symbol(const Symbol &symbol)
{
    add_symbol_.bind(1, std::uint64_t{symbol.id})
        .bind(2, std::string_view(symbol.name))
        .bind(3, std::string_view(symbol.module))
        .bind(4, symbol.address)
        .bind(5, symbol.size)
        .run();
}

void TraceAmendment::locate(Statement &statement, std::uint32_t id, const CodeLocation &location)
{
    statement.bind(1, std::uint64_t{id})
        .bind(2, std::uint64_t{location.symbol})
        .bind(3, std::string_view(location.source_file))
        .bind(4, std::uint64_t{location.source_line})
        .bind(5, std::string_view(location.module))
        .run();
}

void TraceAmendment::locate_site(SiteId site, const CodeLocation &location)
{
    locate(locate_site_, site, location);
}

void TraceAmendment::locate_stack_frame(std::uint32_t frame, const CodeLocation &location)
{
    locate(locate_frame_, frame, location);
}

void TraceAmendment::put_inlined_calls(const InlinedCalls &calls)
{
    if (!has_inlined_calls(database_.get()))
        return;
    database_.execute("DELETE FROM inlined_call");
    Statement add(database_.get(), "INSERT INTO inlined_call VALUES (?1,?2,?3,?4,nullif(?5, ''),"
                                   " nullif(?6, 0))");
    for (const auto &[code, chain] : calls)
        for (std::size_t depth = 0; depth < chain.size(); ++depth)
            add.bind(1, code.first)
                .bind(2, code.second)
                .bind(3, std::uint64_t{depth})
                .bind(4, std::string_view(chain[depth].function))
                .bind(5, std::string_view(chain[depth].source_file))
                .bind(6, std::uint64_t{chain[depth].source_line})
                .run();
}

void TraceAmendment::put_data_quality(const DataQuality &counter)
{
    Statement(database_.get(), "INSERT OR REPLACE INTO data_quality VALUES (?1,?2,?3,?4)")
        .bind(1, std::string_view(counter.name))
        .bind(2, counter.value)
        .bind(3, name_of(counter.severity))
        .bind(4, std::string_view(counter.meaning))
        .run();
}

void TraceAmendment::put_final_digest(RegionId region, std::string_view digest)
{
    Statement(database_.get(), "UPDATE region SET final_digest = ?2 WHERE id = ?1")
        .bind(1, std::uint64_t{region})
        .bind(2, digest)
        .run();
}

void TraceAmendment::put_outcome(std::string_view outcome)
{
    Statement(database_.get(), "UPDATE recording SET outcome = ?1").bind(1, outcome).run();
}

void TraceAmendment::commit()
{
    database_.execute("COMMIT; BEGIN IMMEDIATE");
}

} // namespace fencepost::trace
