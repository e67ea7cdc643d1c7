// SPDX-License-Identifier: GPL-2.0-or-later
// See symbolize.h.
#include "analyzer/symbols/symbolize.h"

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "analyzer/symbols/guest_files.h"
#include "analyzer/symbols/kallsyms.h"
#include "analyzer/symbols/processes.h"
#include "analyzer/symbols/readable_name.h"
#include "analyzer/symbols/source_file.h"
#include "trace/amendment.h"
#include "trace/reader.h"

namespace fencepost::symbols {

namespace {

using trace::CodeLocation;
using trace::Privilege;

// The kernel's functions, and its lines where it came with debug information.
class KernelCode {
public:
    KernelCode(const SymbolSources &sources, std::vector<std::string> &notes)
    {
        if (!sources.kallsyms.empty())
            functions_ = read_kernel_functions(sources.kallsyms, sources.modules, notes);
        if (sources.vmlinux.empty())
            return;
        if (auto bytes = read_source(sources.vmlinux))
            vmlinux_ = ElfCode::open(std::move(*bytes));
        if (!vmlinux_)
            notes.push_back(fmt::format("{} is not a kernel as ELF", sources.vmlinux.string()));
        else
            find_bias();
    }

    const CodeSymbol *function_at(std::uint64_t address) const { return functions_.find(address); }

    std::optional<SourceLine> line_at(std::uint64_t address) const
    {
        return vmlinux_ ? vmlinux_->line_at(address - bias_) : std::nullopt;
    }

private:
    // A kernel that moved itself at boot lies elsewhere than its file says.
    void find_bias()
    {
        for (const CodeSymbol &symbol : functions_.symbols())
            if (symbol.name == "_stext" || symbol.name == "startup_64")
                if (const auto address = vmlinux_->address_of(symbol.name)) {
                    bias_ = symbol.address - *address;
                    return;
                }
    }

    SymbolTable functions_;
    std::unique_ptr<ElfCode> vmlinux_;
    std::uint64_t bias_ = 0;
};

class Namer {
public:
    Namer(const trace::TraceReader &reader, const SymbolSources &sources,
          std::vector<std::string> &notes)
        : kernel_(sources, notes), files_(sources, notes),
          store_(files_, sources.debug_directories), processes_(reader, store_, notes)
    {
    }

    // `code` is a site or a caller.
    template <typename Code> CodeLocation locate(const Code &code)
    {
        return code.privilege == Privilege::kernel
                   ? locate_kernel(code.pc)
                   : locate_user(code.address_space, code.pc, code.module);
    }

    std::vector<trace::Symbol> symbols() const
    {
        std::vector<trace::Symbol> rows;
        for (const auto &known : symbols_)
            rows.push_back({.id = known.second,
                            .name = std::get<1>(known.first),
                            .module = std::get<2>(known.first),
                            .address = std::get<0>(known.first),
                            .size = std::get<3>(known.first)});
        return rows;
    }

    const trace::InlinedCalls &inlined() const { return inlined_; }

private:
    CodeLocation locate_kernel(std::uint64_t pc)
    {
        CodeLocation location;
        if (const CodeSymbol *function = kernel_.function_at(pc)) {
            location.symbol = number(function->address, *function, function->module);
            location.module = function->module;
        }
        if (const auto line = kernel_.line_at(pc))
            set_line(location, *line);
        return location;
    }

    CodeLocation locate_user(std::uint64_t process, std::uint64_t pc, const std::string &module)
    {
        CodeLocation location;
        const CodeRange *range = processes_.find(process, pc, module);
        if (!range)
            return location;
        location.module = range->path;
        const std::uint64_t address = pc - range->bias;
        if (const CodeSymbol *function = range->code->function_at(address))
            location.symbol = number(function->address + range->bias, *function, range->path);
        if (std::optional<SourcePlace> place = range->code->place_at(address)) {
            place = own_place(std::move(*place));
            set_line(location, place->line);
            note_inlined({process, pc}, place->inlined);
        }
        return location;
    }

    void note_inlined(const trace::InlinedCalls::key_type &code,
                      const std::vector<InlinedFrame> &frames)
    {
        std::vector<trace::InlinedCall> chain;
        for (const InlinedFrame &frame : frames)
            chain.push_back({.function = readable_name(frame.function),
                             .source_file = frame.call.file,
                             .source_line = frame.call.line});
        if (!chain.empty())
            inlined_[code] = std::move(chain);
    }

    static void set_line(CodeLocation &location, const SourceLine &line)
    {
        location.source_file = line.file;
        location.source_line = line.line;
    }

    std::uint32_t number(std::uint64_t address, const CodeSymbol &function,
                         const std::string &module)
    {
        const auto next = static_cast<std::uint32_t>(symbols_.size() + 1);
        return symbols_
            .try_emplace({address, readable_name(function.name), module, function.size}, next)
            .first->second;
    }

    KernelCode kernel_;
    GuestFiles files_;
    ElfStore store_;
    Processes processes_;
    std::map<std::tuple<std::uint64_t, std::string, std::string, std::uint64_t>, std::uint32_t>
        symbols_;
    trace::InlinedCalls inlined_;
};

void count(const CodeLocation &location, std::uint64_t &named, std::uint64_t &located)
{
    named += location.symbol != 0;
    located += location.source_line != 0;
}

} // namespace

SymbolizeReport symbolize_trace(const std::filesystem::path &path, const SymbolSources &sources)
{
    SymbolizeReport report;
    std::vector<std::pair<trace::SiteId, CodeLocation>> sites;
    std::vector<std::pair<std::uint32_t, CodeLocation>> frames;
    std::vector<trace::Symbol> symbols;
    trace::InlinedCalls inlined;
    {
        const trace::TraceReader reader(path);
        Namer namer(reader, sources, report.notes);
        for (const trace::SiteRow &row : reader.sites()) {
            sites.emplace_back(row.site.id, namer.locate(row.site));
            count(sites.back().second, report.named_sites, report.located_sites);
        }
        for (const trace::StackFrameRow &row : reader.stack_frames()) {
            frames.emplace_back(row.frame.id, namer.locate(row.frame));
            count(frames.back().second, report.named_frames, report.located_frames);
        }
        symbols = namer.symbols();
        inlined = namer.inlined();
    }
    report.sites = sites.size();
    report.frames = frames.size();
    report.symbols = symbols.size();

    trace::TraceAmendment amendment(path);
    amendment.remove_symbols();
    for (const trace::Symbol &symbol : symbols)
        amendment.put_symbol(symbol);
    for (const auto &site : sites)
        amendment.locate_site(site.first, site.second);
    for (const auto &frame : frames)
        amendment.locate_stack_frame(frame.first, frame.second);
    amendment.put_inlined_calls(inlined);
    amendment.put_data_quality(
        {.name = "sites_without_symbol",
         .value = static_cast<std::int64_t>(report.sites - report.named_sites),
         .severity = trace::QualityLevel::info,
         .meaning = "sites whose function is not known: they show as addresses"});
    amendment.put_data_quality(
        {.name = "frames_without_symbol",
         .value = static_cast<std::int64_t>(report.frames - report.named_frames),
         .severity = trace::QualityLevel::info,
         .meaning = "callers in call stacks whose function is not known: they show as addresses"});
    amendment.commit();
    return report;
}

} // namespace fencepost::symbols
