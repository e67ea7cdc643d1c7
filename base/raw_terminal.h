// SPDX-License-Identifier: GPL-2.0-or-later
// A terminal that hands every key on as it is, for as long as this lives.
#pragma once

#include <termios.h>

namespace fencepost {

class RawTerminal {
public:
    explicit RawTerminal(int fd);
    RawTerminal(RawTerminal &&) = delete;
    ~RawTerminal(); // as it was before

private:
    int fd_;
    termios before_;
};

} // namespace fencepost
