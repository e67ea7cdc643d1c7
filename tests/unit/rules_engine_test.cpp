// SPDX-License-Identifier: GPL-2.0-or-later
// The rules' engine: traces it refuses, and what every rule must say of itself.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/relate.h"
#include "analyzer/rules/engine.h"
#include "analyzer/rules/suppressions.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/golden/trace_text.h"
#include "trace/compression.h"

namespace fencepost::rules {
namespace {

constexpr const char *kTrace = "store pmem0+0x40 8 = 1 @put\n"
                               "flush clwb pmem0+0x40 @put+4\n"
                               "fence sfence @put+8\n";

// The first byte after the number of shapes is a kind (docs/explanation/trace-format.md).
void set_first_kind(const std::filesystem::path &path, std::byte kind)
{
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    {
        trace::Statement read(database, "SELECT shapes FROM event_block");
        ASSERT_TRUE(read.step());
        std::vector<std::byte> raw;
        trace::Decompressor().decompress(read.blob(0), 1 << 20, raw);
        raw.at(1) = kind;
        read.reset();
        const std::vector<std::byte> packed = trace::Compressor(3).compress(raw);
        trace::Statement(database, "UPDATE event_block SET shapes = ?1").bind(1, packed).run();
    }
    sqlite3_close(database);
}

TEST(RulesEngine, EventsOfAnUnknownKindAreRefused)
{
    const TemporaryDirectory directory("/tmp", "fp-rules-");
    const auto path = directory.path() / "trace.db";
    golden::write_trace(kTrace, path);
    set_first_kind(path, std::byte{77});
    try {
        const trace::TraceReader reader(path);
        Engine(reader, {}).run();
        FAIL() << "an unknown kind was accepted";
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::trace);
        EXPECT_NE(std::string(error.what()).find("event kind 77"), std::string::npos)
            << error.what();
    }
}

TEST(RulesEngine, StacksThatLeadNowhereAreTold)
{
    const TemporaryDirectory directory("/tmp", "fp-rules-");
    const auto path = directory.path() / "trace.db";
    golden::write_trace("store pmem0+0x40 8 = 1 @put ^main<start\n", path);
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    // A circle, and a frame that is not there.
    ASSERT_EQ(
        sqlite3_exec(
            database,
            "UPDATE stack SET parent = 2 WHERE id = 1; UPDATE stack SET frame = 9 WHERE id = 2",
            nullptr, nullptr, nullptr),
        SQLITE_OK);
    sqlite3_close(database);
    const trace::TraceReader reader(path);
    const findings::Report report = Engine(reader, {}).run();
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].rule, "transient-data");
    ASSERT_FALSE(report.summary.statements.empty());
    EXPECT_NE(report.summary.statements[0].find("2 references to code lead nowhere"),
              std::string::npos)
        << report.summary.statements[0];
}

// Ids and numbers of findings, each with how often it was seen and where it was called.
std::string findings_in(const std::string &text, const char *change)
{
    const TemporaryDirectory directory("/tmp", "fp-rules-");
    const auto path = directory.path() / "trace.db";
    golden::write_trace(text, path);
    sqlite3 *database = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, change, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    std::string said;
    for (const findings::Finding &each : Engine(trace::TraceReader(path), {}).run().findings) {
        const std::size_t number = each.id.find_last_of('-');
        said += (each.id.size() - number == 2 ? each.id.substr(number) : "first") + ":" +
                text_of(each.places.front().at.code) + " x" + std::to_string(each.count);
        for (const findings::Place &place : each.places)
            if (place.role == "also called here")
                said += " also " + text_of(place.at.callers.front());
        said += "; ";
    }
    return said;
}

TEST(RulesEngine, OneFindingForOnePlaceInTheCode)
{
    const std::string text = "function put user=0x8000 module=/bin/kv\n"
                             "function main user=0x8000 module=/bin/kv\n"
                             "function again user=0x9000 module=/bin/kv\n"
                             "function main2 user=0x9000 module=/bin/kv\n"
                             "store pmem0+0x100 8 = 1 @put+8 ^main+4\n"
                             "store pmem0+0x40 8 = 1 @put+1 ^main+4\n"
                             "store pmem0+0x80 8 = 1 @again+1 ^main2+4\n"
                             "store pmem0+0x140 8 = 1 @again+8 ^main2+4\n";
    constexpr const char *kSameProgram = "UPDATE symbol SET name = 'put' WHERE name = 'again'; "
                                         "UPDATE symbol SET name = 'main' WHERE name = 'main2'";
    EXPECT_EQ(findings_in(text, ""), "-2:put+0x8 x1; first:put+0x1 x1; first:again+0x1 x1; "
                                     "-2:again+0x8 x1; ")
        << "two programs";
    EXPECT_EQ(findings_in(text, kSameProgram), "-2:put+0x8 x2; first:put+0x1 x2; ")
        << "numbered by the place, not by which was first";
    EXPECT_EQ(findings_in(text + "store pmem0+0x180 8 = 1 @put+8 ^main+9\n"
                                 "store pmem0+0x1c0 8 = 1 @put+8 ^main2+9\n",
                          kSameProgram),
              "-2:put+0x8 x4 also main+0x9; first:put+0x1 x2; ");
}

TEST(NamePlaces, SitesOfSeveralProcessesAreOnePlaceInTheCode)
{
    const TemporaryDirectory directory("/tmp", "fp-rules-");
    const auto path = directory.path() / "trace.db";
    golden::write_trace("function put user=0x8000 module=/bin/kv\n"
                        "function again user=0x9000 module=/bin/kv\n"
                        "store pmem0+0x100 8 = 1 @put+8\n"
                        "store pmem0+0x140 8 = 1 @again+8\n"
                        "store pmem0+0x180 8 = 1 @put+16\n",
                        path);
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, "UPDATE symbol SET name = 'put'", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    const trace::TraceReader reader(path);
    findings::Finding finding = {.kind = findings::Kind::crash_state};
    finding.absent_sites = {1, 2};
    finding.present_sites = {3};
    findings::name_places(finding, symbols::CodeNames(reader));
    ASSERT_EQ(finding.deciding.size(), 2u);
    EXPECT_EQ(text_of(finding.deciding[0]), "put+0x8");
    EXPECT_EQ(text_of(finding.deciding[1]), "put+0x10");
}

TEST(RulesEngine, EveryRuleSaysWhatItIs)
{
    std::set<std::string_view> names;
    for (const RuleInfo *rule : all_rules()) {
        EXPECT_TRUE(names.insert(rule->name).second) << rule->name;
        EXPECT_FALSE(rule->sentence.empty()) << rule->name;
        EXPECT_FALSE(rule->certainty.empty()) << rule->name;
        EXPECT_FALSE(rule->silence.empty()) << rule->name;
    }
    // Every class of the field but the two that need crash states.
    EXPECT_GE(names.size(), 16u);
}

TEST(RulesEngine, WhatComesWithFencepostParses)
{
    EXPECT_EQ(built_in_transaction_tables().size(), 2u);
    EXPECT_GT(known_code().size(), 5u);
}

} // namespace
} // namespace fencepost::rules
