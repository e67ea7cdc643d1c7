// SPDX-License-Identifier: GPL-2.0-or-later
// fencepost-agent, PID 1 of a guest: sets the system up, starts the log and server processes, and
// relays between host and server. It does nothing that a file system under test could hang or kill.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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
#include "guest-images/agent/relay.h"
#include "guest-images/agent/server.h"

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

// A child of init: its signals as after a boot, and the OOM killer looks elsewhere first.
pid_t fork_part(const char *name)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_NAME, name);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    set_oom_score("-900");
    return 0;
}

class Init {
public:
    explicit Init(Channels channels) : channels_(std::move(channels)), relay_(channels_.control.get())
    {
        sigset_t child_ended;
        sigemptyset(&child_ended);
        sigaddset(&child_ended, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child_ended, nullptr);
        child_signals_ = Descriptor(signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK));
    }

    void start_log();
    void start_server();
    void say_hello(std::vector<ModuleFailure> module_failures, std::vector<PmDevice> pm_devices);
    [[noreturn]] void loop();

private:
    void reap();
    void kill_strays();
    [[noreturn]] void power_off();

    Channels channels_;
    Relay relay_;
    Descriptor child_signals_;
    Descriptor server_socket_;
    pid_t log_ = -1;
    pid_t server_ = -1;
};

void Init::start_log()
{
    log_ = fork_part("fencepost-log");
    if (log_ == 0)
        stream_kernel_log(channels_.log.get());
}

void Init::start_server()
{
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        note_in_kernel_log("no socket for the server");
    server_socket_ = Descriptor(ends[0]);
    Descriptor server_end(ends[1]);
    server_ = fork_part("fencepost-serve");
    if (server_ == 0) {
        server_socket_.reset();
        serve(server_end.get());
        _exit(0);
    }
    fcntl(server_socket_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
    relay_.connect_server(server_socket_.get());
}

void Init::say_hello(std::vector<ModuleFailure> module_failures, std::vector<PmDevice> pm_devices)
{
    Hello hello;
    utsname system;
    uname(&system);
    hello.kernel_release = system.release;
    hello.channel = channels_.kind;
    hello.cpus_online = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    hello.module_failures = std::move(module_failures);
    hello.pm_devices = std::move(pm_devices);
    relay_.send(encode_message(0, hello));
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

void Init::reap()
{
    signalfd_siginfo ignored;
    while (read(child_signals_.get(), &ignored, sizeof ignored) > 0)
        ;
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == log_) {
            start_log(); // repeats records that were sent; their sequence numbers tell
        } else if (pid == server_) {
            relay_.server_ended(WIFSIGNALED(status) ? ServerLost{true, WTERMSIG(status)}
                                                    : ServerLost{false, WEXITSTATUS(status)});
            kill_strays();
            start_server();
        }
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

void Init::loop()
{
    for (;;) {
        const std::array<pollfd, 2> wanted = relay_.wanted();
        pollfd waited[] = {wanted[0], wanted[1], {child_signals_.get(), POLLIN, 0}};
        poll(waited, std::size(waited), relay_.poll_timeout());
        relay_.handle({waited[0], waited[1]});
        if (relay_.power_off_due())
            power_off();
        if (waited[2].revents)
            reap();
    }
}

int run_as_init()
{
    set_up_system();
    const BootParameters parameters = parse_boot_parameters(read_line("/proc/cmdline"));
    std::vector<ModuleFailure> module_failures = load_modules("/etc/fencepost/modules");
    Channels channels = open_channels(parameters.serial_channel);
    while (!channels.open()) {
        note_in_kernel_log("no channel to the host: neither virtio ports named fencepost.control "
                           "and fencepost.log, nor /dev/ttyS1 and /dev/ttyS2");
        channels = open_channels(false);
    }
    Init init(std::move(channels));
    init.start_log();
    std::vector<PmDevice> pm_devices = wait_for_pm(parameters.pm_devices);
    init.start_server();
    init.say_hello(std::move(module_failures), std::move(pm_devices));
    init.loop();
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
