// SPDX-License-Identifier: GPL-2.0-or-later
// See raw_terminal.h.
#include "base/raw_terminal.h"

#include "base/error.h"

namespace fencepost {

RawTerminal::RawTerminal(int fd) : fd_(fd), before_()
{
    if (tcgetattr(fd_, &before_) < 0)
        fail_errno("cannot read the settings of the terminal");
    termios raw = before_;
    cfmakeraw(&raw);
    if (tcsetattr(fd_, TCSADRAIN, &raw) < 0)
        fail_errno("cannot change the settings of the terminal");
}

RawTerminal::~RawTerminal()
{
    tcsetattr(fd_, TCSADRAIN, &before_);
}

} // namespace fencepost
