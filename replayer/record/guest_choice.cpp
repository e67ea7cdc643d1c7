// SPDX-License-Identifier: GPL-2.0-or-later
// Which guest a spec asks for: an image by name, or one of its own that is built for it.
#include "replayer/record/recorder.h"

#include "base/digest.h"
#include "guest-images/image/image_store.h"

namespace fencepost::record {

namespace {

images::BuildRequest own_image(const run::GuestSpec &guest)
{
    images::BuildRequest request;
    request.kernel = guest.kernel;
    request.modules = guest.modules;
    for (const std::string &module : guest.module_files)
        request.module_files.push_back(images::parse_module_request(module));
    request.extra = guest.initrd_extra;
    // Named after where its parts are: another spec with the same parts shares it, and a changed
    // part makes it anew under the same name.
    Digest digest;
    digest.add(guest.kernel.value_or("").string()).add(guest.modules.value_or("").string());
    for (const std::string &module : guest.module_files)
        digest.add(module);
    digest.add("extra");
    for (const auto &directory : guest.initrd_extra)
        digest.add(directory.string());
    request.name = "spec-" + digest.hex().substr(0, 12);
    return request;
}

} // namespace

guest::GuestConfig guest_config(const run::Spec &spec, const std::filesystem::path &cache,
                                const std::function<void(const std::string &line)> &progress)
{
    guest::GuestConfig config;
    images::ImageStore store(cache);
    if (spec.guest.has_own_image()) {
        const images::BuildRequest request = own_image(spec.guest);
        store.build(request, progress);
        config.image = request.name;
    } else {
        images::check_image_name(spec.guest.image);
        store.open(spec.guest.image);
        if (const auto reason = store.stale_reason(spec.guest.image))
            fail(ErrorKind::guest,
                 "the image {} is not what would be built now ({}); run fencepost image build",
                 spec.guest.image, *reason);
        config.image = spec.guest.image;
    }
    config.ram = spec.guest.ram;
    config.cpus = spec.guest.cpus;
    config.clock = guest::Clock::icount;
    config.recording = true;
    config.pm = spec.pm;
    config.kernel_arguments = spec.guest.kernel_arguments;
    guest::validate(config);
    return config;
}

} // namespace fencepost::record
