// SPDX-License-Identifier: GPL-2.0-or-later
// See names.h.
#include "replayer/record/names.h"

#include "guest-images/image/image_store.h"
#include "trace/amendment.h"
#include "trace/incidental_fences.h"

namespace fencepost::record {

namespace fs = std::filesystem;

namespace {

void count_incidental_fences(const fs::path &path, const std::vector<std::string> &named)
{
    trace::DataQuality counter = {.name = "incidental_fences",
                                  .severity = trace::QualityLevel::info,
                                  .meaning = "sfence and mfence of functions that do not mean PM: "
                                             "they do not count under explicit fences"};
    std::string functions;
    {
        const trace::TraceReader reader(path);
        const trace::IncidentalFences fences(reader, trace::incidental_functions(named));
        for (const trace::IncidentalFences::Function &each : fences.functions()) {
            counter.value += static_cast<std::int64_t>(each.fences);
            functions += (functions.empty() ? ": " : ", ") + each.name;
        }
    }
    counter.meaning += functions;
    trace::TraceAmendment amendment(path);
    amendment.put_data_quality(counter);
    amendment.commit();
}

} // namespace

symbols::SymbolizeReport name_code(const run::RunFiles &files, const run::Spec &spec,
                                   const guest::Template &source, const fs::path &cache)
{
    symbols::SymbolSources sources;
    sources.kallsyms = files.kallsyms();
    sources.modules = files.modules();
    for (const run::CopySpec &copy : spec.copies)
        sources.files.push_back({copy.to, copy.from});
    sources.trees = spec.guest.initrd_extra;
    sources.archives = {images::ImageStore(cache).open(source.config.image).initrd};
    if (const fs::path debug = "/usr/lib/debug"; fs::is_directory(debug))
        sources.debug_directories = {debug};
    const symbols::SymbolizeReport report = symbols::symbolize_trace(files.trace(), sources);
    count_incidental_fences(files.trace(), spec.test.incidental);
    return report;
}

} // namespace fencepost::record
