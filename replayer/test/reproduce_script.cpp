// SPDX-License-Identifier: GPL-2.0-or-later
// See reproduce_script.h. Of programs it uses only those of coreutils, QEMU and, where a checker
// complained, what that needs.
#include "replayer/test/reproduce_script.h"

#include <fmt/format.h>

#include "base/folder.h"
#include "base/terminal_text.h"
#include "guest-images/agent/standalone.h"
#include "replayer/guest/qemu_command.h"

namespace fencepost::test {

namespace {

constexpr unsigned kBootSeconds = 300;
constexpr const char *kConsole = "console.log";

// The beginning: what is needed, and a folder to work in.
constexpr const char *kHead = R"sh(#!/bin/sh
# Recovers from a crash image and tells whether it fails as fencepost found it:
#   {title}
# Exit status: 1 it fails again, 0 it does not, 4 something is missing or went wrong.
# Needs beside it: {files}
set -u
PATH=$PATH:/usr/sbin:/sbin
qemu=${{QEMU:-qemu-system-x86_64}}
here=$(cd "$(dirname "$0")" && pwd) || exit 4
cannot() {{
  echo "reproduce.sh: $1"
  exit 4
}}
for file in {files}; do
  [ -e "$here/$file" ] || cannot "$file is not here; fencepost reproduce --export makes a folder that has it"
done
for program in {programs}; do
  command -v "$program" >/dev/null || cannot "$program is not installed"
done
machine=
work=$(mktemp -d) || exit 4
trap '[ -z "$machine" ] || kill "$machine" 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work" || exit 4
again() {{
  echo {again}
  exit 1
}}
not_again() {{
  echo "reproduce.sh: it does not fail this time"
  exit 0
}}
)sh";

// A machine on copies of PM, up to its end.
constexpr const char *kBoot = R"sh(
for image in {images}; do
  cp --sparse=always "$here/$image" . || cannot "no room for a copy of $image in $work"
done
ln -s "$here/{kernel}" "$here/{initrd}" .
timeout {seconds} {command} >qemu.log 2>&1 </dev/null &
machine=$!
wait "$machine"
status=$?
machine=
ended=no begun=no{seen_none}
while IFS= read -r line; do
  case $line in *"{mark}{end}"*) ended=yes ;; esac
  case $line in *"{mark}step: "*) begun=yes ;; esac
{cases}done <{console} || cannot "QEMU wrote no console: $(tail -n 1 qemu.log)"
[ "$begun" = yes ] || cannot "the guest did not come up (QEMU's exit status $status): $(tail -n 1 qemu.log)"
)sh";

// A checker on a copy of the file system alone.
constexpr const char *kCheck = R"sh(
tail -c +{first} "{from}" | head -c {size} >image || cannot "no room for a copy of the file system in $work"
mkdir scratch
LC_ALL=C "$here/{oracle}/{program}" {phase} "$work/image" 0 "$work/scratch" >checked 2>&1
status=$?
seen=no
while IFS= read -r line || [ -n "$line" ]; do
  case $line in {pattern}) seen=yes ;; esac
done <checked
[ "$status" -eq {wanted} ] && [ "$seen" = yes ] && again
[ "$status" -eq 0 ] && not_again
cannot "{program} ended with status $status: $(head -n 1 checked)"
)sh";

struct ScriptParts {
    const run::Inputs &inputs;
    const oracle::Judgement &judgement;
    std::string program = {};            // of a checker
    std::vector<std::string> needs = {}; // likewise
};

std::string in_quotes(const std::string &text)
{
    return guest::quoted({text});
}

std::string files_of(const run::Inputs &inputs, const FailureSign &sign)
{
    std::string files;
    const bool boots = sign.kind != FailureSign::Kind::checker || !sign.before;
    if (boots)
        files = fmt::format("{} {}", kKernelName, kInitrdName);
    for (std::size_t i = 0; i < inputs.config.pm.size(); ++i)
        files += (files.empty() ? "" : " ") + pm_name(i);
    if (sign.kind == FailureSign::Kind::checker)
        files += fmt::format(" {}", kOracleName);
    return files;
}

std::string head(const ScriptParts &parts, const FailureSign &sign)
{
    const oracle::Evidence &evidence = deciding_evidence(parts.judgement);
    const std::string title =
        fmt::format("{}: {}: {}", evidence.oracle, to_string(evidence.verdict),
                    terminal_text(title_of(evidence)));
    const bool boots = sign.kind != FailureSign::Kind::checker || !sign.before;
    std::string programs = boots ? "\"$qemu\"" : "";
    for (const std::string &each : parts.needs)
        programs += (programs.empty() ? "" : " ") + guest::quoted({each});
    if (programs.empty())
        programs = "cat";
    return fmt::format(kHead, fmt::arg("title", title),
                       fmt::arg("files", files_of(parts.inputs, sign)),
                       fmt::arg("programs", programs),
                       fmt::arg("again", in_quotes("reproduce.sh: it fails again: " + title)));
}

