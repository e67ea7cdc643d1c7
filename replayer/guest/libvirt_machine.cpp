// SPDX-License-Identifier: GPL-2.0-or-later
// See libvirt_machine.h. libvirt describes the machine (CPU, kernel, serial ports, channels) and
// owns its life; what it has no words for (RAM and PM on files of ours, icount, plugins, a deferred
// incoming state) goes through as QEMU arguments. QEMU connects to sockets we listen on, because
// libvirt cannot hand down open descriptors.
#include "replayer/guest/libvirt_machine.h"

#include <atomic>
#include <csignal>
#include <mutex>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/scratch.h"
#include "replayer/guest/libvirt_events.h"

namespace fencepost::guest {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

[[noreturn]] void fail_libvirt(const std::string &what)
{
    const virError *error = virGetLastError();
    fail(ErrorKind::guest, "{}: {}", what,
         error && error->message ? error->message : "libvirt gives no reason");
}

std::string escaped(const std::string &text)
{
    std::string result;
    for (char c : text)
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '\'':
            result += "&apos;";
            break;
        default:
            result += c;
        }
    return result;
}

// The embedded driver takes one root a process, so every connection shares it. What QEMU can do is
// probed once and kept beside the templates.
const ScratchDirectory &embedded_root(const fs::path &cache)
{
    static const ScratchDirectory scratch(cache);
    static std::once_flag prepared;
    std::call_once(prepared, [&] {
        const fs::path root = scratch.path() / "v";
        make_directories(root / "etc");
        make_directories(cache / "libvirt-capabilities");
        fs::create_directory_symlink(cache / "libvirt-capabilities", root / "cache");
        std::string settings =
            "stdio_handler = \"file\"\nsecurity_driver = \"none\"\nnamespaces = []\n"
            "cgroup_controllers = []\nremember_owner = 0\n";
        if (geteuid() == 0)
            settings += "user = \"root\"\ngroup = \"root\"\ndynamic_ownership = 0\n";
        write_file(root / "etc" / "qemu.conf", settings);
    });
    return scratch;
}

} // namespace

class LibvirtConnection {
public:
    LibvirtConnection(const std::string &uri, const fs::path &cache) : uri_(uri)
    {
        run_libvirt_events();
        virSetErrorFunc(nullptr, [](void *, virErrorPtr) {}); // we report errors ourselves
        std::string address = uri;
        if (uri.empty()) {
            const fs::path root = embedded_root(cache).path() / "v";
            // domain-NN-NAME/monitor.sock under lib/qemu must fit into a socket address.
            if (root.string().size() > 60)
                fail(ErrorKind::usage,
                     "{} is too long a path for libvirt's sockets; set FENCEPOST_CACHE to a "
                     "shorter one",
                     cache.string());
            address = "qemu:///embed?root=" + root.string();
        }
        connection_ = virConnectOpen(address.c_str());
        if (!connection_)
            fail_libvirt(
                fmt::format("libvirt does not open {}", uri.empty() ? "its embedded driver" : uri));
    }
    ~LibvirtConnection() { virConnectClose(connection_); }

    virConnectPtr get() const { return connection_; }
    const std::string &uri() const { return uri_; }

private:
    std::string uri_;
    virConnectPtr connection_ = nullptr;
};

namespace {

Fd listen_at(const fs::path &path)
{
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.string().size() >= sizeof address.sun_path)
        fail(ErrorKind::usage,
             "{} is too long for a socket's path; set FENCEPOST_CACHE to a shorter one",
             path.string());
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    if (!fd || bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) < 0 ||
        listen(fd.get(), 1) < 0)
        fail_errno(fmt::format("cannot listen at {}", path.string()));
    return fd;
}

Fd accept_from(const Fd &listener, Deadline deadline)
{
    std::array<pollfd, 2> waited = {{{listener.get(), POLLIN, 0}, {interrupt_fd(), POLLIN, 0}}};
    poll(waited.data(), waited.size(), deadline.poll_timeout());
    if (waited[1].revents)
        throw_if_interrupted();
    Fd fd(waited[0].revents ? accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC) : -1);
    if (!fd)
        fail(ErrorKind::guest, "QEMU, started by libvirt, did not connect its channels");
    return fd;
}

