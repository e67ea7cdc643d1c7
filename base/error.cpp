// SPDX-License-Identifier: GPL-2.0-or-later
// Failures are exceptions and outcomes are values. `Error` carries the kind that decides the exit
// code of the command line (docs/reference/exit-codes.md); `CHECK` guards our own invariants.
#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace fencepost {

int Error::exit_code() const
{
    switch (kind_) {
    case ErrorKind::usage:
        return 2;
    case ErrorKind::trace:
        return 3;
    case ErrorKind::guest:
    case ErrorKind::io:
        return 4;
    case ErrorKind::interrupted:
        return 130;
    case ErrorKind::internal:
        break;
    }
    return 70;
}

void fail_formatted(ErrorKind kind, fmt::string_view format, fmt::format_args args)
{
    throw Error(kind, fmt::vformat(format, args));
}

void fail_errno(const std::string &what, int error_number)
{
    if (error_number == ENOSPC)
        fail(ErrorKind::io, "{}: the disk is full; free some space and run the command again",
             what);
    fail(ErrorKind::io, "{}: {}", what, std::strerror(error_number));
}

void fail_errno(const std::string &what)
{
    fail_errno(what, errno);
}

void check_failed(const char *file, int line, const char *condition, const char *message)
{
    fail(ErrorKind::internal, "{} ({}:{}: {})", message, file, line, condition);
}

} // namespace fencepost
