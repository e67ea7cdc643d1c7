// SPDX-License-Identifier: GPL-2.0-or-later
// A spec: the TOML file that says what is recorded. docs/reference/spec.md describes each field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "replayer/guest/guest_config.h"
#include "replayer/run/promise.h"

namespace fencepost::run {

struct GuestSpec {
    std::string image = "default";
    // Any of these asks for an image of the spec's own.
    std::optional<std::filesystem::path> kernel = {};
    std::optional<std::filesystem::path> modules = {};
    std::vector<std::string> module_files = {}; // FILE.ko[:name=value,...]
    std::vector<std::filesystem::path> initrd_extra = {};
    std::string kernel_arguments = {};
    std::uint64_t ram = 512ull << 20;
    unsigned cpus = 1;

    bool has_own_image() const
    {
        return kernel || modules || !module_files.empty() || !initrd_extra.empty();
    }
};

struct FileSystemSpec {
    std::string type;
    unsigned device = 0;                          // which PM device
    std::optional<std::string> mkfs_program = {}; // nothing: mkfs.TYPE; empty: none
    std::vector<std::string> mkfs_options = {};
    std::string mount_options = "dax";
    std::optional<std::string> first_mount_options = {}; // at set-up; nothing: mount_options
    std::string mount_point = "/mnt/pm";
};

struct CopySpec {
    std::filesystem::path from; // on the host
    std::string to;             // in the guest, absolute
};

enum class WorkloadKind { script, program, ops, j_lang };

struct WorkloadSpec {
    WorkloadKind kind = WorkloadKind::script;
    SourceText source = {};                // script, ops, j_lang
    std::vector<std::string> command = {}; // program
    std::string directory = {};            // empty: the mount point, or /
    std::vector<std::string> environment = {};
    bool system_calls = false;
    bool unmount = false;                // after the workload, recorded
    std::uint32_t time_limit = 60;       // seconds of guest time
    std::uint32_t host_time_limit = 600; // seconds on the host's clock
};

// How crash images of the run are judged.
struct TestSpec {
    std::vector<std::string> oracles = {};  // empty: those that suit the file system
    PromiseSpec promise = {};               // of the file system; empty: its default
    std::vector<std::string> recovery = {}; // a command in the guest, for the oracle `program`
    // The command is told how far the workload was; nothing: if it looks as if it wanted to know.
    std::optional<bool> recovery_progress = {};
    std::string other_file_system = {}; // for the oracle `differential`
    std::uint32_t time_limit = 60;      // seconds that a guest has for one image
    // Says what bytes of the file system belong to; empty: what suits the file system.
    std::string annotator = {};
    // Of [model]: functions whose fences do not count (trace::incidental_functions()).
    std::vector<std::string> incidental = {};

    bool operator==(const TestSpec &) const = default;
};

// What rules know about the program beyond its trace. Not looked into here.
struct AnalyzeSpec {
    std::vector<SourceText> transactions = {}; // tables of them
    std::vector<SourceText> order = {};
    std::vector<SourceText> suppressions = {};
};

struct Spec {
    std::string text; // as it was read
    GuestSpec guest = {};
    std::vector<guest::PmConfig> pm = {};
    std::optional<FileSystemSpec> file_system = {};
    std::string setup_script = {};
    WorkloadSpec workload = {};
    std::vector<CopySpec> copies = {};
    TestSpec test = {};
    AnalyzeSpec analyze = {};
};

// Where the files that a spec names may be.
enum class FilesFrom {
    spec_directory, // below the directory of the spec
    anywhere,
};

// Every mistake is a usage error `FILE:LINE:COLUMN: what is wrong`.
Spec load_spec(const std::filesystem::path &path, FilesFrom files);
// `name` stands for the file in messages; relative paths start at `directory`.
Spec parse_spec(std::string_view text, const std::string &name,
                const std::filesystem::path &directory, FilesFrom files);

// All fields that a spec can have, as `table.field`.
std::vector<std::string> spec_fields();

const char *to_string(WorkloadKind kind);

} // namespace fencepost::run
