// SPDX-License-Identifier: GPL-2.0-or-later
// See image_store.h. An image is made in `.NAME.building` beside its place and exchanged with what
// is there, under the lock `.NAME.lock`; so a name that does not start with a dot is always a whole
// image.
#include "guest-images/image/image_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "guest-images/image/extra_tree.h"
#include "guest-images/image/image_builder.h"
#include "guest-images/image/manifest.h"
#include "guest-images/image/module_catalog.h"
#include "guest-images/image/recipe.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBuilding = ".building";
constexpr std::string_view kReplaced = ".replaced";
constexpr std::string_view kLock = ".lock";

fs::path hidden(const fs::path &images, const std::string &name, std::string_view suffix)
{
    return images / fmt::format(".{}{}", name, suffix);
}

Image image_from(const Manifest &manifest, const fs::path &directory)
{
    Image image{.name = manifest.name,
                .directory = directory,
                .kernel = directory / kKernelFile,
                .initrd = directory / kInitrdFile,
                .kernel_release = manifest.kernel_release,
                .digest = manifest.digest};
    if (manifest.files.contains(kSystemMapFile))
        image.system_map = directory / kSystemMapFile;
    for (const ManifestModule &module : manifest.modules)
        image.modules.push_back(module.name);
    image.kernel_bytes = manifest.files.at(kKernelFile).bytes;
    image.initrd_bytes = manifest.files.at(kInitrdFile).bytes;
    return image;
}

// The manifest of an image whose files are what the manifest says.
Manifest read_whole_image(const fs::path &directory)
{
    Manifest manifest = read_manifest(directory);
    Manifest found = manifest;
    measure_files(found, directory);
    for (const char *required : {kKernelFile, kInitrdFile}) {
        if (!found.files.contains(required))
            fail(ErrorKind::guest, "{} is missing", (directory / required).string());
    }
    if (found.digest != manifest.digest)
        fail(ErrorKind::guest, "a file in {} is not the one that was built", directory.string());
    return manifest;
}

std::string changed_input(const Input &input)
{
    const fs::path &path = *input.path;
    if (!fs::exists(path))
        return fmt::format("{} is gone", path.string());
    const std::string now = input.kind == InputKind::extra     ? extra_digest(path)
                            : input.kind == InputKind::modules ? modules_digest(path)
                                                               : file_digest(path);
    return now == input.digest ? "" : fmt::format("{} has changed", path.string());
}

BuildRequest with_absolute_paths(BuildRequest request)
{
    const auto make_absolute = [](fs::path &path) {
        path = fs::weakly_canonical(fs::absolute(path));
    };
    if (request.kernel)
        make_absolute(*request.kernel);
    if (request.modules)
        make_absolute(*request.modules);
    for (ModuleRequest &module : request.module_files)
        make_absolute(module.file);
    for (fs::path &directory : request.extra)
        make_absolute(directory);
    return request;
}

FileLock lock_image(const fs::path &images, const std::string &name, const Progress &progress)
{
    make_directories(images);
    const fs::path file = hidden(images, name, kLock);
    if (auto lock = FileLock::try_acquire(file))
        return std::move(*lock);
    progress(fmt::format("waiting for another process that builds the image {}", name));
    return FileLock::acquire(file);
}

// What builds left behind that were killed; those still running hold their lock.
void remove_leftovers(const fs::path &images, const std::string &locked_name)
{
    std::vector<fs::path> leftovers;
    for (const auto &entry : fs::directory_iterator(images)) {
        const std::string file = entry.path().filename().string();
        for (const std::string_view suffix : {kBuilding, kReplaced}) {
            if (!file.starts_with('.') || !file.ends_with(suffix))
                continue;
            const std::string name = file.substr(1, file.size() - 1 - suffix.size());
            if (name == locked_name || FileLock::try_acquire(hidden(images, name, kLock)))
                leftovers.push_back(entry.path());
        }
    }
    for (const fs::path &path : leftovers)
        fs::remove_all(path);
}

void sync_directory(const fs::path &path)
{
    const Fd fd = open_file(path, O_RDONLY | O_DIRECTORY);
    if (fsync(fd.get()) < 0)
        fail_errno(fmt::format("cannot write {}", path.string()));
}

// After this, `to` is the new image and whatever was there before is under a hidden name.
void put_in_place(const fs::path &from, const fs::path &to, const fs::path &aside)
{
    sync_directory(from);
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
        // Nothing there yet, or a file system that cannot exchange: then for a moment there is
        // none.
        if (fs::exists(to))
            fs::rename(to, aside);
        fs::rename(from, to);
    }
    sync_directory(to.parent_path());
}

class RemovedAtEnd {
public:
    explicit RemovedAtEnd(fs::path path) : path_(std::move(path)) {}
    RemovedAtEnd(const RemovedAtEnd &) = delete;
    RemovedAtEnd &operator=(const RemovedAtEnd &) = delete;
    ~RemovedAtEnd()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

private:
    fs::path path_;
};

// std::filesystem reports trouble of the machine in its own way.
template <typename Action> auto with_io_errors(Action action)
{
    try {
        return action();
    } catch (const fs::filesystem_error &error) {
        fail_errno(fmt::format("cannot work on {}", error.path1().string()), error.code().value());
    }
}

} // namespace

const char *to_string(ImageState state)
{
    switch (state) {
    case ImageState::fresh:
        return "fresh";
    case ImageState::stale:
        return "stale";
    case ImageState::damaged:
        break;
    }
    return "damaged";
}

