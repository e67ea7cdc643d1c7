// SPDX-License-Identifier: GPL-2.0-or-later
// See template_manifest.h.
#include "replayer/guest/template_manifest.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/files.h"
#include "base/json.h"
#include "replayer/guest/config_json.h"
#include "replayer/guest/qemu_command.h"

namespace fencepost::guest {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

void check_file(const fs::path &path, const json &manifest, const char *digest_name)
{
    std::error_code error;
    if (!fs::is_regular_file(path, error) ||
        file_digest(path) != manifest.at(digest_name).get<std::string>())
        fail(ErrorKind::guest, "the template {} is damaged ({} is not what was frozen)",
             path.parent_path().filename().string(), path.filename().string());
}

} // namespace

void write_manifest(const Template &made)
{
    json devices = json::array();
    for (const agent::PmDevice &device : made.pm_devices)
        devices.push_back({{"name", device.name},
                           {"size_bytes", device.size_bytes},
                           {"dax", device.dax},
                           {"physical_start", device.physical_start},
                           {"mode", device.mode}});
    json manifest = {{"format", kTemplateFormat},
                     {"fencepost", FENCEPOST_VERSION},
                     {"key", made.key},
                     {"backend", made.backend},
                     {"qemu", made.qemu},
                     {"config", config_to_json(made.config)},
                     {"image_digest", made.image_digest},
                     {"kernel_release", made.kernel_release},
                     {"channel", made.channel == ChannelKind::virtio ? "virtio" : "serial"},
                     {"pm_devices", devices},
                     {"boot_seconds", made.boot_seconds},
                     {"ram_digest", file_digest(made.ram_file())},
                     {"state_digest", file_digest(made.state_file())}};
    if (made.config.recording) {
        manifest["kallsyms_digest"] = file_digest(made.kallsyms_file());
        manifest["modules_digest"] = file_digest(made.modules_file());
    }
    write_file(made.directory / "manifest.json", json_document(manifest, BadUtf8::refuse));
}

Template open_template(const fs::path &directory)
{
    Template found;
    found.directory = directory;
    try {
        const json manifest = parse_json(read_file(directory / "manifest.json"));
        if (manifest.at("format") != kTemplateFormat)
            fail(ErrorKind::guest, "the template {} has a format of another fencepost",
                 directory.filename().string());
        check_file(found.state_file(), manifest, "state_digest");
        check_file(found.ram_file(), manifest, "ram_digest");
        found.key = manifest.at("key");
        found.backend = manifest.at("backend");
        found.qemu = manifest.at("qemu");
        found.config = config_from_json(manifest.at("config"));
        if (found.config.recording) {
            check_file(found.kallsyms_file(), manifest, "kallsyms_digest");
            check_file(found.modules_file(), manifest, "modules_digest");
        }
        found.image_digest = manifest.at("image_digest");
        found.kernel_release = manifest.at("kernel_release");
        found.channel =
            manifest.at("channel") == "serial" ? ChannelKind::serial : ChannelKind::virtio;
        found.boot_seconds = manifest.at("boot_seconds");
        for (const json &device : manifest.at("pm_devices"))
            found.pm_devices.push_back({device.at("name"), device.at("size_bytes"),
                                        device.at("dax"), device.at("physical_start"),
                                        device.at("mode")});
    } catch (const json::exception &) {
        fail(ErrorKind::guest, "the template {} is damaged (its manifest cannot be read)",
             directory.filename().string());
    }
    return found;
}

std::string why_stale(const Template &known, const images::ImageStore &images)
{
    try {
        if (images.open(known.config.image).digest != known.image_digest)
            return fmt::format("the image {} has changed", known.config.image);
        if (find_qemu().version != known.qemu)
            return "it was made with another QEMU";
    } catch (const Error &error) {
        return error.what();
    }
    return "";
}

} // namespace fencepost::guest
