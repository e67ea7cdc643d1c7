// SPDX-License-Identifier: GPL-2.0-or-later
// The label "relies on an incidental locked instruction".
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/image/image_walk.h"
#include "tests/golden/trace_text.h"
#include "tests/model/reference_model.h"
#include "tests/model/small_trace.h"

namespace fencepost::image {
namespace {

using model::ReferenceModel;
using states::WalkOptions;
using Labels = std::set<std::string>; // ids of states, without the trace's digits

class Listener : public ImageListener {
public:
    using Visit = std::function<void(ReadyImage &)>;
    explicit Listener(Visit visit) : visit_(std::move(visit)) {}
    bool image(ReadyImage &image) override
    {
        visit_(image);
        return true;
    }

private:
    Visit visit_;
};

class LabelTest : public testing::Test {
protected:
    void make(std::string_view text) const { golden::write_trace(text, path()); }
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    // All states of the trace.
    void walk(const Listener::Visit &visit, const std::vector<std::string> &incidental = {}) const
    {
        const trace::TraceReader reader(path());
        const InitialImage initial(reader);
        ImageWalk walk(reader, initial,
                       {.strategies = states::parse_strategies("exhaustive"),
                        .grouping = states::Grouping::off,
                        .incidental = {reader, incidental}},
                       {.labels = true});
        Listener listener(visit);
        walk.run(listener);
    }
    Labels labels(std::string_view text, const std::vector<std::string> &incidental = {}) const
    {
        make(text);
        Labels found;
        walk(
            [&](ReadyImage &image) {
                if (!image.architectural())
                    found.insert(image.id().substr(image.id().find('-', 9) + 1));
            },
            incidental);
        return found;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "labels"};
};

TEST_F(LabelTest, LegalUnderTheStricterRule)
{
    // Without the first store, but with one of those after the locked instruction. With nothing at
    // all, power may have failed before the locked instruction.
    EXPECT_EQ(labels(R"(
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
fence lock_rmw
store pmem0+0x40 8 = 2
store pmem0+0x80 8 = 3
nt_store pmem0+0xc0 8 = 4
)"),
              (Labels{"6-x3", "6-x6", "6-x9"}));
}

// A locked instruction late in the epoch says nothing about what was legal before it ran.
TEST_F(LabelTest, LegalBeforeTheLockedInstruction)
{
    EXPECT_EQ(labels(R"(
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
store pmem0+0x80 8 = 2
fence lock_rmw
flush clwb pmem0+0x80
fence sfence
)"),
              Labels{});
    // The epoch of the locked instruction is over.
    EXPECT_EQ(labels(R"(
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
store pmem0+0x80 8 = 2
fence lock_rmw
flush clflush pmem0+0x80
fence sfence
)"),
              Labels{});
    // Between the two, the promise changed.
    EXPECT_EQ(labels(R"(
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
fence lock_rmw
op_begin 1 "one"
store pmem0+0x80 8 = 2
fence sfence
)"),
              (Labels{"5-x0", "5-x2"}));
    // Published by compare-and-swap: the node is there before the head is.
    EXPECT_EQ(labels(R"(
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
fence lock_rmw
store pmem0+0x80 8 = 2 atomic
flush clwb pmem0+0x80
fence sfence
)"),
              (Labels{"5-x2"}));
}

TEST_F(LabelTest, IncidentalFencesCountAsLittleAsLockedInstructions)
{
    EXPECT_EQ(labels(R"(
store pmem0+0x40 8 = 1 @create+1
flush clwb pmem0+0x40 @create+2
fence mfence @strncpy_from_user+8
store pmem0+0x80 8 = 2 @create+3
fence sfence @create+4
)",
                     {"strncpy_from_user"}),
              (Labels{"4-x2"}));
}

// 16 bytes, of which the second half is what was there: with the first half all of it is there.
TEST_F(LabelTest, AHalfThatChangesNothing)
{
    EXPECT_EQ(labels(R"(
store pmem0+0x40 16 = "a"
flush clwb pmem0+0x40
fence lock_rmw
store pmem0+0x80 8 = 7
)"),
              (Labels{"4-x3"}));
}

// A lock word in PM that was taken and given back holds what it held before, however much of that
// is in flight.
// The cached store writes the bytes of the non-temporal one below it, so it changes nothing; but
// its second half cannot be there without the first, nor that without the non-temporal store.
TEST_F(LabelTest, AStoreThatChangesNothingOrdersOthers)
{
    EXPECT_EQ(labels(R"(
nt_store pmem0+0x0 8 = 1
nt_store pmem0+0x40 8 = 0x6161616161616161
store pmem0+0x40 16 = "aaaaaaaaaaaaaaaa"
fence lock_rmw
nt_store pmem0+0x40 8 = 0
v2 flush wbnoinvd
op_begin 1
)"),
              (Labels{"5-x10", "6-x2", "7-x0", "7-x2"}));
}

TEST_F(LabelTest, BytesThatGoBack)
{
    constexpr std::string_view text = R"(
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
fence lock_rmw
store pmem0+0x80 8 = 1
store pmem0+0x80 8 = 0
)";
    // Without the first store, and the word is taken; given back, nobody can tell.
    EXPECT_EQ(labels(text), (Labels{"5-x2"}));
    // The same where both stores to the word are guaranteed, by another vCPU.
    EXPECT_EQ(labels(std::string(text) + "v1 flush clflush pmem0+0x80\n"), (Labels{"5-x2"}));
    // It was set, and that was guaranteed, before the other store; cleared since.
    EXPECT_EQ(labels(R"(
store pmem0+0x80 8 = 1
flush clflush pmem0+0x80
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
fence lock_rmw
store pmem0+0x80 8 = 0
)"),
              Labels{});
}

