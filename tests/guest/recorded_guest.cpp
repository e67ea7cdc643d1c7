// SPDX-License-Identifier: GPL-2.0-or-later
// See recorded_guest.h.
#include "tests/guest/recorded_guest.h"

#include "base/error.h"
#include "base/places.h"
#include "trace/writer.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPmBase = 4ull << 30;

void prepare_trace(const fs::path &path, const trace::Region &region, const fs::path &pm)
{
    trace::TraceWriter writer = trace::TraceWriter::create(path);
    writer.put_region(region);
    writer.put_initial_image(region, pm);
    writer.leave_prepared();
}

} // namespace

fs::path tracer_plugin()
{
    return built_part("qemu-plugin", "fencepost-tracer.so");
}

RecordedGuest::RecordedGuest(World &world, const fs::path &directory,
                             const RecordingRequest &request)
    : trace_(directory / "trace.db"), pm_(world.new_pm_file())
{
    const PmConfig &device = world.source().config.pm.at(0);
    if (!request.file_system.empty())
        make_file_system(pm_, device, request.file_system);
    region_ = {
        .id = 1, .name = "pmem0", .base = kPmBase, .size = device.size, .file = pm_.filename()};
    prepare_trace(trace_, region_, pm_);
    prepared_bytes_ = fs::file_size(trace_);
    const std::string plugin = fmt::format("{},trace={}{}", tracer_plugin().string(),
                                           trace_.string(), request.plugin_options);
    guest_ = world.store().restore(world.source(), {pm_}, soon(), {"-plugin", plugin});
}

void RecordedGuest::end()
{
    guest_->power_off(soon());
    // stderr is empty unless the tracer complained.
    const std::string words = guest_->machine().last_words();
    if (words.find("fencepost-tracer: ") != std::string::npos)
        fail(ErrorKind::guest, "{}", words);
}

trace::Comparison RecordedGuest::compare() const
{
    const trace::TraceReader reader(trace_);
    std::vector<std::byte> replayed(region_.size);
    reader.load_initial_image(region_, replayed);
    const std::vector<trace::RegionImage> images = {{region_, replayed}};
    const trace::ReplayCounts counts = trace::replay_onto(reader, images);
    if (counts.outside)
        fail(ErrorKind::trace, "{} stores are outside PM", counts.outside);
    const std::string actual = read_file(pm_);
    const std::vector<std::span<const std::byte>> actuals = {std::as_bytes(std::span(actual))};
    return compare_images(reader, images, actuals);
}

void put_program(Guest &guest, const fs::path &file, const std::string &path)
{
    const auto answer = guest.with_agent([&](AgentClient &agent) {
        return agent.write_whole_file(path, read_file(file), 0755, soon());
    });
    if (!answer)
        fail(ErrorKind::guest, "{}", answer.message());
}

void mount_pm(Guest &guest, const std::string &file_system)
{
    const MountRequest what = {"/dev/pmem0", "/mnt/pm", file_system, "dax"};
    const auto answer =
        guest.with_agent([&](AgentClient &agent) { return agent.mount(what, soon()); });
    if (!answer)
        fail(ErrorKind::guest, "{}", answer.message());
}

} // namespace fencepost::guest