std::string command_of(const run::Inputs &inputs)
{
    guest::MachinePlan plan;
    plan.config = inputs.config;
    plan.config.recording = false;
    plan.config.clock = guest::Clock::host;
    plan.config.accelerator = guest::Accelerator::tcg;
    plan.kernel = kKernelName;
    plan.initrd = kInitrdName;
    for (std::size_t i = 0; i < inputs.config.pm.size(); ++i)
        plan.pm_files.emplace_back(pm_name(i));
    std::vector<std::string> command =
        guest::standalone_command(plan, "", kConsole, "fencepost.standalone");
    command.erase(command.begin());
    return "\"$qemu\" " + guest::quoted(command);
}

std::string boot(const ScriptParts &parts, const FailureSign &sign)
{
    std::string images;
    for (std::size_t i = 0; i < parts.inputs.config.pm.size(); ++i)
        images += (i == 0 ? "" : " ") + pm_name(i);
    std::string cases;
    std::string none;
    if (sign.kind == FailureSign::Kind::lines)
        for (std::size_t i = 0; i < sign.patterns.size(); ++i) {
            none += fmt::format(" seen{}=no", i);
            cases += fmt::format("  case $line in {}) seen{}=yes ;; esac\n", sign.patterns[i], i);
        }
    return fmt::format(kBoot, fmt::arg("images", images), fmt::arg("kernel", kKernelName),
                       fmt::arg("initrd", kInitrdName),
                       fmt::arg("seconds", kBootSeconds + 4 * parts.inputs.test.time_limit),
                       fmt::arg("command", command_of(parts.inputs)), fmt::arg("seen_none", none),
                       fmt::arg("mark", agent::kStandaloneMark),
                       fmt::arg("end", agent::kStandaloneEnd), fmt::arg("cases", cases),
                       fmt::arg("console", kConsole));
}

std::string check(const ScriptParts &parts, const FailureSign &sign)
{
    const run::Mount mount = parts.inputs.mount.value_or(run::Mount());
    const std::string image = pm_name(mount.pm_device);
    return fmt::format(kCheck, fmt::arg("first", mount.offset + 1), fmt::arg("size", mount.size),
                       fmt::arg("from", sign.before ? "$here/" + image : image),
                       fmt::arg("oracle", kOracleName), fmt::arg("program", parts.program),
                       fmt::arg("phase", sign.before ? "before" : "after"),
                       fmt::arg("pattern", sign.patterns.front()), fmt::arg("wanted", sign.status));
}

// What to make of the console.
std::string verdict(const FailureSign &sign)
{
    constexpr const char *kUnfinished =
        "[ \"$ended\" = yes ] || cannot \"the guest did not come to its end (QEMU's exit status "
        "$status)\"\nnot_again\n";
    if (sign.kind == FailureSign::Kind::hang)
        return "[ \"$ended\" = no ] && [ \"$status\" -eq 124 ] && again\n" +
               std::string(kUnfinished);
    std::string all;
    for (std::size_t i = 0; i < sign.patterns.size(); ++i)
        all += fmt::format("[ \"$seen{}\" = yes ] && ", i);
    return all + "again\n" + kUnfinished;
}

} // namespace

std::string pm_name(std::size_t device)
{
    return fmt::format("pm{}.img", device);
}

oracle::OracleFolder checker_of(const FailureSign &sign, const std::vector<std::string> &judges)
{
    for (const std::string &each : judges)
        if (each.find('/') != std::string::npos)
            if (oracle::OracleFolder own = oracle::find_folder(each); own.name == sign.oracle)
                return own;
    return oracle::find_folder(sign.oracle);
}

std::string reproduce_script(const run::Inputs &inputs, const std::vector<std::string> &judges,
                             const oracle::Judgement &judgement)
{
    const std::optional<FailureSign> sign = sign_of(judgement);
    if (!sign)
        return "";
    ScriptParts parts = {inputs, judgement};
    if (sign->kind != FailureSign::Kind::checker)
        return head(parts, *sign) + boot(parts, *sign) + verdict(*sign);
    const oracle::OracleFolder checker = checker_of(*sign, judges);
    parts.program = checker.program.filename();
    parts.needs = checker.needs;
    if (!is_plain_name(parts.program)) // it stands in the script as it is
        return "";
    return head(parts, *sign) + (sign->before ? "" : boot(parts, *sign)) + check(parts, *sign);
}

} // namespace fencepost::test
