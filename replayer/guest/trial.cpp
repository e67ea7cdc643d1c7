// SPDX-License-Identifier: GPL-2.0-or-later
// See trial.h.
#include "replayer/guest/trial.h"

#include "base/byte_size.h"
#include "base/scratch.h"
#include "replayer/guest/pm_file.h"

namespace fencepost::guest {

namespace {

constexpr const char *kMountPoint = "/mnt/pm";
constexpr const char *kFile = "/mnt/pm/hello";
constexpr std::size_t kFileSize = 100000;

Deadline step_deadline()
{
    return Deadline::after(std::chrono::minutes(2));
}

// A file that no stale page could hold by chance.
std::string contents()
{
    std::string text;
    while (text.size() < kFileSize)
        text += fmt::format("fencepost {}\n", text.size());
    return text;
}

template <typename Reply> const Reply &need(const Answer<Reply> &answer, const char *what)
{
    if (!answer)
        fail(ErrorKind::guest, "{} failed in the guest: {}", what, answer.message());
    return *answer;
}

class Trial {
public:
    Trial(TemplateStore &store, const std::filesystem::path &cache, const TrialRequest &request,
          const TemplateStore::Progress &progress,
          const std::function<void(const TrialStep &)> &report)
        : store_(store), request_(request), progress_(progress), report_(report), scratch_(cache)
    {
        for (std::size_t i = 0; i < request_.config.pm.size(); ++i)
            pm_files_.push_back(scratch_.path() / fmt::format("pm{}", i));
    }

    void run()
    {
        step("template", [&] { return prepare(); });
        step("restore", [&] { return restore(); });
        step("format", [&] { return format(); });
        step("mount", [&] { return mount(); });
        step("write", [&] { return write(); });
        step("read", [&] { return read(); });
        step("unmount", [&] { return unmount(); });
    }

private:
    template <typename Work> void step(const char *name, Work &&work)
    {
        const Stopwatch watch;
        const std::string detail = work();
        report_({name, detail, watch.seconds()});
    }

    template <typename Talk> auto talk(Talk &&talk)
    {
        return guest_->with_agent(std::forward<Talk>(talk));
    }

    std::string prepare()
    {
        template_ = store_.ensure(request_.config, progress_);
        return fmt::format("{}, kernel {}", template_.key.substr(0, 12), template_.kernel_release);
    }

    std::string restore()
    {
        for (std::size_t i = 0; i < pm_files_.size(); ++i)
            create_pm_file(pm_files_[i], request_.config.pm[i]);
        guest_ = store_.restore(template_, pm_files_, step_deadline());
        const agent::PmDevice &device = template_.pm_devices.at(0);
        return fmt::format("agent answers; /dev/{} has {} and {}", device.name,
                           format_size(device.size_bytes), device.dax ? "DAX" : "no DAX");
    }

    std::string format()
    {
        const PmConfig &device = request_.config.pm.at(0);
        if (request_.format_in == FormatIn::host) {
            make_file_system(pm_files_.at(0), device, request_.file_system);
            return fmt::format("{} on the host's file", request_.file_system);
        }
        RunRequest command;
        command.argv = {"mkfs." + request_.file_system, "-q"};
        if (request_.file_system == "xfs") {
            command.argv.insert(command.argv.end(), {"-f", "-m", "reflink=0"});
            command.environment = {"TEST_DIR=1", "TEST_DEV=1", "QA_CHECK_FS=1"}; // see pm_file.cpp
        } else {
            command.argv.insert(command.argv.end(), {"-F", "-b", "4096"});
        }
        command.argv.push_back("/dev/" + template_.pm_devices.at(0).name);
        command.time_limit_ms = 100000;
        const auto answer =
            talk([&](AgentClient &agent) { return agent.run(command, step_deadline()); });
        const RunReply &reply = need(answer, "mkfs");
        if (!reply.success())
            fail(ErrorKind::guest, "{} failed in the guest: {}", command.argv[0], reply.errors);
        return fmt::format("{} in the guest", request_.file_system);
    }

    std::string mount()
    {
        const MountRequest what = {"/dev/" + template_.pm_devices.at(0).name, kMountPoint,
                                   request_.file_system, "dax"};
        need(talk([&](AgentClient &agent) { return agent.mount(what, step_deadline()); }), "mount");
        const auto mounts = talk([&](AgentClient &agent) {
            return agent.read_whole_file("/proc/mounts", 1 << 20, step_deadline());
        });
        const std::string &table = need(mounts, "reading /proc/mounts");
        const auto entry = table.find(fmt::format(" {} ", kMountPoint));
        const std::string line =
            entry == std::string::npos ? "" : table.substr(entry, table.find('\n', entry) - entry);
        if (line.find("dax") == std::string::npos)
            fail(ErrorKind::guest, "{} is mounted without DAX: {}", request_.file_system, line);
        return line.substr(1);
    }

    std::string write()
    {
        need(talk([&](AgentClient &agent) {
                 return agent.write_whole_file(kFile, contents(), 0644, step_deadline());
             }),
             "writing a file");
        return fmt::format("{} bytes to {}", contents().size(), kFile);
    }

    std::string read()
    {
        const auto answer = talk([&](AgentClient &agent) {
            return agent.read_whole_file(kFile, 1 << 20, step_deadline());
        });
        if (need(answer, "reading a file") != contents())
            fail(ErrorKind::guest, "what was read from {} is not what was written", kFile);
        return "the same bytes came back";
    }

    std::string unmount()
    {
        need(talk([&](AgentClient &agent) { return agent.unmount(kMountPoint, step_deadline()); }),
             "unmount");
        return kMountPoint;
    }

    TemplateStore &store_;
    const TrialRequest &request_;
    const TemplateStore::Progress &progress_;
    const std::function<void(const TrialStep &)> &report_;
    ScratchDirectory scratch_;
    std::vector<std::filesystem::path> pm_files_;
    Template template_;
    std::unique_ptr<Guest> guest_;
};

} // namespace

void run_trial(TemplateStore &store, const std::filesystem::path &cache,
               const TrialRequest &request, const TemplateStore::Progress &progress,
               const std::function<void(const TrialStep &)> &report)
{
    validate(request.config);
    if (request.config.pm.empty())
        fail(ErrorKind::usage, "a trial needs a PM device");
    if (request.file_system != "ext4" && request.file_system != "xfs")
        fail(ErrorKind::usage, "a trial knows ext4 and xfs, not '{}'", request.file_system);
    Trial(store, cache, request, progress, report).run();
}

} // namespace fencepost::guest
