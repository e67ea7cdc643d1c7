// SPDX-License-Identifier: GPL-2.0-or-later
// The one exception type, and the assertion that stays on in release builds.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace fencepost {

enum class ErrorKind { usage, trace, guest, io, internal, interrupted };

class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string &message) : std::runtime_error(message), kind_(kind) {}

    ErrorKind kind() const { return kind_; }
    int exit_code() const;

private:
    ErrorKind kind_;
};

[[noreturn]] void fail_formatted(ErrorKind kind, fmt::string_view format, fmt::format_args args);

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args &&...args)
{
    fail_formatted(kind, format, fmt::make_format_args(args...));
}

// Throws an `io` error whose message ends in the text of `error_number`.
[[noreturn]] void fail_errno(const std::string &what, int error_number);
[[noreturn]] void fail_errno(const std::string &what);

[[noreturn]] void check_failed(const char *file, int line, const char *condition,
                               const char *message);

} // namespace fencepost

#define CHECK(condition, message)                                                                  \
    (static_cast<bool>(condition)                                                                  \
         ? void(0)                                                                                 \
         : ::fencepost::check_failed(__FILE__, __LINE__, #condition, message))
