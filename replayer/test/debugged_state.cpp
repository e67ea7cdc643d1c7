// SPDX-License-Identifier: GPL-2.0-or-later
// See debugged_state.h. The debugger comes by a UNIX socket in a scratch directory: nothing listens
// on a network.
#include "replayer/test/debugged_state.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include <csignal>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "replayer/guest/guest.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/guest/symbol_file.h"
#include "replayer/test/recovered_guest.h"

namespace fencepost::test {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostKallsyms = 64 << 20;
constexpr std::chrono::minutes kAnswerTime(2);
constexpr std::chrono::seconds kStopTime(30);

sockaddr_un address_of(const fs::path &path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string text = path.string();
    if (text.size() >= sizeof address.sun_path)
        fail(ErrorKind::usage,
             "the path of a socket would be too long: {}; FENCEPOST_CACHE names "
             "another place",
             text);
    std::memcpy(address.sun_path, text.data(), text.size());
    return address;
}

Fd listen_at(const fs::path &path)
{
    const sockaddr_un address = address_of(path);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket ||
        bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) < 0 ||
        listen(socket.get(), 1) < 0)
        fail_errno(fmt::format("cannot listen at {}", path.string()));
    return socket;
}

bool carry(int from, int to)
{
    char buffer[16384];
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got <= 0)
        return false;
    for (ssize_t at = 0; at < got;) {
        const ssize_t put = send(to, buffer + at, static_cast<std::size_t>(got - at), MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        at += put;
    }
    return true;
}

// Stands between the debugger and QEMU, to see it come and go. When it has gone the machine is
// ended, as it may have been left stopped.
class DebuggerWatch {
public:
    // `machine`: a pidfd.
    DebuggerWatch(const fs::path &ours, fs::path qemus, int machine)
        : listening_(listen_at(ours)), qemus_(std::move(qemus)), machine_(machine),
          leave_(eventfd(0, EFD_CLOEXEC)), thread_([this] { watch(); })
    {
    }
    ~DebuggerWatch()
    {
        constexpr std::uint64_t kOne = 1;
        [[maybe_unused]] const ssize_t told = write(leave_.get(), &kOne, sizeof kOne);
        thread_.join();
    }

    DebuggerWatch(const DebuggerWatch &) = delete;
    DebuggerWatch &operator=(const DebuggerWatch &) = delete;

    bool gone() const { return gone_; }

private:
    void watch()
    {
        pollfd waited[] = {{listening_.get(), POLLIN, 0}, {leave_.get(), POLLIN, 0}};
        poll(waited, 2, -1);
        if (waited[1].revents)
            return;
        const Fd debugger(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const Fd qemu(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_un address = address_of(qemus_);
        if (connect(qemu.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0)
            join(debugger.get(), qemu.get());
        gone_ = true;
        syscall(SYS_pidfd_send_signal, machine_, SIGKILL, nullptr, 0);
    }

    void join(int debugger, int qemu)
    {
        for (;;) {
            pollfd waited[] = {{debugger, POLLIN, 0}, {qemu, POLLIN, 0}, {leave_.get(), POLLIN, 0}};
            poll(waited, 3, -1);
            if (waited[2].revents || (waited[0].revents && !carry(debugger, qemu)) ||
                (waited[1].revents && !carry(qemu, debugger)))
                return;
        }
    }

    const Fd listening_;
    const fs::path qemus_;
    const int machine_;
    const Fd leave_;
    std::atomic<bool> gone_ = false;
    std::thread thread_; // last: it uses the others
};

// Of the guest, or empty.
std::string read_in(guest::Guest &guest, const std::string &path)
{
    const auto text = guest.with_agent([&](guest::AgentClient &agent) {
        return agent.read_whole_file(path, kMostKallsyms, Deadline::after(kAnswerTime));
    });
    return text ? *text : "";
}

// "/x/my-fs.ko" is the module my_fs.
std::string module_of(const fs::path &file)
{
    std::string name = file.stem();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::string load_module_symbols(guest::Guest &guest, const fs::path &file)
{
    const std::string sections = "/sys/module/" + module_of(file) + "/sections/";
    const auto address = [&](const std::string &section) {
        const std::string text = read_in(guest, sections + section);
        return text.substr(0, text.find('\n'));
    };
    const std::string text = address(".text");
    if (text.empty())
        fail(ErrorKind::usage, "the guest has no module {}, of which {} would be", module_of(file),
             file.string());
    std::string command = fmt::format("add-symbol-file {} {}", file.string(), text);
    for (const char *section : {".data", ".bss", ".rodata", ".init.text"})
        if (const std::string at = address(section); !at.empty())
            command += fmt::format(" -s {} {}", section, at);
    return command + "\n";
}

std::string gdb_commands(guest::Guest &guest, const DebugRequest &request, const fs::path &scratch)
{
    const fs::path names = scratch / "kernel-names";
    write_file(names, guest::symbol_file(read_in(guest, "/proc/kallsyms")));
    std::string kernel;
    std::string modules;
    for (const fs::path &file : request.symbols) {
        if (!fs::is_regular_file(file))
            fail(ErrorKind::usage, "there is no file of symbols {}", file.string());
        const fs::path full = fs::absolute(file);
        if (file.extension() == ".ko")
            modules += load_module_symbols(guest, full);
        else
            kernel = full;
    }
    return fmt::format("set pagination off\nset confirm off\n"
                       "set architecture i386:x86-64\nsymbol-file {}\n{}target remote {}\n",
                       kernel.empty() ? names.string() : kernel, modules,
                       (scratch / "gdb").string());
}

// Until the debugger, or something in the guest, ends it.
void wait_for_end(int machine)
{
    pollfd waited[] = {{machine, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
    poll(waited, 2, -1);
    throw_if_interrupted();
}

} // namespace

void debug_recovery(JudgedState &state, const DebugRequest &request,
                    const std::function<void(const std::string &command)> &ready,
                    const std::function<void(const std::string &line)> &say)
{
    const oracle::GuestWork work = state.work();
    const fs::path scratch = state.scratch();
    const fs::path socket = scratch / "gdb-of-qemu";
    const auto guest = state.restore(
        {"-chardev",
         fmt::format("socket,id=gdb,path={},server=on,wait=off", guest::escape_commas(socket)),
         "-gdb", "chardev:gdb"});
    const fs::path commands = scratch / "commands.gdb";
    write_file(commands, gdb_commands(*guest, request, scratch));
    guest->machine().tell("stop", Deadline::after(kStopTime));
    const int machine = guest->machine().end_fd();
    const DebuggerWatch watch(scratch / "gdb", socket, machine);
    ready(guest::quoted({"gdb", "-x", commands.string()}));
    try {
        recover(*guest, work, say);
        say("recovery has ended; the guest goes on for the debugger");
    } catch (const guest::GuestLost &lost) {
        if (!watch.gone())
            say(lost.what());
    }
    wait_for_end(machine);
}

} // namespace fencepost::test
