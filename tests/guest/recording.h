// SPDX-License-Identifier: GPL-2.0-or-later
// What recording tests share: specs written to a directory of their own, and recorded from there.
#pragma once

#include <string>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "replayer/record/recorder.h"

namespace fencepost::record {

class RecordingPlace {
public:
    RecordingPlace() : directory_("/tmp", "fp-record-") {}

    const std::filesystem::path &path() const { return directory_.path(); }

    RecordResult record(const std::string &spec, bool stacks = false)
    {
        const run::Inputs inputs = recorder_.prepare(
            run::parse_spec(spec, "spec.toml", path(), run::FilesFrom::spec_directory), stacks);
        return recorder_.record(inputs, trace(), [&](std::size_t device) {
            return path() / ("final" + std::to_string(device));
        });
    }
    std::filesystem::path trace() const { return path() / "trace.db"; }
    Recorder &recorder() { return recorder_; }

private:
    TemporaryDirectory directory_;
    Recorder recorder_{cache_directory(), {[](const std::string &) {}, {}}};
};

// Compiles libpmemobj's B-tree example, as Debian ships it, to `directory`/btree.
inline void compile_btree(const std::filesystem::path &directory)
{
    // The examples include this header of PMDK's build, which no package has.
    write_file(directory / "ex_common.h",
               "#include <stdint.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
               "#define CREATE_MODE_RW (S_IWUSR | S_IRUSR)\n"
               "static inline int file_exists(const char *f) { return access(f, F_OK); }\n");
    const CommandResult result = run_command(
        {"gcc", "-O2", "-w", "-I", directory.string(), "-o", (directory / "btree").string(),
         "/usr/share/doc/libpmemobj-dev/examples/btree.c", "-lpmemobj", "-lpmem"});
    if (!result.success())
        fail(ErrorKind::io, "cannot compile libpmemobj's example: {}", result.last_words());
}

inline const char *const kPmemobjSpec = R"(
[file_system]
type = "ext4"
[[copy]]
from = "btree"
to = "/usr/local/bin/btree"
[workload]
kind = "program"
command = ["btree", "/mnt/pm/pool", "i", "5", "hello"]
)";

} // namespace fencepost::record
