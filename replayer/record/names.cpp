// SPDX-License-Identifier: GPL-2.0-or-later
// See names.h.
#include "replayer/record/names.h"

#include <algorithm>

#include <fmt/core.h>

#include "analyzer/symbols/code_names.h"
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

void name_lost_flushes(const fs::path &path)
{
    constexpr std::size_t kNamed = 3;
    trace::DataQuality counter;
    std::vector<std::string> sites;
    {
        const trace::TraceReader reader(path);
        for (const trace::DataQuality &each : reader.data_quality())
            if (each.name == trace::kLostFlushes)
                counter = each;
        if (counter.value == 0)
            return;
        const symbols::CodeNames names(reader);
        trace::Statement rows(reader.connection(),
                              "SELECT event.site FROM marker JOIN event USING (seq)"
                              " WHERE marker.kind = 'note' AND marker.text = ?1"
                              " ORDER BY marker.number DESC, seq");
        rows.bind(1, trace::kLostFlushesNote);
        while (rows.step()) {
            std::string site = names.where(static_cast<trace::SiteId>(rows.integer(0)));
            // The same code in several processes is several sites.
            if (std::find(sites.begin(), sites.end(), site) == sites.end())
                sites.push_back(std::move(site));
        }
    }
    std::string named;
    for (std::size_t i = 0; i < std::min(sites.size(), kNamed); ++i)
        named += (i == 0 ? "" : ", ") + sites[i];
    counter.meaning = fmt::format(
        "{} flush{} could not be attributed to lines of PM and {} left out: nobody touched the "
        "page through that mapping, or not before the line was stored to; what they flush counts "
        "as in flight, so a finding about it may be wrong ({}{})",
        counter.value, counter.value == 1 ? "" : "es", counter.value == 1 ? "is" : "are", named,
        sites.size() > kNamed ? fmt::format(", {} more", sites.size() - kNamed) : "");
    trace::TraceAmendment amendment(path);
    amendment.put_data_quality(counter);
    amendment.commit();
}

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
    name_lost_flushes(files.trace());
    return report;
}

} // namespace fencepost::record
