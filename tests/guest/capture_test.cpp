// SPDX-License-Identifier: GPL-2.0-or-later
// The proof of capture: a user program and a kernel module execute every form of store, flush and
// fence on PM and say what they did; the trace has exactly that, in that order.
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/files.h"
#include "tests/guest/capture_list.h"
#include "tests/guest/kernel_module.h"
#include "tests/guest/recorded_guest.h"

namespace fencepost::guest {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kPmBase = 4ull << 30;
constexpr std::uint64_t kPageName = 0xfe9ce9057000; // what capture_user.c stores first in each page
constexpr std::int64_t kOtherOperation = 6;
constexpr std::int64_t kUserOperation = 7;
constexpr std::int64_t kKernelOperation = 8;

struct Case {
    const char *name;
    PmAttach attach;
    unsigned cpus;
    const char *kernel_arguments;
    const char *run_on; // prefix of commands
    unsigned vcpu;      // that they then run on
};

const Case kCases[] = {
    {"five_levels", PmAttach::nvdimm, 1, "", "", 0},
    {"four_levels", PmAttach::nvdimm, 1, "no5lvl", "", 0},
    {"second_cpu", PmAttach::nvdimm, 2, "", "taskset 2 ", 1},
    {"e820", PmAttach::e820, 1, "", "", 0},
};

// The whole list, when it is right.
std::string joined(const std::vector<std::string> &lines)
{
    std::string text;
    for (const std::string &line : lines)
        text += line + "\n";
    return text;
}

// Functions of a program, by address, from its symbol table.
std::map<std::uint64_t, std::string> functions_of(const std::string &program)
{
    std::map<std::uint64_t, std::string> functions;
    std::istringstream lines(run_command({find_program("nm").value().string(), program}).output);
    std::string address;
    std::string type;
    std::string name;
    while (lines >> address >> type >> name)
        if (type == "t" || type == "T")
            functions[std::stoull(address, nullptr, 16)] = name;
    return functions;
}

class Capture : public testing::TestWithParam<Case> {
protected:
    Capture()
    {
        config_.cpus = GetParam().cpus;
        config_.clock = Clock::icount;
        config_.kernel_arguments = GetParam().kernel_arguments;
        config_.pm[0].attach = GetParam().attach;
    }

    std::string run(RecordedGuest &recorded, const std::string &command)
    {
        const RunReply reply = run_in(recorded.guest(), {"sh", "-c", GetParam().run_on + command});
        EXPECT_TRUE(reply.success()) << reply.errors;
        EXPECT_FALSE(reply.output_truncated);
        return reply.output;
    }

    // Everything that the recording says about itself.
    void expect_good_quality(const RecordedGuest &recorded, std::int64_t absent_flushes = 0,
                             std::int64_t unresolved = 0)
    {
        const trace::Comparison comparison = recorded.compare();
        EXPECT_EQ(comparison.differing_lines, 0u);
        for (const trace::LineDifference &line : comparison.first)
            ADD_FAILURE() << fmt::format("line {:#x} differs", line.line * trace::kLineBytes);
        for (const trace::DataQuality &counter :
             trace::TraceReader(recorded.trace_file()).data_quality())
            EXPECT_EQ(counter.value, counter.name == "flushes_of_absent_pages"     ? absent_flushes
                                     : counter.name == "unresolved_absent_flushes" ? unresolved
                                                                                   : 0)
                << counter.name;
    }

