// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_visit.h.
#include "replayer/oracle/guest_visit.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/guest/judged/judged_guest.h"
#include "replayer/oracle/oracle.h"

namespace fencepost::oracle {

namespace {

constexpr std::size_t kMostFile = std::size_t{1} << 30;
constexpr std::chrono::seconds kClearingTime(10); // for processes of a command to be killed

} // namespace

GuestVisit::GuestVisit(guest::JudgedGuest &guest, const Question &question, const std::string &root)
    : guest_(guest), question_(question), root_(root)
{
}

std::uint64_t GuestVisit::crash_seq() const
{
    return question_.crash_seq;
}

bool GuestVisit::crashed() const
{
    return question_.crashed;
}

Deadline GuestVisit::deadline(std::chrono::milliseconds more) const
{
    return Deadline::after(question_.time_limit + more);
}

template <typename Ask> auto GuestVisit::ask(Ask &&ask)
{
    rethrow_loss();
    const Stopwatch watch;
    try {
        auto answer = ask();
        seconds_ += watch.seconds();
        return answer;
    } catch (const Error &) {
        seconds_ += watch.seconds();
        loss_ = std::current_exception();
        throw;
    }
}

void GuestVisit::rethrow_loss() const
{
    if (loss_)
        std::rethrow_exception(loss_);
}

agent::Outcome<agent::MountReply> GuestVisit::mount(const agent::MountRequest &request)
{
    return ask([&] { return guest_.mount(request, deadline()); });
}

agent::Outcome<agent::UnmountReply> GuestVisit::unmount()
{
    return ask([&] { return guest_.unmount(root_, deadline()); });
}

agent::Outcome<agent::RunReply> GuestVisit::run(agent::RunRequest request)
{
    const auto most = static_cast<std::uint32_t>(question_.time_limit.count());
    const bool cut = request.time_limit_ms == 0 || request.time_limit_ms > most;
    if (cut)
        request.time_limit_ms = most;
    if (request.directory.empty())
        request.directory = root_;
    return ask([&] {
        agent::Outcome<agent::RunReply> answer = guest_.run(request, deadline(kClearingTime));
        const auto *reply = std::get_if<agent::RunReply>(&answer);
        spent_ = spent_ || (reply && reply->survivors != 0);
        if (reply && reply->end == agent::RunEnd::timed_out && cut) {
            hung_ = true;
            fail(ErrorKind::guest, "a command did not end in its time");
        }
        return answer;
    });
}

agent::Outcome<std::string> GuestVisit::read(const std::string &path)
{
    return ask([&] { return guest_.read_file(path, kMostFile, deadline()); });
}

agent::Outcome<agent::WriteFileReply> GuestVisit::write(const std::string &path,
                                                        std::string_view data)
{
    return ask([&] { return guest_.write_file(path, data, deadline()); });
}

agent::TreeDump GuestVisit::tree()
{
    agent::JudgeRequest request;
    request.mount.target = root_; // where it is: without a type nothing is mounted
    request.dump = true;
    request.limits.blocks = 0;
    return ask([&] { return guest_.judge(request, deadline()).tree; });
}

} // namespace fencepost::oracle
