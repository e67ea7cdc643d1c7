// SPDX-License-Identifier: GPL-2.0-or-later
// What a request comes to: its reply, or a failure with an errno and one sentence.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <variant>

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

template <typename Reply> using Outcome = std::variant<Reply, Failure>;

inline Failure failure(const std::string &what, int error_number)
{
    return {error_number, what + ": " + std::strerror(error_number)};
}

inline Failure failure(const std::string &what)
{
    return failure(what, errno);
}

} // namespace fencepost::agent
