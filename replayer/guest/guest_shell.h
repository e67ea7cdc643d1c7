// SPDX-License-Identifier: GPL-2.0-or-later
// A shell in a guest: for a person at a terminal, or for commands from a file or a pipe.
#pragma once

#include <string>
#include <vector>

#include "replayer/guest/guest.h"

namespace fencepost::guest {

struct ShellRequest {
    std::string directory; // where it starts
    std::vector<std::string> environment = {};
};

// Ctrl-], which leaves a guest that answers no more.
inline constexpr char kLeaveKey = 0x1d;

// On our terminal, which is restored however this ends. Returns when the shell has ended or was
// left; the guest is then of no more use. A guest that is lost is a GuestLost.
void open_shell(Guest &guest, const ShellRequest &request);

// Commands as one text, and what they wrote; a time without limit.
agent::RunReply run_in_shell(Guest &guest, const ShellRequest &request,
                             const std::string &commands);

} // namespace fencepost::guest
