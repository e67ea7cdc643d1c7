// SPDX-License-Identifier: GPL-2.0-or-later
// A template's manifest.json: written once, checked against the files whenever it is read.
#pragma once

#include <filesystem>
#include <string>

#include "replayer/guest/template_store.h"

namespace fencepost::guest {

constexpr const char *kTemplateFormat = "2";

// Into `made.directory`, with the digests of the files there.
void write_manifest(const Template &made);

// Throws a guest error that says what is wrong with a damaged, foreign or unfinished template.
Template open_template(const std::filesystem::path &directory);

// Empty: the QEMU, the image and the fencepost of today would make the same.
std::string why_stale(const Template &known, const images::ImageStore &images);

} // namespace fencepost::guest
