// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost reproduce`: a finding or a crash state once more, in guests of its own.
#include <cstdio>
#include <memory>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "base/shell_word.h"
#include "cli/reproduce_verb.h"
#include "cli/test_verb.h"
#include "replayer/guest/guest_shell.h"
#include "replayer/test/debugged_state.h"
#include "replayer/test/recovered_guest.h"
#include "replayer/test/standalone_folder.h"
#include "replayer/test/test_json.h"

namespace fencepost::cli {

namespace {

constexpr std::size_t kMostCommands = 1 << 20;

test::NamedState named_state(const ReproduceArguments &arguments, const run::RunFiles &files)
{
    test::StateRequest chosen;
    chosen.incidental = arguments.incidental;
    chosen.oracles = arguments.oracles;
    chosen.backend = arguments.backend;
    guest::check_backend_name(chosen.backend);
    chosen.accelerator = guest::parse_accelerator(arguments.accelerator);
    return test::named_state(files, arguments.name, std::move(chosen));
}

void judge_again(Context &context, test::JudgedState &state, const test::NamedState &named,
                 const ReproduceArguments &arguments)
{
    const unsigned times = arguments.times;
    unsigned done = 0;
    const test::Reproduction result =
        test::reproduce(state, named.finding, times, [&](const test::Attempt &attempt) {
            ++done;
            if (times > 1)
                progress(context,
                         fmt::format("{} of {}: {}", done, times, words_of(attempt, named)));
        });
    std::optional<test::ExportedFolder> exported;
    if (!arguments.export_to.empty() && result.failed() != 0)
        exported = test::export_standalone(state, result.shown().judgement, cache_directory(),
                                           arguments.export_to);
    if (context.settings.json) {
        nlohmann::json document = test::reproduction_json(result, named);
        document["exported"] = exported ? nlohmann::json(arguments.export_to) : nlohmann::json();
        print_json(document);
    } else {
        print_reproduction(result, named);
        if (exported)
            fmt::print("exported   {} ({:.1f} MB, {:.1f} MB on disk): sh {}\n", arguments.export_to,
                       static_cast<double>(exported->bytes) / 1e6,
                       static_cast<double>(exported->bytes_on_disk) / 1e6,
                       shell_word(arguments.export_to + "/reproduce.sh"));
        else if (!arguments.export_to.empty())
            fmt::print("exported   nothing: it did not fail\n");
    }
    context.exit_code = result.exit_code();
}

// Everything that a pipe or a file has.
std::string read_commands()
{
    std::string commands;
    char buffer[4096];
    while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, stdin))
        commands.append(buffer, got);
    if (commands.size() > kMostCommands)
        fail(ErrorKind::usage, "stdin has more than {} bytes of commands", kMostCommands);
    return commands;
}

void print_output(const agent::RunReply &reply)
{
    std::fwrite(reply.output.data(), 1, reply.output.size(), stdout);
    std::fflush(stdout);
    std::fwrite(reply.errors.data(), 1, reply.errors.size(), stderr);
}

void shell_in(Context &context, test::JudgedState &state, const ReproduceArguments &arguments)
{
    const auto say = [&](const std::string &line) { progress(context, line); };
    const bool typed = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    const std::string commands = typed ? "" : read_commands();
    test::RecoveredGuest made = test::recovered_guest(
        state,
        arguments.before_recovery ? test::Moment::before_recovery : test::Moment::after_recovery,
        say);
    const guest::ShellRequest request = {made.directory, {"PS1=guest:\\w# ", "TERM=vt102"}};
    if (!typed) {
        const agent::RunReply reply = guest::run_in_shell(*made.guest, request, commands);
        print_output(reply);
        if (reply.output_truncated || reply.errors_truncated)
            say("the rest of the output was left out");
        say("shell: " + test::describe_end(reply));
        return;
    }
    say("exit or Ctrl-D ends the shell and the guest, Ctrl-] leaves a guest that hangs");
    guest::open_shell(*made.guest, request);
}

