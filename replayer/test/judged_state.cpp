// SPDX-License-Identifier: GPL-2.0-or-later
// See judged_state.h.
#include "replayer/test/judged_state.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/image/state_delta.h"
#include "replayer/run/interrupted.h"
#include "replayer/states/state_walk.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/pool/worker.h"
#include "replayer/test/run_judge.h"
#include "replayer/test/test_guest.h"

namespace fencepost::test {

namespace {

constexpr std::chrono::minutes kRestoreTime(2);

bool same_regions(std::span<const trace::Region> ours, std::span<const trace::Region> theirs)
{
    return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                      [](const trace::Region &a, const trace::Region &b) {
                          return a.base == b.base && a.size == b.size &&
                                 a.initial_digest == b.initial_digest;
                      });
}

// Opens what the image comes from.
trace::TraceReader open_trace(const run::RunFiles &files)
{
    trace::TraceReader reader(files.trace());
    run::refuse_interrupted(reader);
    return reader;
}

} // namespace

// What the state is, read from the run.
struct JudgedState::Image {
    Image(const run::RunFiles &files, const StateRequest &request)
        : reader(open_trace(files)), inputs(run::load_inputs(files)), initial(reader)
    {
        assignment.state = states::parse_crash_state(request.state);
        assignment.keep_tree = true;
        assignment.content.step = std::make_shared<image::ImageStep>();
        assignment.content.in_flight = lines(request);
    }

    std::vector<image::LineContent> lines(const StateRequest &request) const
    {
        if (request.delta) {
            if (!same_regions(request.delta->regions, initial.regions()))
                fail(ErrorKind::trace, "the image of {} is of another recording", request.state);
            return request.delta->lines;
        }
        const trace::IncidentalFences incidental(
            reader, trace::incidental_functions(request.incidental.empty() ? inputs.test.incidental
                                                                           : request.incidental));
        return image::delta_of(reader, initial, assignment.state, incidental).lines;
    }

    const trace::TraceReader reader;
    const run::Inputs inputs;
    const image::InitialImage initial;
    Assignment assignment = {.state = {}, .content = {}};
};

struct JudgedState::Guests {
    Guests(const JudgedState &owner)
        : guest(owner.cache_, owner.request_.backend, owner.image_->inputs.config,
                owner.request_.accelerator, owner.say_),
          place(owner.cache_, guest.source().config, 1),
          held(owner.image_->initial, owner.image_->assignment.content.step)
    {
    }

    const TestGuest guest;
    const PmPlace place;
    image::HeldImage held;
    std::optional<PmFiles> files = {}; // of restore()
};

JudgedState::JudgedState(const run::RunFiles &files, const std::filesystem::path &cache,
                         StateRequest request, const Say &say)
    : files_(files), cache_(cache), request_(std::move(request)), say_(say),
      image_(std::make_unique<Image>(files_, request_))
{
}

JudgedState::~JudgedState() = default;

const run::Inputs &JudgedState::inputs() const
{
    return image_->inputs;
}

const std::vector<std::string> &JudgedState::oracles() const
{
    return request_.oracles.empty() ? inputs().test.oracles : request_.oracles;
}

std::uint64_t JudgedState::crash_seq() const
{
    return image_->assignment.state.seq;
}

std::size_t JudgedState::changed_lines() const
{
    return image_->assignment.content.in_flight.size();
}

JudgedState::Guests &JudgedState::guests()
{
    if (!guests_)
        guests_ = std::make_unique<Guests>(*this);
    return *guests_;
}

oracle::GuestWork JudgedState::work()
{
    return judge_of_run().work_about(crash_seq());
}

oracle::Judge &JudgedState::judge_of_run()
{
    if (judge_)
        return *judge_;
    judge_ = make_run_judge({.run = files_,
                             .inputs = image_->inputs,
                             .oracles = request_.oracles,
                             .own = request_.own_oracles,
                             .cache = cache_,
                             .progress = say_});
    if (request_.baseline) {
        judge_->mask(request_.baseline->evidence());
        judge_->expect_space(request_.baseline->used);
    }
    return *judge_;
}

Worker &JudgedState::worker()
{
    if (worker_)
        return *worker_;
    oracle::Judge &judge = judge_of_run();
    const TestGuest &guest = guests().guest;
    plan_ = std::make_unique<WorkerPlan>(WorkerPlan{
        guest.templates(), guest.source(), image_->initial, judge, guests_->place.path(), true});
    worker_ = std::make_unique<Worker>(*plan_, 0, image_->assignment.content.step);
    return *worker_;
}

oracle::Judgement JudgedState::judge()
{
    return worker().test(image_->assignment).judgement;
}

void JudgedState::fill_pm_files()
{
    Guests &all = guests();
    if (!all.files) {
        const std::filesystem::path directory = all.place.path() / "looked-at";
        make_directories(directory);
        all.files.emplace(directory, image_->initial, all.guest.source().config);
    }
    all.files->suspect_everything();
    all.held.show(image_->assignment.content,
                  [&](std::uint64_t line) { all.files->suspect_line(line); });
    all.files->sync(all.held);
}

std::unique_ptr<guest::Guest> JudgedState::restore(const std::vector<std::string> &extra_arguments)
{
    fill_pm_files();
    return guests_->guest.templates().restore(source(), pm_files(), Deadline::after(kRestoreTime),
                                              extra_arguments);
}

const guest::Template &JudgedState::source()
{
    return guests().guest.source();
}

const std::vector<std::filesystem::path> &JudgedState::pm_files()
{
    CHECK(guests().files, "fill_pm_files() first");
    return guests_->files->paths();
}

const std::filesystem::path &JudgedState::scratch()
{
    return guests().place.path();
}

std::string JudgedState::qemu_command() const
{
    const auto backend = guest::make_backend(request_.backend, cache_);
    const guest::TemplateStore store(cache_, *backend);
    return guest::shown_command(
        store.shown_plan(test_config(cache_, inputs().config, request_.accelerator)));
}

} // namespace fencepost::test
