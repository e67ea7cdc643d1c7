// SPDX-License-Identifier: GPL-2.0-or-later
// See standalone_folder.h.
#include "replayer/test/standalone_folder.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "guest-images/agent/standalone.h"
#include "guest-images/image/cpio_writer.h"
#include "guest-images/image/image_store.h"
#include "replayer/test/reproduce_script.h"

namespace fencepost::test {

namespace fs = std::filesystem;

namespace {

// What the guest does, and the agent that does it: of the image's own it takes the place.
void write_work(const oracle::GuestWork &work, const fs::path &path)
{
    images::GuestTree tree;
    tree.add("init", images::TreeFile{built_part("guest-images/agent", "fencepost-agent"), true});
    const auto add = [&](const std::string &name, std::string bytes) {
        tree.add(fs::path(agent::kStandaloneFiles) / name, images::TreeFile{std::move(bytes)});
    };
    agent::Job job;
    job.files = work.files;
    add(agent::kStandaloneJob, agent::encode_job(job));
    for (std::size_t i = 0; i < work.requests.size(); ++i)
        add(agent::kStandaloneRequest + std::to_string(i), agent::encode_payload(work.requests[i]));
    images::write_cpio(tree, path);
}

// The kernel unpacks one archive after the other.
void write_initrd(const images::Image &image, const oracle::GuestWork &work, const fs::path &path)
{
    const fs::path added = path.string() + ".added";
    write_work(work, added);
    copy_sparse(image.initrd, path);
    const std::string bytes = read_file(added);
    const Fd fd = open_file(path, O_WRONLY | O_APPEND);
    write_all(fd.get(), std::as_bytes(std::span(bytes)), path);
    fs::remove(added);
}

void copy_checker(const oracle::OracleFolder &checker, const fs::path &to)
{
    fs::create_directory(to);
    for (const fs::directory_entry &entry : fs::directory_iterator(checker.directory))
        if (entry.is_regular_file())
            fs::copy_file(entry.path(), to / entry.path().filename());
}

ExportedFolder measure(const fs::path &folder)
{
    ExportedFolder sizes;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder)) {
        struct stat numbers;
        if (!entry.is_regular_file() || stat(entry.path().c_str(), &numbers) != 0)
            continue;
        sizes.bytes += static_cast<std::uint64_t>(numbers.st_size);
        sizes.bytes_on_disk += static_cast<std::uint64_t>(numbers.st_blocks) * 512;
    }
    return sizes;
}

} // namespace

void check_export(const fs::path &folder)
{
    std::error_code error;
    const fs::file_status status = fs::symlink_status(folder, error);
    if (folder.empty() || (fs::exists(status) && !fs::is_directory(status)))
        fail(ErrorKind::usage, "--export needs the name of a new folder, and '{}' is none",
             folder.string());
    if (fs::exists(status) && !fs::is_empty(folder))
        fail(ErrorKind::usage, "{} is there and is not empty; --export makes a new folder",
             folder.string());
    const fs::path parent = fs::absolute(folder).parent_path();
    if (!fs::is_directory(parent, error))
        fail(ErrorKind::usage, "there is no folder {} to make {} in", parent.string(),
             folder.filename().string());
}

ExportedFolder export_standalone(JudgedState &state, const oracle::Judgement &judgement,
                                 const fs::path &cache, const fs::path &folder)
{
    check_export(folder);
    const std::optional<FailureSign> sign = sign_of(judgement);
    const std::string script = reproduce_script(state.inputs(), state.oracles(), judgement);
    if (script.empty())
        fail(ErrorKind::usage, "a guest that boots by itself cannot show this failure: {}",
             title_of(deciding_evidence(judgement)));

    std::optional<oracle::OracleFolder> checker;
    if (sign->kind == FailureSign::Kind::checker)
        checker = checker_of(*sign, state.oracles());
    TemporaryDirectory made(fs::absolute(folder).parent_path(), ".fencepost-export-");
    const images::Image image = images::ImageStore(cache).open(state.inputs().config.image);
    state.fill_pm_files();
    require_free_bytes(made.path(), image.kernel_bytes + image.initrd_bytes);
    for (std::size_t i = 0; i < state.pm_files().size(); ++i)
        copy_sparse(state.pm_files()[i], made.path() / pm_name(i));
    if (!sign->before) {
        oracle::GuestWork work = state.work();
        if (checker) // it looks before everything is removed
            work.requests.resize(1);
        copy_sparse(image.kernel, made.path() / kKernelName);
        write_initrd(image, work, made.path() / kInitrdName);
    }
    if (checker)
        copy_checker(*checker, made.path() / kOracleName);
    write_file(made.path() / "reproduce.sh", script);
    fs::permissions(made.path() / "reproduce.sh", fs::perms(0755));
    fs::permissions(made.path(), fs::perms(0755));
    fs::rename(made.path(), folder);
    made.release();
    return measure(folder);
}

} // namespace fencepost::test
