// SPDX-License-Identifier: GPL-2.0-or-later
// See machine.h.
#include "replayer/guest/machine.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "replayer/guest/qemu_machine.h"

#ifdef FENCEPOST_LIBVIRT
#include "replayer/guest/libvirt_machine.h"
#endif

namespace fencepost::guest {

MachinePlan without_files(const MachinePlan &plan)
{
    MachinePlan bare = plan;
    bare.kernel = "KERNEL";
    bare.initrd = "INITRD";
    bare.ram_file = "RAM";
    bare.pm_files.assign(plan.config.pm.size(), "PM");
    bare.mailbox_file = "MAILBOX";
    bare.console_file = "CONSOLE";
    bare.restore = false;
    bare.extra_arguments.clear();
    return bare;
}

void Machine::tell(const std::string &command, Deadline deadline)
{
    execute(command, nlohmann::json::object(), deadline);
}

void check_backend_name(const std::string &name)
{
    if (name != "process" && name != "libvirt" && !name.starts_with("libvirt:"))
        fail(ErrorKind::usage, "no backend '{}'; there are process, libvirt and libvirt:URI", name);
}

std::unique_ptr<Backend> make_backend(const std::string &name,
                                      [[maybe_unused]] const std::filesystem::path &cache)
{
    check_backend_name(name);
    const QemuProgram qemu = require_qemu();
    if (name == "process")
        return std::make_unique<ProcessBackend>(qemu);
#ifdef FENCEPOST_LIBVIRT
    return std::make_unique<LibvirtBackend>(qemu, name == "libvirt" ? "" : name.substr(8), cache);
#else
    fail(ErrorKind::usage, "this fencepost was built without libvirt");
#endif
}

} // namespace fencepost::guest