void debug(Context &context, test::JudgedState &state, const ReproduceArguments &arguments)
{
    test::DebugRequest request;
    request.symbols.assign(arguments.symbols.begin(), arguments.symbols.end());
    test::debug_recovery(
        state, request,
        [&](const std::string &command) {
            fmt::print("{}\n", command);
            std::fflush(stdout);
            progress(context, "the guest stands still before recovery; `continue` in the debugger "
                              "starts that, its end or Ctrl-C ends the guest");
        },
        [&](const std::string &line) { progress(context, line); });
}

void check_combination(const ReproduceArguments &arguments)
{
    if (arguments.before_recovery && !arguments.shell)
        fail(ErrorKind::usage, "--before-recovery says where --shell begins, and needs it");
    if (!arguments.export_to.empty())
        test::check_export(arguments.export_to);
    const char *looks = arguments.gdb ? "--gdb" : arguments.shell ? "--shell" : nullptr;
    if (arguments.gdb && arguments.shell)
        fail(ErrorKind::usage, "--gdb and --shell exclude each other");
    if (arguments.gdb && arguments.backend != "process")
        fail(ErrorKind::usage, "--gdb works with the backend process alone");
    if (!arguments.symbols.empty() && !arguments.gdb)
        fail(ErrorKind::usage, "--symbols is for --gdb, and needs it");
    if (looks && !arguments.export_to.empty())
        fail(ErrorKind::usage, "--export writes what a judgement shows, and {} makes none", looks);
    if (looks && arguments.times != 1)
        fail(ErrorKind::usage, "--times counts judgements, and {} makes none", looks);
}

} // namespace

void run_reproduce(Context &context, const ReproduceArguments &arguments)
{
    check_combination(arguments);
    const run::RunFiles files = run::open_run(arguments.run);
    const test::NamedState named = named_state(arguments, files);
    test::JudgedState state(files, cache_directory(), named.request,
                            [&](const std::string &line) { progress(context, line); });
    if (arguments.dry_run) {
        fmt::print("{}\n", state.qemu_command());
        return;
    }
    if (arguments.gdb)
        debug(context, state, arguments);
    else if (arguments.shell)
        shell_in(context, state, arguments);
    else
        judge_again(context, state, named, arguments);
}

void add_reproduce(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "reproduce", "Recovers a finding's crash image in a new guest and judges it again");
    auto options = std::make_shared<ReproduceArguments>();
    verb->add_option("RUN", options->run, "Run directory, or the trace in one")->required();
    verb->add_option("FINDING|STATE", options->name,
                     "Id of a finding of `fencepost test`, or of a crash state")
        ->required();
    verb->add_option("--times", options->times, "How often, each time in a new guest")
        ->range(1u, 10000u)
        ->capture_default_str();
    verb->add_option("--oracle", options->oracles,
                     "Comma-separated oracles; default: those that gave the run its verdicts")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_option("--incidental", options->incidental,
                     "Functions whose fences do not count, if the state was made with others than "
                     "those of the spec");
    verb->add_option("--backend", options->backend,
                     "Who runs the guests: process, libvirt or libvirt:URI")
        ->capture_default_str();
    verb->add_option("--accelerator", options->accelerator, "auto (KVM where it works), kvm or tcg")
        ->capture_default_str();
    verb->add_flag("--shell", options->shell,
                   "A shell in the guest when it has recovered, instead of a judgement; commands "
                   "may come from a pipe");
    verb->add_flag("--before-recovery", options->before_recovery,
                   "--shell before anything is mounted");
    verb->add_flag("--gdb", options->gdb,
                   "Stops the guest before recovery and prints the command that attaches a "
                   "debugger");
    verb->add_option("--symbols", options->symbols,
                     "For --gdb: vmlinux, or a module's NAME.ko; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--export", options->export_to,
                     "Also makes this folder, in which `sh reproduce.sh` shows the failure "
                     "without fencepost");
    verb->add_flag("--dry-run", options->dry_run, "Print the QEMU command and do nothing");
    verb->footer("Exit status 1: it fails again; 0: it did not fail this time; 4: it could not be "
                 "judged. Examples: docs/how-to/reproduce.md.");
    verb->examples({{"reproduce run FINDING --times 10", "does it fail each time?"},
                    {"reproduce run FINDING --shell", "looks around in the recovered guest"},
                    {"reproduce run FINDING --export folder", "a folder for somebody else"}});
    verb->callback([options, &context] { run_reproduce(context, *options); });
}

} // namespace fencepost::cli
