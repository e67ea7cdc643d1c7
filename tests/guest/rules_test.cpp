// SPDX-License-Identifier: GPL-2.0-or-later
// The rules on recordings of programs with known bugs: what is found, where, and nothing else.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/rules/engine.h"
#include "analyzer/rules/suppressions.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"

namespace fencepost::rules {
namespace {

using findings::Finding;

void compile(const TemporaryDirectory &place, const std::string &program,
             const std::vector<std::string> &libraries)
{
    const std::string source = FENCEPOST_SOURCE;
    std::vector<std::string> command = {"gcc",
                                        "-g",
                                        "-O1",
                                        "-I",
                                        source + "/qemu-plugin/marker",
                                        "-o",
                                        (place.path() / program).string(),
                                        source + "/tests/targets/rules/" + program + ".c"};
    command.insert(command.end(), libraries.begin(), libraries.end());
    const CommandResult result = run_command(command);
    if (!result.success())
        fail(ErrorKind::io, "cannot compile {}: {}", program, result.last_words());
}

findings::Report analyze(const TemporaryDirectory &place, const std::string &program,
                         const std::string &argument, const std::string &order)
{
    write_file(place.path() / "spec.toml",
               fmt::format("[file_system]\ntype = \"ext4\"\n"
                           "[copy]\nfrom = \"{0}\"\nto = \"/usr/local/bin/{0}\"\n"
                           "[workload]\nkind = \"program\"\ncommand = [\"{0}\", \"{1}\"]\n",
                           program, argument));
    const CommandResult recorded =
        run_command({FENCEPOST_PROGRAM, "-q", "record", (place.path() / "spec.toml").string(), "-o",
                     (place.path() / "run").string()});
    if (!recorded.success())
        fail(ErrorKind::guest, "cannot record {}: {}", program, recorded.last_words());
    const trace::TraceReader reader(place.path() / "run" / "trace.db");
    findings::Report report = Engine(reader, {}, built_in_transaction_tables(),
                                     parse_order_file(split_lines(order, "orders")))
                                  .run();
    apply_known_code(report);
    return report;
}

// Rule and function, of findings in the program itself.
std::set<std::string> found_in(const findings::Report &report, const std::string &program)
{
    std::set<std::string> found;
    for (const Finding &finding : report.findings)
        if (finding.places[0].at.code.module.ends_with("/" + program))
            found.insert(fmt::format("{} {} {}", name_of(finding.severity), finding.rule,
                                     finding.places[0].at.code.function));
    return found;
}

TEST(Rules, FindWhatIsWrongWithALedger)
{
    const TemporaryDirectory place("/tmp", "fp-rules-");
    compile(place, "ledger", {});
    const findings::Report report =
        analyze(place, "ledger", "/mnt/pm/ledger",
                fmt::format("struct ledger ledger in {}\n"
                            "persist ledger.entry.sum before ledger.valid\n",
                            (place.path() / "ledger").string()));
    const std::set<std::string> expected = {
        "bug unordered add_unordered", "bug epoch-durability note_in_epoch",
        "performance redundant-flush flush", "performance redundant-fence fence",
        "bug missing-flush forget"};
    EXPECT_EQ(found_in(report, "ledger"), expected);
    for (const Finding &finding : report.findings) {
        if (!finding.places[0].at.code.module.ends_with("/ledger"))
            continue;
        EXPECT_EQ(finding.count, 1u) << finding.rule;
        EXPECT_TRUE(finding.places[0].at.code.source_file.ends_with("ledger.c")) << finding.rule;
        // flush() and fence() are inlined into those that do it twice.
        const symbols::EventPlace &at = finding.places[0].at;
        ASSERT_GT(at.callers.size(), 1u) << finding.rule;
        EXPECT_EQ(at.callers[at.code.inlined ? 1 : 0].function, "main") << finding.rule;
        if (at.code.inlined) {
            EXPECT_EQ(at.callers[0].function, at.code.function + "_twice");
        }
    }
    // Nobody else is to blame for a bug.
    for (const Finding &finding : report.findings) {
        const bool blamed = finding.severity != findings::Severity::bug ||
                            finding.places[0].at.code.module.ends_with("/ledger");
        EXPECT_TRUE(blamed) << finding.title << ' ' << finding.places[0].at.code.function;
    }
}

TEST(Rules, KnowTheTransactionsOfLibpmemobj)
{
    const TemporaryDirectory place("/tmp", "fp-rules-");
    compile(place, "tx_forget", {"-lpmemobj", "-lpmem"});
    const findings::Report report = analyze(place, "tx_forget", "/mnt/pm/pool", "");
    EXPECT_EQ(found_in(report, "tx_forget"),
              (std::set<std::string>{"bug unlogged-in-tx transfer_forgetful",
                                     "warning unlogged-in-tx count_transfer"}));
    for (const Finding &finding : report.findings) {
        const bool blamed = finding.severity != findings::Severity::bug ||
                            finding.places[0].at.code.function == "transfer_forgetful";
        EXPECT_TRUE(blamed) << finding.title << ' ' << finding.places[0].at.code.function;
    }
}

} // namespace
} // namespace fencepost::rules