// More has become guaranteed since than is remembered.
TEST_F(LabelTest, LongAfterTheLockedInstruction)
{
    std::string text = "store pmem0+0x40 8 = 1\nflush clwb pmem0+0x40\nfence lock_rmw\n";
    for (unsigned i = 0; i < 700; ++i)
        text += fmt::format("v1 store pmem0+{:#x} 8 = 1\nv1 flush clflush pmem0+{:#x}\n",
                            0x1000 + i * 64, 0x1000 + i * 64);
    const Labels found = labels(text);
    // Before the first of them is stored there is a crash point for the state without anything.
    EXPECT_FALSE(found.contains("4-x0"));
    EXPECT_TRUE(found.contains("4-x2"));
    EXPECT_TRUE(found.contains("6-x0"));
    EXPECT_TRUE(found.contains("1403-x0"));
    EXPECT_FALSE(found.contains("1403-x1"));
}

// What a small random trace is as text, and as the reference has it.
class WrittenTrace {
public:
    WrittenTrace(std::vector<trace::Event> made, std::uint64_t random) : events(std::move(made))
    {
        promises.push_back(0);
        for (trace::Event &event : events) {
            promises.push_back(promises.back() + states::may_change_promise(event));
            const bool incidental = random & 1;
            random = random >> 1 | random << 63;
            add(event, incidental);
            if (incidental && event.kind == trace::EventKind::fence &&
                event.fence_kind() <= trace::FenceKind::mfence)
                event.subkind = static_cast<std::uint8_t>(trace::FenceKind::lock_rmw);
        }
    }

    std::string text;
    std::vector<trace::Event> events; // incidental fences as locked instructions
    std::vector<unsigned> promises;   // by crash point

private:
    void add(const trace::Event &event, bool incidental)
    {
        text += fmt::format("v{} {}", event.vcpu, trace::name_of(event.kind));
        const std::string subkind(trace::subkind_name(event.kind, event.subkind));
        if (event.kind == trace::EventKind::marker)
            text.replace(text.rfind("marker"), 6, subkind);
        else if (event.kind != trace::EventKind::store && event.kind != trace::EventKind::load)
            text += " " + subkind;
        if (event.has_address())
            text += fmt::format(" {:#x}", event.address);
        if (event.size != 0)
            text += fmt::format(" {}", event.size);
        if (event.is_store()) {
            text += " = hex:";
            for (const std::byte byte : trace::value_of(event, model::SmallTraces::wide_values()))
                text += fmt::format("{:02x}", static_cast<unsigned>(byte));
        }
        if (event.flags & trace::kAtomic)
            text += " atomic";
        text += incidental ? " @strncpy_from_user\n" : " @work\n";
    }
};

ReferenceModel::Image image_of(ReadyImage &image, std::uint64_t first_line)
{
    ReferenceModel::Image bytes = {};
    for (const LineContent &each : image.difference_from_initial())
        std::copy(each.bytes.begin(), each.bytes.end(),
                  bytes.begin() +
                      static_cast<std::ptrdiff_t>((each.line - first_line) * trace::kLineBytes));
    return bytes;
}

// Images by crash point. `until`: with those of the crash points before it under the same promise.
std::vector<std::set<ReferenceModel::Image>> images_of(const WrittenTrace &trace,
                                                       const ReferenceModel &reference,
                                                       model::FenceRule rule, bool until)
{
    const auto kind = model::ModelKind::adr;
    const auto closed = reference.closed_sets(kind);
    std::vector<std::set<ReferenceModel::Image>> found;
    for (std::size_t point = 0; point <= trace.events.size(); ++point) {
        found.emplace_back();
        if (until && point != 0 && trace.promises[point] == trace.promises[point - 1])
            found.back() = found[point - 1];
        const auto states = reference.states(closed, reference.executed_parts(point),
                                             reference.guaranteed_parts(point, kind, rule));
        for (const auto set : closed)
            if (states.sets[set])
                found.back().insert(reference.image(set));
    }
    return found;
}

// Through all of it, from a file with symbols to the image: a state is labelled exactly if no
// architectural crash point up to its own has its image under its promise.
TEST_F(LabelTest, SmallTracesHaveTheLabelsOfTheirDefinition)
{
    model::SmallTraces source(7);
    unsigned labelled = 0;
    unsigned clean = 0;
    for (std::uint64_t round = 0, written = 0; written < 60; ++round) {
        const WrittenTrace trace(source.next(), (round + 1) * 0x9e3779b97f4a7c15u);
        const ReferenceModel reference(trace.events, model::SmallTraces::wide_values());
        const auto strict = images_of(trace, reference, model::FenceRule::architectural, true);
        const auto all = images_of(trace, reference, model::FenceRule::explicit_only, false);
        if (std::equal(all.begin(), all.end(), strict.begin(),
                       [](const auto &images, const auto &architectural) {
                           return std::includes(architectural.begin(), architectural.end(),
                                                images.begin(), images.end());
                       }))
            continue; // no label in it
        ++written;
        make(trace.text);
        walk(
            [&](ReadyImage &image) {
                const bool expected =
                    strict[image.point().seq].contains(image_of(image, reference.first_line()));
                EXPECT_EQ(image.architectural(), expected) << image.id() << " of\n" << trace.text;
                ++(expected ? clean : labelled);
            },
            {"strncpy_from_user"});
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(labelled, 200u);
    EXPECT_GT(clean, 500u);
}

} // namespace
} // namespace fencepost::image
