// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost image list` and `fencepost image prune`: what the cache holds, and away with the
// stale.
#include "base/byte_size.h"
#include "cli/image_verbs.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/places.h"
#include "guest-images/image/image_store.h"
#include "replayer/guest/template_store.h"

namespace fencepost::cli {

namespace {

using guest::TemplateStatus;
using guest::TemplateStore;
using images::ImageState;
using images::ImageStatus;
using images::ImageStore;

nlohmann::json to_json(const TemplateStatus &status)
{
    nlohmann::json entry = {{"key", status.key},
                            {"state", status.stale_reason.empty() ? "fresh" : "stale"},
                            {"reason", status.stale_reason},
                            {"bytes", status.bytes}};
    if (status.known) {
        entry["image"] = status.known->config.image;
        entry["backend"] = status.known->backend;
        entry["clock"] = to_string(status.known->config.clock);
        entry["cpus"] = status.known->config.cpus;
        entry["pm_devices"] = status.known->config.pm.size();
        entry["boot_seconds"] = status.known->boot_seconds;
    }
    return entry;
}

void print(const ImageStatus &status)
{
    fmt::print("image    {:<16} {:<8}", status.image.name, to_string(status.state));
    if (status.state != ImageState::damaged)
        fmt::print(" Linux {}, {} modules, {:.1f} MB", status.image.kernel_release,
                   status.image.modules.size(),
                   megabytes(status.image.kernel_bytes + status.image.initrd_bytes));
    fmt::print("{}\n", status.reason.empty() ? "" : " (" + status.reason + ")");
}

void print(const TemplateStatus &status)
{
    fmt::print("template {:<16} {:<8}", status.key.substr(0, 12),
               status.stale_reason.empty() ? "fresh" : "stale");
    if (status.known) {
        const guest::GuestConfig &config = status.known->config;
        fmt::print(" {}, {}, {} clock, {} CPU, {} PM", config.image, status.known->backend,
                   to_string(config.clock), config.cpus, config.pm.size());
        if (!config.pm.empty())
            fmt::print(" of {} ({})", format_size(config.pm[0].size),
                       to_string(config.pm[0].attach));
    }
    fmt::print(", {:.1f} MB{}\n", megabytes(status.bytes),
               status.stale_reason.empty() ? "" : " (" + status.stale_reason + ")");
}

void list(const Context &context)
{
    const std::vector<ImageStatus> images = ImageStore(cache_directory()).list();
    const std::vector<TemplateStatus> templates = TemplateStore::list(cache_directory());
    if (context.settings.json) {
        nlohmann::json document = {{"images", nlohmann::json::array()},
                                   {"templates", nlohmann::json::array()}};
        for (const ImageStatus &status : images) {
            nlohmann::json entry = image_to_json(status.image);
            entry["state"] = to_string(status.state);
            entry["reason"] = status.reason;
            document["images"].push_back(std::move(entry));
        }
        for (const TemplateStatus &status : templates)
            document["templates"].push_back(to_json(status));
        print_json(document);
        return;
    }
    if (images.empty())
        fmt::print("no images; make one with fencepost image build\n");
    for (const ImageStatus &status : images)
        print(status);
    for (const TemplateStatus &status : templates)
        print(status);
}

void prune(const Context &context)
{
    const int removed = TemplateStore::prune(cache_directory());
    if (context.settings.json)
        print_json({{"removed_templates", removed}});
    else
        fmt::print("{} stale or damaged templates removed\n", removed);
}

} // namespace

void add_image_list(App &image, Context &context)
{
    App *shown = image.add_subcommand(
        "list", "Images and templates in the cache, and whether they are up to date");
    shown->examples({{"image list", "what is in the cache"}});
    shown->callback([&context] { list(context); });
    App *pruned = image.add_subcommand("prune", "Remove templates that would never be used again");
    pruned->examples({{"image prune", "frees what nothing would use again"}});
    pruned->callback([&context] { prune(context); });
}

} // namespace fencepost::cli
