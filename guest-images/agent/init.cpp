// SPDX-License-Identifier: GPL-2.0-or-later
// fencepost-agent, PID 1 of a guest: sets the system up, starts the log and server processes, and
// tells the host when it had to replace the server. It never touches a file system under test.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>

#include "guest-images/agent/boot_parameters.h"
#include "guest-images/agent/channels.h"
#include "guest-images/agent/clock.h"
#include "guest-images/agent/descendants.h"
#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/kernel_log.h"
#include "guest-images/agent/modules.h"
#include "guest-images/agent/pm_devices.h"
#include "guest-images/agent/recording.h"
#include "guest-images/agent/server.h"
#include "guest-images/agent/standalone.h"

namespace fencepost::agent {
namespace {

constexpr std::uint64_t kPmPatienceUsec = 10'000'000;
constexpr pid_t kKernelThreads = 2; // their parent

void mount_at(const char *fstype, const char *target, const char *data = "")
{
    make_directories(target);
    mount(fstype, target, fstype, MS_NOSUID, data);
}

void set_up_system()
{
    umask(022);
    mount_at("devtmpfs", "/dev", "mode=0755");
    // The kernel gives init no descriptors when the initramfs has no /dev/console.
    for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd < 2;)
        fd = open("/dev/null", O_RDWR);
    mount_at("proc", "/proc");
    mount_at("sysfs", "/sys");
    mount_at("devpts", "/dev/pts", "mode=0620,ptmxmode=0666");
    mount_at("tmpfs", "/dev/shm", "mode=1777");
    mount_at("tmpfs", "/tmp", "mode=1777");
    mount_at("tmpfs", "/run", "mode=0755");
    // Cheap, and absent from many kernels.
    mount("debugfs", "/sys/kernel/debug", "debugfs", 0, "");
    sethostname("fencepost", 9);
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
    setenv("HOME", "/root", 1);
    signal(SIGPIPE, SIG_IGN);
}

// The drivers make them asynchronously, after their modules have loaded.
std::vector<PmDevice> wait_for_pm(unsigned count)
{
    const std::uint64_t give_up = monotonic_usec() + kPmPatienceUsec;
    for (;;) {
        std::vector<PmDevice> devices = list_pm_devices();
        std::size_t with_node = 0;
        for (const PmDevice &device : devices)
            with_node += access(("/dev/" + device.name).c_str(), F_OK) == 0;
        if (with_node >= count)
            return devices;
        if (monotonic_usec() >= give_up) {
            note_in_kernel_log("only " + std::to_string(with_node) + " of " +
                               std::to_string(count) + " PM devices came up");
            return devices;
        }
        pause_usec(2'000);
    }
}

void set_oom_score(const char *score)
{
    const Descriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ssize_t ignored = write(file.get(), score, std::strlen(score));
}

// A child of init that the OOM killer spares while there is anything else.
pid_t fork_part(const char *name)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_NAME, name);
    set_oom_score("-900");
    return 0;
}

// The server reads and writes the control channel itself, as every hop between processes costs an
// emulated guest more than a small request does. init writes to it only while there is no server.
class Init {
public:
    explicit Init(Channels channels) : channels_(std::move(channels)) {}

    void start_log();
    void start_server(std::string_view greeting);
    [[noreturn]] void supervise();

private:
    void kill_strays();
    [[noreturn]] void power_off();

    Channels channels_;
    pid_t log_ = -1;
    pid_t server_ = -1;
};

void Init::start_log()
{
    log_ = fork_part("fencepost-log");
    if (log_ == 0)
        stream_kernel_log(channels_.log.get());
}

void Init::start_server(std::string_view greeting)
{
    server_ = fork_part("fencepost-serve");
    if (server_ == 0) {
        serve(channels_.control.get(), greeting);
        power_off(); // these channels are never closed
    }
}

Hello make_hello(ChannelKind channel, std::vector<ModuleFailure> module_failures,
                 std::vector<PmDevice> pm_devices)
{
    Hello hello;
    utsname system;
    uname(&system);
    hello.kernel_release = system.release;
    hello.channel = channel;
    hello.cpus_online = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    hello.module_failures = std::move(module_failures);
    hello.pm_devices = std::move(pm_devices);
    return hello;
}

// Everything that the lost server had started: its successor begins with a clean system.
void Init::kill_strays()
{
    constexpr int kPasses = 20;
    for (int pass = 0; pass < kPasses; ++pass) {
        bool found = false;
        for (const ProcessEntry &process : list_processes()) {
            if (process.pid == getpid() || process.pid == log_ || process.pid == kKernelThreads ||
                process.parent == kKernelThreads)
                continue;
            kill(process.pid, SIGKILL);
            found = true;
        }
        if (!found)
            return;
        pause_usec(5'000);
    }
}

void Init::power_off()
{
    if (channels_.kind == ChannelKind::serial)
        tcdrain(channels_.control.get());
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

void Init::supervise()
{
    for (;;) {
        int status = 0;
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended == log_) {
            start_log(); // repeats records that were sent; their sequence numbers tell
        } else if (ended == server_) {
            kill_strays();
            write_frame(channels_.control.get(),
                        encode_message(0, WIFSIGNALED(status)
                                              ? ServerLost{true, WTERMSIG(status)}
                                              : ServerLost{false, WEXITSTATUS(status)}));
            start_server({});
        }
    }
}

int run_as_init()
{
    set_up_system();
    const BootParameters parameters = parse_boot_parameters(read_line("/proc/cmdline"));
    std::vector<ModuleFailure> module_failures = load_modules("/etc/fencepost/modules");
    if (parameters.recording)
        run_recording_guest(make_hello(ChannelKind::virtio, std::move(module_failures),
                                       wait_for_pm(parameters.pm_devices)));
    if (parameters.standalone)
        run_standalone_guest(make_hello(ChannelKind::serial, std::move(module_failures),
                                        wait_for_pm(parameters.pm_devices)));
    Channels channels = open_channels(parameters.serial_channel);
    while (!channels.open()) {
        note_in_kernel_log("no channel to the host: neither virtio ports named fencepost.control "
                           "and fencepost.log, nor /dev/ttyS1 and /dev/ttyS2");
        channels = open_channels(false);
    }
    const ChannelKind channel = channels.kind;
    Init init(std::move(channels));
    init.start_log();
    const Hello hello =
        make_hello(channel, std::move(module_failures), wait_for_pm(parameters.pm_devices));
    init.start_server(encode_message(0, hello));
    init.supervise();
}

} // namespace
} // namespace fencepost::agent

int main()
{
    if (getpid() != 1) {
        std::fputs("fencepost-agent runs as the first process of a fencepost guest.\n", stderr);
        return 2;
    }
    return fencepost::agent::run_as_init();
}
