// SPDX-License-Identifier: GPL-2.0-or-later
// The `fencepost` command: parses the line, runs one verb, maps failures to exit codes.
#include "cli/verb.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

#include <poll.h>
#include <unistd.h>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"

namespace fencepost::cli {

// In the order of --help; each in the file of its verb.
using AddVerb = void(App &, Context &);
AddVerb add_analyze, add_completion, add_doctor, add_image, add_info, add_manual, add_minimize,
    add_record, add_repair, add_report, add_reproduce, add_run, add_show, add_sql, add_states,
    add_test, add_tree, add_verify;

constexpr AddVerb *kVerbs[] = {add_analyze,   add_completion, add_doctor, add_image,  add_info,
                               add_manual,    add_minimize,   add_record, add_repair, add_report,
                               add_reproduce, add_run,        add_show,   add_sql,    add_states,
                               add_test,      add_tree,       add_verify};

void print_json(const nlohmann::json &document)
{
    std::fputs(json_document(document).c_str(), stdout);
}

void progress(const Context &context, const std::string &line)
{
    if (context.settings.verbose >= 0)
        std::fprintf(stderr, "%s\n", line.c_str());
}

namespace {

void set_up_log(const Settings &settings)
{
    auto logger = spdlog::stderr_color_mt("fencepost");
    logger->set_pattern("%^%l%$: %v");
    logger->set_level(settings.verbose >= 2   ? spdlog::level::trace
                      : settings.verbose == 1 ? spdlog::level::debug
                      : settings.verbose == 0 ? spdlog::level::warn
                                              : spdlog::level::err);
    spdlog::set_default_logger(logger);
}

int run(int argc, char **argv)
{
    App app("Finds crash-consistency bugs in persistent memory software: records a whole guest "
            "machine and replays its power failures.",
            "fencepost");
    Context context;
    app.require_subcommand();
    app.fallthrough();
    app.set_version_flag("--version", "fencepost " FENCEPOST_VERSION);
    app.add_flag("--json", context.settings.json, "Print one JSON document on stdout");
    app.add_flag_function(
        "-v,--verbose",
        [&](std::int64_t times) { context.settings.verbose += static_cast<int>(times); },
        "Say more on stderr; twice: still more");
    app.add_flag_function(
        "-q,--quiet",
        [&](std::int64_t times) { context.settings.verbose -= static_cast<int>(times); },
        "Say less on stderr");
    app.parse_complete_callback([&] { set_up_log(context.settings); });
    for (AddVerb *const add : kVerbs)
        add(app, context);
    const std::optional<int> ended = app.parse(argc, argv);
    return ended ? *ended : context.exit_code;
}

// The end when the result cannot be written. Where whoever read it has enough of it, that is the
// end of any program in a pipe.
int output_lost()
{
    pollfd output = {STDOUT_FILENO, 0, 0};
    if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR)) {
        std::signal(SIGPIPE, SIG_DFL);
        std::raise(SIGPIPE);
    }
    std::fprintf(stderr, "fencepost: cannot write the result to stdout\n");
    return 4;
}

} // namespace

} // namespace fencepost::cli

int main(int argc, char **argv)
{
    try {
        fencepost::catch_interrupts();
        const int code = fencepost::cli::run(argc, argv);
        if (std::fflush(stdout) != 0 || std::ferror(stdout))
            return fencepost::cli::output_lost();
        return code;
    } catch (const fencepost::Error &error) {
        if (error.kind() == fencepost::ErrorKind::internal)
            std::fprintf(stderr, "fencepost: internal error, please report it: %s\n", error.what());
        else
            std::fprintf(stderr, "fencepost: %s\n", error.what());
        return error.exit_code();
    } catch (const std::exception &error) {
        // fmt::print() throws where std::printf() leaves it to the end.
        if (dynamic_cast<const std::system_error *>(&error) && std::ferror(stdout))
            return fencepost::cli::output_lost();
        std::fprintf(stderr, "fencepost: internal error, please report it: %s\n", error.what());
        return 70;
    }
}