    GuestConfig config_;
    TemporaryDirectory directory_{"/tmp", "fp-capture-"};
};

TEST_P(Capture, UserProgram)
{
    World world("process", config_);
    RecordedGuest recorded(world, directory_.path(),
                           {.file_system = "ext4", .plugin_options = ",stacks=on"});
    mount_pm(recorded.guest(), "ext4");
    put_program(recorded.guest(), FENCEPOST_CAPTURE_PROGRAM, "/tmp/capture");
    // QEMU's vCPUs share translated code: some of it is now the first one's.
    run_in(recorded.guest(),
           {"taskset", "1", "/tmp/capture", "/mnt/pm/other", std::to_string(kOtherOperation)});
    const auto done = parse_capture_list(
        run(recorded, fmt::format("/tmp/capture /mnt/pm/area {}", kUserOperation)));
    recorded.end();
    expect_good_quality(recorded, 6, 2); // three in each run, of one the page never appears

    const trace::TraceReader reader(recorded.trace_file());
    std::uint64_t process = 0;
    std::uint64_t other_process = 0;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.marker.number == kUserOperation)
            process = row.marker.process;
        else if (row.marker.number == kOtherOperation)
            other_process = row.marker.process;
    });
    const std::vector<trace::SiteRow> sites = reader.sites();
    // What the kernel does meanwhile is its own.
    const auto captured = captured_events(reader, kUserOperation, [&](const trace::Event &event) {
        const trace::Site &site = sites.at(event.site - 1).site;
        return site.privilege == trace::Privilege::user && site.address_space == process;
    });
    std::map<std::uint64_t, std::uint64_t> pages;
    for (const CapturedEvent &event : captured)
        if (event.event.size == 8 && event.event.value / kPage == kPageName / kPage)
            pages.emplace(event.event.value - kPageName, event.event.address);
    EXPECT_EQ(joined(differences(
                  done, captured,
                  [&](std::uint64_t offset) { return pages.at(offset / kPage) + offset % kPage; })),
              "");
    EXPECT_GT(done.size(), 3000u);
    for (const CapturedEvent &event : captured)
        ASSERT_EQ(event.event.vcpu, GetParam().vcpu);

    std::uint64_t volatile_flushes = 0;
    for (const trace::SiteRow &row : sites)
        if (row.site.address_space == process)
            volatile_flushes += row.counts.volatile_flushes;
    // The second process may have got the page tables of the first.
    EXPECT_EQ(volatile_flushes, (process == other_process ? 2u : 1u) * (3u + 2u));
}

TEST_P(Capture, CallChain)
{
    World world("process", config_);
    RecordedGuest recorded(world, directory_.path(),
                           {.file_system = "ext4", .plugin_options = ",stacks=on"});
    mount_pm(recorded.guest(), "ext4");
    put_program(recorded.guest(), FENCEPOST_CAPTURE_PROGRAM, "/tmp/capture");
    run(recorded, fmt::format("/tmp/capture /mnt/pm/area {}", kUserOperation));
    recorded.end();

    const trace::TraceReader reader(recorded.trace_file());
    const auto functions = functions_of(FENCEPOST_CAPTURE_PROGRAM);
    const std::vector<trace::SiteRow> sites = reader.sites();
    const std::vector<trace::Stack> stacks = reader.stacks();
    const auto frames = reader.stack_frames();
    auto name_of = [&](std::uint64_t pc) { return std::prev(functions.upper_bound(pc))->second; };
    std::vector<std::string> chains;
    for (const CapturedEvent &captured :
         captured_events(reader, kUserOperation, [&](const trace::Event &event) {
             return event.is_store() && event.value == 0x1111 && event.size == 8;
         })) {
        std::string chain = name_of(sites.at(captured.event.site - 1).site.pc);
        for (trace::StackId at = captured.event.stack; at != 0; at = stacks.at(at - 1).parent)
            chain += fmt::format(" {}", name_of(frames.at(stacks.at(at - 1).frame - 1).frame.pc));
        chains.push_back(chain);
    }
    ASSERT_EQ(chains.size(), 1u);
    EXPECT_TRUE(chains[0].starts_with("inner middle outer main ")) << chains[0];
    EXPECT_TRUE(chains[0].ends_with(" _start")) << chains[0];
}

TEST_P(Capture, KernelModule)
{
    World world("process", config_);
    const std::filesystem::path sources = FENCEPOST_CAPTURE_SOURCES;
    const auto module = build_kernel_module(world.source().kernel_release,
                                            {sources / "capture_module.c", sources / "operations.h",
                                             sources / "capture_log.h", FENCEPOST_MARKER_HEADER},
                                            directory_.path());
    RecordedGuest recorded(world, directory_.path(), {});
    put_program(recorded.guest(), module, "/tmp/capture.ko");
    const std::uint64_t physical = kPmBase + (32 << 20);
    run(recorded, fmt::format("insmod /tmp/capture.ko physical={}", physical));
    const auto done = parse_capture_list(run(recorded, "cat /proc/fencepost_capture"));
    recorded.end();
    expect_good_quality(recorded);

    const trace::TraceReader reader(recorded.trace_file());
    const auto captured = captured_events(reader, kKernelOperation, [&](const trace::Event &event) {
        return event.vcpu == GetParam().vcpu;
    });
    EXPECT_EQ(joined(differences(done, captured,
                                 [&](std::uint64_t offset) { return physical + offset; })),
              "");
    EXPECT_GT(done.size(), 5000u);
}

INSTANTIATE_TEST_SUITE_P(Table, Capture, testing::ValuesIn(kCases),
                         [](const auto &given) { return std::string(given.param.name); });

} // namespace
} // namespace fencepost::guest
