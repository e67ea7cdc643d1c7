// SPDX-License-Identifier: GPL-2.0-or-later
// See spec_examples.h.
#include "replayer/run/spec_examples.h"

#include <algorithm>

namespace fencepost::run {

namespace {

struct Example {
    std::string_view field;
    std::string_view value;
};

constexpr Example kExamples[] = {
    {"guest.image", R"("default")"},
    {"guest.kernel", R"("bzImage")"},
    {"guest.modules", R"("lib/modules/5.1.0")"},
    {"guest.module_files", R"(["nova.ko"])"},
    {"guest.initrd_extra", R"(["tree"])"},
    {"guest.kernel_arguments", R"("loglevel=7")"},
    {"guest.ram", R"("512M")"},
    {"guest.cpus", "1"},
    {"pm.size", R"("128M")"},
    {"pm.attach", R"("nvdimm")"},
    {"file_system.type", R"("ext4")"},
    {"file_system.device", "0"},
    {"file_system.mkfs_program", R"("/usr/bin/mkfs.mine")"},
    {"file_system.mkfs_options", R"(["-O", "^metadata_csum"])"},
    {"file_system.mount_options", R"("dax")"},
    {"file_system.first_mount_options", R"("init")"},
    {"file_system.mount_point", R"("/mnt/pmem")"},
    {"setup.script", R"("mkdir a")"},
    {"setup.file", R"("setup.sh")"},
    {"workload.kind", R"("script")"},
    {"workload.text", R"("echo x > a; sync")"},
    {"workload.file", R"("workload.sh")"},
    {"workload.command", R"(["/bin/program", "argument"])"},
    {"workload.directory", R"("/mnt/pmem")"},
    {"workload.environment", R"({ NAME = "value" })"},
    {"workload.system_calls", "true"},
    {"workload.unmount", "true"},
    {"workload.time_limit", "60"},
    {"workload.host_time_limit", "600"},
    {"copy.from", R"("program")"},
    {"copy.to", R"("/bin/program")"},
    {"test.oracles", R"(["mount", "usable"])"},
    {"test.semantics", R"("fsync")"},
    {"test.promise", R"("strict")"},
    {"test.recovery", R"(["/bin/program", "check"])"},
    {"test.recovery_progress", "true"},
    {"test.other_file_system", R"("xfs")"},
    {"test.time_limit", "60"},
    {"test.annotator", R"("my-annotator/")"},
    {"model.incidental", R"(["my_barrier"])"},
    {"analyze.transactions", R"(["transactions.txt"])"},
    {"analyze.order", R"(["order.txt"])"},
    {"analyze.suppressions", R"(["suppressions.txt"])"},
};

} // namespace

std::string_view example_of(std::string_view field)
{
    const auto *const found = std::ranges::find(kExamples, field, &Example::field);
    return found == std::end(kExamples) ? std::string_view() : found->value;
}

} // namespace fencepost::run
