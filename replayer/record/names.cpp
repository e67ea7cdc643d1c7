// SPDX-License-Identifier: GPL-2.0-or-later
// See names.h.
#include "replayer/record/names.h"

#include "guest-images/image/image_store.h"

namespace fencepost::record {

namespace fs = std::filesystem;

symbols::SymbolizeReport name_code(const RunFiles &files, const Spec &spec, const guest::Template &source,
                                   const fs::path &cache)
{
    symbols::SymbolSources sources;
    sources.kallsyms = files.kallsyms();
    sources.modules = files.modules();
    for (const CopySpec &copy : spec.copies)
        sources.files.push_back({copy.to, copy.from});
    sources.trees = spec.guest.initrd_extra;
    sources.archives = {images::ImageStore(cache).open(source.config.image).initrd};
    if (const fs::path debug = "/usr/lib/debug"; fs::is_directory(debug))
        sources.debug_directories = {debug};
    return symbols::symbolize_trace(files.trace(), sources);
}

} // namespace fencepost::record
