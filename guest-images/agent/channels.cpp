// SPDX-License-Identifier: GPL-2.0-or-later
// See channels.h.
#include "guest-images/agent/channels.h"

#include <fcntl.h>
#include <termios.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/directory.h"
#include "guest-images/agent/file_requests.h"

namespace fencepost::agent {

namespace {

constexpr std::uint64_t kPortPatienceUsec = 3'000'000;
constexpr std::uint64_t kPortPauseUsec = 5'000;

Descriptor open_port(const std::string &wanted)
{
    const std::string ports = "/sys/class/virtio-ports";
    for (const std::string &port : directory_names(ports))
        if (read_line(ports + "/" + port + "/name") == wanted)
            return Descriptor(open(("/dev/" + port).c_str(), O_RDWR | O_CLOEXEC));
    return Descriptor();
}

Descriptor open_serial(const char *path)
{
    Descriptor port(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios settings;
    // A port without hardware opens too, and fails here.
    if (!port || tcgetattr(port.get(), &settings) < 0)
        return Descriptor();
    cfmakeraw(&settings);
    settings.c_cflag |= CLOCAL | CREAD;
    settings.c_cflag &= ~static_cast<tcflag_t>(CRTSCTS);
    cfsetspeed(&settings, B115200);
    if (tcsetattr(port.get(), TCSANOW, &settings) < 0)
        return Descriptor();
    // What firmware or a probe left there; the host sends nothing before the hello.
    tcflush(port.get(), TCIFLUSH);
    return port;
}

} // namespace

Channels open_channels(bool serial_only)
{
    Channels channels;
    const std::uint64_t give_up = monotonic_usec() + kPortPatienceUsec;
    while (!serial_only) {
        if (!channels.control)
            channels.control = open_port("fencepost.control");
        if (!channels.log)
            channels.log = open_port("fencepost.log");
        if (channels.open())
            return channels;
        if (monotonic_usec() >= give_up)
            break;
        pause_usec(kPortPauseUsec);
    }
    channels.kind = ChannelKind::serial;
    channels.control = open_serial("/dev/ttyS1");
    channels.log = open_serial("/dev/ttyS2");
    return channels;
}

} // namespace fencepost::agent