class LibvirtMachine : public Machine {
public:
    LibvirtMachine(const QemuProgram &qemu, std::shared_ptr<LibvirtConnection> connection,
                   const MachinePlan &plan, const fs::path &cache, Deadline deadline)
        : connection_(std::move(connection)), scratch_(cache)
    {
        static std::atomic<unsigned> count = 0;
        const std::string name = fmt::format("fencepost-{}-{}", getpid(), ++count);
        const fs::path sockets = scratch_.path();
        const Fd console = listen_at(sockets / "console");
        const Fd control_serial = listen_at(sockets / "control_serial");
        const Fd log_serial = listen_at(sockets / "log_serial");
        const Fd control_virtio = listen_at(sockets / "control_virtio");
        const Fd log_virtio = listen_at(sockets / "log_virtio");
        const std::string xml = domain_xml(qemu, plan, name, sockets);
        spdlog::debug("{}", xml);
        // A daemon destroys the machine when we are gone; the embedded driver cannot, and then the
        // next start of fencepost sweeps it up.
        unsigned flags = connection_->uri().empty() ? 0 : VIR_DOMAIN_START_AUTODESTROY;
        if (plan.restore)
            flags |=
                VIR_DOMAIN_START_PAUSED; // else libvirt would start it before its state is there
        domain_ = virDomainCreateXML(connection_->get(), xml.c_str(), flags);
        if (!domain_)
            fail_libvirt("libvirt does not start the machine");
        try {
            watch_.emplace(connection_->get(), domain_);
            channels_.console = accept_from(console, deadline);
            channels_.control_serial = accept_from(control_serial, deadline);
            channels_.log_serial = accept_from(log_serial, deadline);
            channels_.control_virtio = accept_from(control_virtio, deadline);
            channels_.log_virtio = accept_from(log_virtio, deadline);
            ucred peer = {};
            socklen_t size = sizeof peer;
            getsockopt(channels_.console.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
            end_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)));
            if (!end_)
                fail(ErrorKind::guest, "QEMU, started by libvirt, ended at once");
        } catch (...) {
            stop();
            throw;
        }
    }

    ~LibvirtMachine() override { stop(); }

    Channels take_channels() override { return std::move(channels_); }

    // libvirt waits for QEMU's answer without a limit of its own; QEMU's death ends the wait.
    json execute(const std::string &command, const json &arguments, Deadline) override
    {
        json request = {{"execute", command}};
        if (!arguments.empty())
            request["arguments"] = arguments;
        char *text = nullptr;
        if (virDomainQemuMonitorCommand(domain_, json_text(request, BadUtf8::refuse).c_str(), &text,
                                        0) < 0) {
            if (command == "quit") // QEMU is gone before libvirt has its answer
                return json::object();
            fail_libvirt(fmt::format("'{}' through libvirt", command));
        }
        const json answer = json_or_discarded(text);
        free(text);
        if (!answer.is_object())
            fail(ErrorKind::guest, "libvirt passed on something that is not QMP");
        if (answer.contains("error"))
            fail(ErrorKind::guest, "QEMU refused '{}': {}", command,
                 answer["error"].value("desc", std::string("no reason given")));
        return answer.value("return", json::object());
    }

    int end_fd() const override { return end_.get(); }

    std::optional<MachineEnd> poll_end() override
    {
        pollfd waited = {end_.get(), POLLIN, 0};
        if (poll(&waited, 1, 0) <= 0)
            return std::nullopt;
        const std::string reason = watch_->shutdown_reason();
        return reason == "guest-shutdown" ? MachineEnd::powered_off
               : reason == "guest-reset"  ? MachineEnd::reset
                                          : MachineEnd::died;
    }

    std::string last_words() override { return "libvirt reports no more than its end"; }

private:
    void stop()
    {
        watch_.reset();
        if (domain_) {
            // libvirt asks QEMU politely first and looks again only every 200 ms.
            if (end_)
                syscall(SYS_pidfd_send_signal, end_.get(), SIGKILL, nullptr, 0);
            virDomainDestroy(domain_); // fails if it has ended, which is as good
            virDomainFree(domain_);
        }
        domain_ = nullptr;
    }

    std::shared_ptr<LibvirtConnection> connection_;
    ScratchDirectory scratch_;
    virDomainPtr domain_ = nullptr;
    std::optional<DomainWatch> watch_;
    Channels channels_;
    Fd end_;
};

