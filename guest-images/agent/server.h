// SPDX-License-Identifier: GPL-2.0-or-later
// The server process of the agent: takes requests one at a time and answers each.
#pragma once

#include <string_view>

namespace fencepost::agent {

enum class ServeEnd { channel_closed, power_off };

// Sends `greeting`, then serves. `channel` is a blocking stream socket, virtio port or terminal; of
// these only a socket can be closed. After a power_off has been answered, doing it is the caller's
// part. Changes the process's signal mask, umask and subreaper flag: run it in a process of its
// own.
ServeEnd serve(int channel, std::string_view greeting = {});

// Of a process that does requests: its signal mask, umask and subreaper flag.
void prepare_to_serve();

// False when the channel is closed.
bool write_frame(int channel, std::string_view frame);

} // namespace fencepost::agent
