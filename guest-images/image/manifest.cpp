// SPDX-License-Identifier: GPL-2.0-or-later
// See manifest.h; docs/reference/guest-image.md describes the file.
#include "guest-images/image/manifest.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

namespace fencepost::images {

namespace fs = std::filesystem;
using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(InputKind, {{InputKind::recipe, "recipe"},
                                         {InputKind::agent, "agent"},
                                         {InputKind::marker_program, "marker_program"},
                                         {InputKind::package, "package"},
                                         {InputKind::kernel, "kernel"},
                                         {InputKind::modules, "modules"},
                                         {InputKind::module, "module"},
                                         {InputKind::extra, "extra"}})

namespace {

constexpr int kFormatVersion = 1;

json path_or_null(const std::optional<fs::path> &path)
{
    return path ? json(path->string()) : json();
}

std::optional<fs::path> optional_path(const json &value)
{
    return value.is_null() ? std::nullopt : std::optional<fs::path>(value.get<std::string>());
}

json to_json(const BuildRequest &request)
{
    json module_files = json::array();
    for (const ModuleRequest &module : request.module_files)
        module_files.push_back({{"file", module.file.string()}, {"parameters", module.parameters}});
    json extra = json::array();
    for (const fs::path &directory : request.extra)
        extra.push_back(directory.string());
    return {{"kernel_package", request.kernel ? json() : json(request.kernel_package)},
            {"kernel", path_or_null(request.kernel)},
            {"modules", path_or_null(request.modules)},
            {"module_files", module_files},
            {"extra", extra},
            {"packages", request.packages}};
}

BuildRequest request_from(const json &document, const std::string &name)
{
    BuildRequest request{.name = name};
    if (!document.at("kernel_package").is_null())
        request.kernel_package = document.at("kernel_package");
    request.kernel = optional_path(document.at("kernel"));
    request.modules = optional_path(document.at("modules"));
    for (const json &module : document.at("module_files"))
        request.module_files.push_back(
            {module.at("file").get<std::string>(), module.at("parameters")});
    for (const json &directory : document.at("extra"))
        request.extra.emplace_back(directory.get<std::string>());
    request.packages = document.at("packages");
    return request;
}

Manifest manifest_from(const json &document)
{
    Manifest manifest;
    manifest.name = document.at("name");
    manifest.kernel_release = document.at("kernel_release");
    manifest.digest = document.at("digest");
    manifest.request = request_from(document.at("request"), manifest.name);
    for (const auto &[name, file] : document.at("files").items())
        manifest.files[name] = {file.at("bytes"), file.at("digest")};
    for (const json &module : document.at("modules"))
        manifest.modules.push_back({module.at("name"), module.at("path"), module.at("parameters")});
    for (const json &input : document.at("inputs"))
        manifest.inputs.push_back({.kind = input.at("kind"),
                                   .name = input.at("name"),
                                   .version = input.at("version"),
                                   .digest = input.at("digest"),
                                   .path = optional_path(input.at("path"))});
    return manifest;
}

} // namespace

std::string Manifest::inputs_digest() const
{
    Digest sum;
    for (const Input &input : inputs)
        sum.add(json(input.kind).get<std::string>())
            .add(input.name)
            .add(input.version)
            .add(input.digest);
    for (const ManifestModule &module : modules) {
        sum.add(module.name);
        for (const std::string &parameter : module.parameters)
            sum.add(parameter);
    }
    return sum.hex();
}

void measure_files(Manifest &manifest, const fs::path &directory)
{
    Digest sum;
    manifest.files.clear();
    for (const char *name : {kKernelFile, kInitrdFile, kSystemMapFile}) {
        const fs::path path = directory / name;
        if (!fs::exists(path))
            continue;
        const ManifestFile file{fs::file_size(path), file_digest(path)};
        sum.add(name).add(file.digest);
        manifest.files[name] = file;
    }
    manifest.digest = sum.hex();
}

void write_manifest(const Manifest &manifest, const fs::path &directory)
{
    json document = {{"format_version", kFormatVersion},
                     {"name", manifest.name},
                     {"kernel_release", manifest.kernel_release},
                     {"digest", manifest.digest},
                     {"inputs_digest", manifest.inputs_digest()},
                     {"request", to_json(manifest.request)},
                     {"files", json::object()},
                     {"modules", json::array()},
                     {"inputs", json::array()}};
    for (const auto &[name, file] : manifest.files)
        document["files"][name] = {{"bytes", file.bytes}, {"digest", file.digest}};
    for (const ManifestModule &module : manifest.modules)
        document["modules"].push_back(
            {{"name", module.name}, {"path", module.path}, {"parameters", module.parameters}});
    for (const Input &input : manifest.inputs)
        document["inputs"].push_back({{"kind", input.kind},
                                      {"name", input.name},
                                      {"version", input.version},
                                      {"digest", input.digest},
                                      {"path", path_or_null(input.path)}});
    write_file(directory / kManifestFile, json_document(document));
}

Manifest read_manifest(const fs::path &directory)
{
    const fs::path path = directory / kManifestFile;
    if (!fs::exists(path))
        fail(ErrorKind::guest, "{} is missing", path.string());
    try {
        const json document = parse_json(read_file(path));
        if (document.at("format_version") != kFormatVersion)
            fail(ErrorKind::guest, "{} has format version {}, this fencepost reads {}",
                 path.string(), json_text(document.at("format_version")), kFormatVersion);
        return manifest_from(document);
    } catch (const json::exception &) {
        fail(ErrorKind::guest, "{} is damaged", path.string());
    }
}

bool same_request(const BuildRequest &a, const BuildRequest &b)
{
    return to_json(a) == to_json(b);
}

} // namespace fencepost::images