// What libvirt has no words for.
std::string qemu_arguments(const MachinePlan &plan)
{
    std::string arguments;
    auto add = [&](const std::vector<std::string> &more) {
        for (const std::string &argument : more)
            arguments += fmt::format("    <qemu:arg value='{}'/>\n", escaped(argument));
    };
    // Another vendor; of two -cpu the last counts.
    if (plan.config.accelerator == Accelerator::tcg)
        add({"-cpu", cpu_model(plan.config)});
    add(memory_arguments(plan));
    add(clock_arguments(plan.config));
    if (plan.restore)
        add({"-incoming", "defer"});
    add(plan.extra_arguments);
    return arguments;
}

} // namespace

std::string domain_xml(const QemuProgram &qemu, const MachinePlan &plan, const std::string &name,
                       const fs::path &sockets)
{
    const GuestConfig &config = plan.config;
    auto source = [&](const char *socket) {
        return fmt::format("<source mode='connect' path='{}'/>",
                           escaped((sockets / socket).string()));
    };
    std::string serial_ports;
    int port = 0;
    for (const char *socket : {"console", "control_serial", "log_serial"})
        serial_ports += fmt::format("    <serial type='unix'>{}<target port='{}'/></serial>\n",
                                    source(socket), port++);
    const bool kvm = config.accelerator == Accelerator::kvm;
    const char *cpu = kvm ? "<cpu mode='host-passthrough'/>" : "<cpu mode='maximum'/>";
    return fmt::format(
        R"(<domain type='{type}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{name}</name>
  <memory unit='b'>{ram}</memory>
  <vcpu>{cpus}</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>{kernel}</kernel>
    <initrd>{initrd}</initrd>
    <cmdline>{command_line}</cmdline>
  </os>
  <features><acpi/></features>
  {cpu}
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>destroy</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>{emulator}</emulator>
{serial_ports}    <controller type='usb' model='none'/>
    <controller type='virtio-serial' index='0' ports='4'/>
    <channel type='unix'>{control}<target type='virtio' name='fencepost.control'/></channel>
    <channel type='unix'>{log}<target type='virtio' name='fencepost.log'/></channel>
    <memballoon model='none'/>
  </devices>
  <qemu:commandline>
{arguments}  </qemu:commandline>
</domain>
)",
        fmt::arg("type", kvm ? "kvm" : "qemu"), fmt::arg("name", name), fmt::arg("ram", config.ram),
        fmt::arg("cpus", config.cpus), fmt::arg("kernel", escaped(plan.kernel.string())),
        fmt::arg("initrd", escaped(plan.initrd.string())),
        fmt::arg("command_line", escaped(kernel_command_line(config))), fmt::arg("cpu", cpu),
        fmt::arg("emulator", escaped(qemu.path.string())), fmt::arg("serial_ports", serial_ports),
        fmt::arg("control", source("control_virtio")), fmt::arg("log", source("log_virtio")),
        fmt::arg("arguments", qemu_arguments(plan)));
}

LibvirtBackend::LibvirtBackend(QemuProgram qemu, const std::string &uri, const fs::path &cache)
    : qemu_(std::move(qemu)), cache_(cache),
      connection_(std::make_shared<LibvirtConnection>(uri, cache))
{
}

LibvirtBackend::~LibvirtBackend() = default;

std::string LibvirtBackend::name() const
{
    return connection_->uri().empty() ? "libvirt" : "libvirt:" + connection_->uri();
}

std::string LibvirtBackend::identity(const MachinePlan &plan) const
{
    unsigned long version = 0;
    virConnectGetLibVersion(connection_->get(), &version);
    return fmt::format("{}\nlibvirt {}\n{}", qemu_.version, version,
                       domain_xml(qemu_, without_files(plan), "NAME", "SOCKETS"));
}

std::unique_ptr<Machine> LibvirtBackend::start(const MachinePlan &plan, Deadline deadline)
{
    return std::make_unique<LibvirtMachine>(qemu_, connection_, plan, cache_, deadline);
}

} // namespace fencepost::guest
