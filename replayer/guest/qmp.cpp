// SPDX-License-Identifier: GPL-2.0-or-later
// See qmp.h. QEMU sends one JSON document a line.
#include "replayer/guest/qmp.h"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"

namespace fencepost::guest {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxMessage = 16 << 20;

} // namespace

QmpSession::QmpSession(Fd socket, int machine_end_fd, Deadline deadline)
    : socket_(std::move(socket)), machine_end_fd_(machine_end_fd)
{
    while (answers_.empty()) // the greeting
        if (!read_more(deadline, "QEMU's greeting"))
            fail(ErrorKind::guest, "QEMU closed its monitor before it greeted");
    answers_.clear();
    execute("qmp_capabilities", json::object(), deadline);
}

QmpSession::~QmpSession() = default;

json QmpSession::execute(const std::string &command, const json &arguments, Deadline deadline)
{
    json request = {{"execute", command}};
    if (!arguments.empty())
        request["arguments"] = arguments;
    std::string text = json_text(request, BadUtf8::refuse);
    spdlog::trace("qmp > {}", text);
    text += '\n';
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t got =
            send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail(ErrorKind::guest, "QEMU's monitor is gone, '{}' could not be sent", command);
        sent += static_cast<std::size_t>(got);
    }
    while (answers_.empty())
        if (!read_more(deadline, command.c_str()))
            fail(ErrorKind::guest, "QEMU closed its monitor before it answered '{}'", command);
    const json answer = answers_.front();
    answers_.pop_front();
    if (answer.contains("error"))
        fail(ErrorKind::guest, "QEMU refused '{}': {}", command,
             answer["error"].value("desc", std::string("no reason given")));
    return answer.value("return", json::object());
}

bool QmpSession::drain()
{
    for (;;) {
        pollfd waited = {socket_.get(), POLLIN, 0};
        if (poll(&waited, 1, 0) <= 0)
            return true;
        if (!read_more(Deadline::never(), "events"))
            return false;
    }
}

bool QmpSession::read_more(Deadline deadline, const char *waiting_for)
{
    std::array<pollfd, 3> waited = {
        {{socket_.get(), POLLIN, 0}, {machine_end_fd_, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}}};
    while (poll(waited.data(), waited.size(), deadline.poll_timeout()) < 0 && errno == EINTR)
        ;
    if (waited[2].revents)
        throw_if_interrupted();
    // What QEMU said last is still to be read when it has died; an empty socket then gives EOF.
    if (!waited[0].revents) {
        if (waited[1].revents)
            return false;
        fail(ErrorKind::guest, "QEMU did not answer in time (waiting for {})", waiting_for);
    }
    char buffer[16384];
    const ssize_t got = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    input_.append(buffer, static_cast<std::size_t>(got));
    std::string line;
    while (next_line(line)) {
        spdlog::trace("qmp < {}", line);
        json message = json_or_discarded(line);
        if (!message.is_object())
            fail(ErrorKind::guest, "QEMU's monitor sent something that is not QMP");
        sort_out(std::move(message));
    }
    if (input_.size() > kMaxMessage)
        fail(ErrorKind::guest, "QEMU's monitor sent a message without an end");
    return true;
}

bool QmpSession::next_line(std::string &line)
{
    const auto end = input_.find('\n');
    if (end == std::string::npos)
        return false;
    line = input_.substr(0, end);
    input_.erase(0, end + 1);
    return true;
}

void QmpSession::sort_out(json message)
{
    (message.contains("event") ? events_ : answers_).push_back(std::move(message));
}

} // namespace fencepost::guest
