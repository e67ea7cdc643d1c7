// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost sql`: a query of a trace, its answer as a table, CSV or JSON.
#include "cli/verb.h"

#include <iostream>
#include <iterator>
#include <memory>

#include "analyzer/tables/model_tables.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/row_format.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

namespace {

struct SqlOptions {
    std::string run;
    std::string query;
    std::string file;
    std::string format;
};

std::string query_text(const SqlOptions &options)
{
    if (options.query.empty() == options.file.empty())
        fail(ErrorKind::usage, "give one query: as text, as - for standard input, or with --file");
    if (!options.file.empty())
        return read_named_file(options.file);
    if (options.query == "-")
        return std::string(std::istreambuf_iterator<char>(std::cin), {});
    return options.query;
}

RowFormat row_format(const SqlOptions &options, const Context &context)
{
    if (context.settings.json && !options.format.empty() && options.format != "json")
        fail(ErrorKind::usage, "--json and --format {} contradict each other", options.format);
    if (context.settings.json || options.format == "json")
        return RowFormat::json;
    return options.format == "csv" ? RowFormat::csv : RowFormat::table;
}

void run_sql(const SqlOptions &options, const Context &context)
{
    const RowFormat format = row_format(options, context);
    const trace::TraceReader reader(run::trace_of(options.run));
    tables::add_model_tables(reader);
    trace::Query query(reader, query_text(options));
    print_rows(query, format);
}

} // namespace

void add_sql(App &app, Context &context)
{
    App *verb = app.add_subcommand("sql", "Answers a query of a trace; it can only read");
    auto options = std::make_shared<SqlOptions>();
    verb->add_option("RUN", options->run, "Run directory, or the trace in one")->required();
    verb->add_option("QUERY", options->query, "One SQL statement; - reads it from standard input");
    verb->add_option("--file", options->file, "Reads the statement from a file instead");
    verb->add_option("--format", options->format, "table (default), csv or json")
        ->one_of({"table", "csv", "json"});
    verb->footer("Tables and views: docs/reference/trace-schema.md. Examples: "
                 "docs/how-to/query-a-trace.md.");
    verb->examples(
        {{"sql run \"SELECT kind, count(*) FROM event GROUP BY kind\"", "what was recorded"},
         {"sql run --format csv - <query.sql", "a query from a file"}});
    verb->callback([options, &context] { run_sql(*options, context); });
}

} // namespace fencepost::cli
