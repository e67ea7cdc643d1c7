// SPDX-License-Identifier: GPL-2.0-or-later
// Names for code that has no symbols.
#include <gtest/gtest.h>

#include "analyzer/symbols/code_names.h"
#include "analyzer/symbols/pm_names.h"
#include "analyzer/symbols/readable_name.h"
#include "base/files.h"
#include "trace/writer.h"

namespace fencepost::symbols {
namespace {

using namespace trace;

TEST(ReadableName, AsItsAuthorWritesIt)
{
    constexpr std::pair<const char *, const char *> kNames[] = {
        {"main", "main"},
        {"_ZN2ns3putEi", "ns::put"},
        {"_ZNK2ns12_GLOBAL__N_11H3getEi", "ns::(anonymous namespace)::H::get"},
        {"_ZN2ns3putIiEEvT_", "ns::put<int>"},
        {"_ZN2ns4manyIPKcEEPT_S3_", "ns::many<char const*>"},
        {"_ZNO2ns1BIiE2goESt8functionIFviEE", "ns::B<int>::go"},
        {"_ZNV2ns1BIiE1fEPFviE", "ns::B<int>::f"},
        {"_ZNK2ns12_GLOBAL__N_11HltERKS1_", "ns::(anonymous namespace)::H::operator<"},
        {"_ZNK2ns12_GLOBAL__N_11HclEi", "ns::(anonymous namespace)::H::operator()"},
        {"_ZN2ns12_GLOBAL__N_11HnwEm", "ns::(anonymous namespace)::H::operator new"},
        {"_ZNK2ns12_GLOBAL__N_11HcvbEv", "ns::(anonymous namespace)::H::operator bool"},
        {"_ZZ5plainENKUlT_E_clIiEEDaS_", "plain::{lambda(auto:1)#1}::operator()<int>"},
        {"_ZN2ns3putEi.part.0.isra.0", "ns::put.part.0.isra.0"},
        {"_Znonsense", "_Znonsense"},
        {"_Z", "_Z"},
        {"", ""},
    };
    for (const auto &[symbol, name] : kNames)
        EXPECT_EQ(readable_name(symbol), name);
    const std::string huge = "_Z5000" + std::string(5000, 'a') + "v";
    EXPECT_EQ(readable_name(huge), huge);
}

TEST(ReadableName, LongOnesLoseTheirMiddleWhereTheyAreShown)
{
    const std::string name = "log::" + std::string(200, 'x') + "::append";
    EXPECT_EQ(shortened_name("append"), "append");
    EXPECT_LE(shortened_name(name).size(), 80u);
    const CodePlace code = {.function = name, .offset = 8, .named = true};
    EXPECT_TRUE(text_of(code).starts_with("log::xxx")) << text_of(code);
    EXPECT_TRUE(text_of(code).ends_with("xxx::append+0x8")) << text_of(code);
    EXPECT_LT(text_of(code).size(), 90u);
}

TEST(CodeNames, CodeWithoutSymbolsIsNamedByItsPlaceInTheFile)
{
    const TemporaryDirectory directory{testing::TempDir(), "code_names"};
    const auto path = directory.path() / "trace.db";
    constexpr std::uint64_t kProcess = 0x5000;
    {
        TraceWriter writer = TraceWriter::create(path);
        writer.put_region({.id = 1, .name = "pmem0", .base = 1 << 20, .size = 4096, .file = "pm"});
        const auto user = [](SiteId id, std::uint64_t process, std::uint64_t pc,
                             const char *module) {
            return Site{.id = id,
                        .pc = pc,
                        .privilege = Privilege::user,
                        .address_space = process,
                        .module = module};
        };
        writer.put_site(user(1, kProcess, 0x7f0000001240, "/lib/libledger.so"));
        writer.put_site(user(2, kProcess, 0x7f0000001240 + 0x10000, "/lib/libledger.so"));
        writer.put_site(user(3, kProcess + 0x1000, 0x7f0000001240, "/lib/libledger.so"));
        writer.put_site(user(4, kProcess, 0x7f0000001240, ""));
        writer.put_stack_frame({.id = 1,
                                .pc = 0x7f0000001250,
                                .privilege = Privilege::user,
                                .address_space = kProcess,
                                .module = "/lib/libledger.so"});
        writer.put_stack_frame({.id = 2, .pc = 0x400100, .privilege = Privilege::user});
        writer.put_stack({.id = 1, .parent = 0, .frame = 2});
        writer.put_stack({.id = 2, .parent = 1, .frame = 1});
        EventBuffer buffer(4);
        Event note = {.kind = EventKind::marker};
        note.subkind = static_cast<std::uint8_t>(MarkerKind::note);
        Marker map;
        map.text = "map /lib/libledger.so";
        map.arguments = {0x7f0000001000, 0x2000, 0x8000};
        map.process = kProcess;
        buffer.push_marker(note, map);
        writer.append(buffer);
        writer.finish(RecordingState::complete, "");
    }
    const TraceReader reader(path);
    const CodeNames names(reader);
    EXPECT_EQ(names.where(1), "libledger.so+0x8240");
    EXPECT_EQ(names.where(2), "0x7f0000011240") << "not in the mapping";
    EXPECT_EQ(names.where(3), "0x7f0000001240") << "another process";
    EXPECT_EQ(names.where(4), "0x7f0000001240") << "of no file";
    EXPECT_EQ(names.where(5), "unknown code");
    EXPECT_EQ(names.stack({.stack = 2}),
              (std::vector<std::string>{"libledger.so+0x8250", "0x400100"}));
    EXPECT_TRUE(names.stack({}).empty());
    EXPECT_TRUE(names.stack({.stack = 9}).empty());
    const EventPlace place = names.place({.seq = 7, .site = 1, .stack = 2});
    EXPECT_EQ(place.event.seq, 7u);
    EXPECT_EQ(text_of(place.code), names.where(1));
    ASSERT_EQ(place.callers.size(), 2u);
    EXPECT_EQ(place.callers[0].function, "libledger.so+0x8250");
    EXPECT_FALSE(place.callers[0].named);
    EXPECT_EQ(names.dangling(), 0u);
    EXPECT_EQ(pm_name(reader.regions(), (1 << 20) + 0x40), "pmem0+0x40");
    EXPECT_EQ(pm_name(reader.regions(), 0x40), "0x40");
}

TEST(CodeNames, RowsWithIdsThatCannotBeAreCounted)
{
    const TemporaryDirectory directory{testing::TempDir(), "code_names"};
    const auto path = directory.path() / "trace.db";
    {
        TraceWriter writer = TraceWriter::create(path);
        writer.put_site({.id = 1, .pc = 0x1000, .module = "kernel"});
        writer.finish(RecordingState::complete, "");
    }
    Database(path, SQLITE_OPEN_READWRITE).execute("UPDATE site SET id = 9");
    const TraceReader reader(path);
    const CodeNames names(reader);
    EXPECT_EQ(names.dangling(), 1u);
    EXPECT_EQ(names.where(9), "unknown code");
}

} // namespace
} // namespace fencepost::symbols