void check_image_name(const std::string &name)
{
    constexpr std::size_t kLongest = 100;
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
    if (name.empty() || name[0] == '.' || name.size() > kLongest || !plain)
        fail(ErrorKind::usage,
             "'{}' cannot be the name of an image: use up to {} letters, digits, '.', '_' and '-', "
             "the first not a '.'",
             name, kLongest);
}

ImageStore::ImageStore(fs::path cache, fs::path agent)
    : cache_(std::move(cache)), agent_(std::move(agent))
{
}

fs::path ImageStore::agent() const
{
    return agent_.empty() ? built_part("guest-images/agent", "fencepost-agent") : agent_;
}

fs::path ImageStore::mark() const
{
    return agent_.empty() ? built_part("qemu-plugin/marker", "fencepost-mark") : fs::path();
}

Image ImageStore::open(const std::string &name) const
{
    check_image_name(name);
    const fs::path directory = images_directory() / name;
    return with_io_errors([&] {
        // A build may put a new image in place between two reads of ours; then the second try is
        // whole.
        for (bool again = false;; again = true) {
            if (!fs::exists(directory))
                fail(ErrorKind::usage,
                     "there is no guest image '{}': make it with fencepost image build{}", name,
                     name == kDefaultImage ? "" : " --name " + name);
            try {
                return image_from(read_whole_image(directory), directory);
            } catch (const Error &error) {
                if (again)
                    fail(ErrorKind::guest,
                         "the guest image '{}' is damaged ({}): make it again with fencepost image "
                         "build{}",
                         name, error.what(), name == kDefaultImage ? "" : " --name " + name);
            }
        }
    });
}

std::optional<std::string> ImageStore::stale_reason(const Manifest &manifest) const
{
    for (const Input &input : manifest.inputs) {
        if (input.kind == InputKind::recipe && input.version != std::to_string(kRecipeVersion))
            return "it was made by another version of fencepost";
        if (input.kind == InputKind::agent && input.digest != file_digest(agent()))
            return "the guest agent has changed";
        if (input.kind == InputKind::marker_program && !mark().empty() &&
            input.digest != file_digest(mark()))
            return "the program fencepost-mark has changed";
        if (!input.path)
            continue;
        if (const std::string reason = changed_input(input); !reason.empty())
            return reason;
    }
    return std::nullopt;
}

std::optional<std::string> ImageStore::stale_reason(const std::string &name) const
{
    const Image image = open(name);
    return with_io_errors([&] { return stale_reason(read_manifest(image.directory)); });
}

std::vector<ImageStatus> ImageStore::list() const
{
    std::vector<ImageStatus> all;
    std::error_code error;
    for (fs::directory_iterator at(images_directory(), error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (name.starts_with('.') || !fs::is_directory(at->path()))
            continue;
        ImageStatus status{.image = {.name = name, .directory = at->path()}};
        try {
            status.image = open(name);
            if (const auto reason = stale_reason(name)) {
                status.state = ImageState::stale;
                status.reason = *reason;
            }
        } catch (const Error &problem) {
            status.state = ImageState::damaged;
            status.reason = problem.what();
        }
        all.push_back(std::move(status));
    }
    if (error && error != std::errc::no_such_file_or_directory)
        fail_errno(fmt::format("cannot read {}", images_directory().string()), error.value());
    std::sort(all.begin(), all.end(), [](const ImageStatus &a, const ImageStatus &b) {
        return a.image.name < b.image.name;
    });
    return all;
}

std::optional<Image> ImageStore::reusable(const BuildRequest &request) const
{
    const fs::path directory = images_directory() / request.name;
    try {
        const Manifest manifest = read_whole_image(directory);
        if (!same_request(manifest.request, request) || stale_reason(manifest))
            return std::nullopt;
        return image_from(manifest, directory);
    } catch (const Error &error) {
        // Missing or damaged: in either case it is to be built.
        if (error.kind() == ErrorKind::interrupted)
            throw;
        return std::nullopt;
    }
}

Image ImageStore::assemble(const BuildRequest &request, const Progress &progress)
{
    const fs::path images = images_directory();
    const fs::path directory = images / request.name;
    const fs::path building = hidden(images, request.name, kBuilding);
    const fs::path replaced = hidden(images, request.name, kReplaced);
    const RemovedAtEnd no_building(building);
    const RemovedAtEnd no_replaced(replaced);
    make_directories(building);
    const Manifest manifest = build_image(
        request,
        {.agent = agent(),
         .mark = mark(),
         .packages = request.package_directory ? fs::absolute(*request.package_directory)
                                               : cache_ / "packages",
         .output = building},
        progress);
    if (const auto reason = stale_reason(manifest))
        fail(ErrorKind::io, "{} while the image was being built: run the command again", *reason);
    put_in_place(building, directory, replaced);
    return image_from(manifest, directory);
}

BuildResult ImageStore::build(const BuildRequest &request, const Progress &progress)
{
    check_image_name(request.name);
    if (!request.packages && !request.kernel)
        fail(ErrorKind::usage, "without packages there is no kernel: give one with --kernel");
    return with_io_errors([&]() -> BuildResult {
        const BuildRequest wanted = with_absolute_paths(request);
        const FileLock lock = lock_image(images_directory(), wanted.name, progress);
        remove_leftovers(images_directory(), wanted.name);
        if (!wanted.refresh) {
            if (auto image = reusable(wanted))
                return {std::move(*image), true};
        }
        const auto before = reusable(wanted);
        Image image = assemble(wanted, progress);
        return {image, before && before->digest == image.digest};
    });
}

} // namespace fencepost::images
