// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's ends of the control and log channels.
#pragma once

#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

struct Channels {
    ChannelKind kind = ChannelKind::virtio;
    Descriptor control;
    Descriptor log;

    bool open() const { return control && log; }
};

// Virtio ports by name, waited for; without them (or at once with `serial_only`) the second and
// third serial port. The first is the kernel's console and none of ours.
Channels open_channels(bool serial_only);

} // namespace fencepost::agent
