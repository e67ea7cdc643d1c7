// SPDX-License-Identifier: GPL-2.0-or-later
// See elf_code.h. libelf checks every offset against the bytes it was given.
#include "analyzer/symbols/elf_code.h"

#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/core.h>
#include <gelf.h>

#include "analyzer/symbols/inlined_frames.h"

namespace fencepost::symbols {

namespace {

// More than any program has; a forged file must not keep us busy.
constexpr std::size_t kMaxSymbols = 4'000'000;
constexpr std::size_t kMaxUnitRanges = 1'000'000;

struct CloseElf {
    void operator()(Elf *elf) const { elf_end(elf); }
};
struct CloseDwarf {
    void operator()(Dwarf *dwarf) const { dwarf_end(dwarf); }
};

SymbolRank rank_of(unsigned char binding)
{
    return binding == STB_GLOBAL ? SymbolRank::global
           : binding == STB_WEAK ? SymbolRank::weak
                                 : SymbolRank::local;
}

} // namespace

struct ElfCode::UnitRange {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    Dwarf_Off unit = 0;
};

struct ElfCode::State {
    std::string bytes;
    std::unique_ptr<Elf, CloseElf> elf;
    std::unique_ptr<Dwarf, CloseDwarf> dwarf;
    std::optional<InlinedFrames> inlined; // where there is DWARF
    std::unique_ptr<ElfCode> debug;
    std::uint64_t entry = 0;
    std::vector<Segment> segments;
    std::string interpreter;
    std::string build_id;
    bool symbols_read = false;
    SymbolTable symbols;
    std::vector<UnitRange> units;

    void read_segments();
    void read_notes(const GElf_Phdr &header);
    void read_symbols(SymbolTable &table) const;
    void read_symbol_section(Elf_Scn *section, const GElf_Shdr &header, SymbolTable &table) const;
    void read_units();
};

void ElfCode::State::read_segments()
{
    std::size_t count = 0;
    if (elf_getphdrnum(elf.get(), &count) != 0)
        return;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf.get(), static_cast<int>(i), &header))
            return;
        const bool inside =
            header.p_offset <= bytes.size() && header.p_filesz <= bytes.size() - header.p_offset;
        if (header.p_type == PT_LOAD) {
            segments.push_back({.offset = header.p_offset,
                                .address = header.p_vaddr,
                                .file_size = header.p_filesz,
                                .memory_size = header.p_memsz,
                                .executable = (header.p_flags & PF_X) != 0});
        } else if (header.p_type == PT_INTERP && inside && header.p_filesz < 4096) {
            interpreter = bytes.substr(header.p_offset, header.p_filesz);
            interpreter.resize(std::strlen(interpreter.c_str()));
        } else if (header.p_type == PT_NOTE && inside) {
            read_notes(header);
        }
    }
}

void ElfCode::State::read_notes(const GElf_Phdr &header)
{
    Elf_Data *data =
        elf_getdata_rawchunk(elf.get(), static_cast<std::int64_t>(header.p_offset), header.p_filesz,
                             header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (!data)
        return;
    GElf_Nhdr note;
    std::size_t name = 0;
    std::size_t contents = 0;
    for (std::size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &contents)) > 0;) {
        const auto *start = static_cast<const char *>(data->d_buf);
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            std::memcmp(start + name, "GNU", 4) != 0)
            continue;
        build_id.clear();
        for (std::size_t i = 0; i < std::min<std::size_t>(note.n_descsz, 64); ++i)
            build_id += fmt::format("{:02x}", static_cast<unsigned char>(start[contents + i]));
    }
}

void ElfCode::State::read_symbols(SymbolTable &table) const
{
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf.get(), section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        // Where code ends, the function before it ends as well.
        if ((header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR)) {
            table.add_limit(header.sh_addr);
            table.add_limit(header.sh_addr + header.sh_size);
        }
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            read_symbol_section(section, header, table);
    }
}

void ElfCode::State::read_symbol_section(Elf_Scn *section, const GElf_Shdr &header,
                                         SymbolTable &table) const
{
    Elf_Data *data = elf_getdata(section, nullptr);
    if (!data || header.sh_entsize == 0)
        return;
    const std::size_t count = std::min<std::size_t>(data->d_size / header.sh_entsize, kMaxSymbols);
    for (std::size_t i = 0; i < count && table.size() < kMaxSymbols; ++i) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, static_cast<int>(i), &symbol))
            return;
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        // Hand-written code may have no type; what has no section is not here.
        if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
            symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
            continue;
        if (type == STT_NOTYPE) {
            GElf_Shdr in;
            Elf_Scn *home = elf_getscn(elf.get(), symbol.st_shndx);
            if (!home || !gelf_getshdr(home, &in) || !(in.sh_flags & SHF_EXECINSTR))
                continue;
        }
        const char *name = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
        if (name && *name)
            table.add({.address = symbol.st_value,
                       .size = symbol.st_size,
                       .rank = rank_of(GELF_ST_BIND(symbol.st_info)),
                       .name = name});
    }
}

void ElfCode::State::read_units()
{
    dwarf.reset(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
    if (!dwarf)
        return;
    inlined.emplace(dwarf.get());
    Dwarf_Off next = 0;
    std::size_t header_size = 0;
    for (Dwarf_Off at = 0;
         dwarf_nextcu(dwarf.get(), at, &next, &header_size, nullptr, nullptr, nullptr) == 0 &&
         next > at;
         at = next) {
        Dwarf_Die unit;
        if (!dwarf_offdie(dwarf.get(), at + header_size, &unit))
            continue;
        Dwarf_Addr base = 0;
        Dwarf_Addr low = 0;
        Dwarf_Addr high = 0;
        for (std::ptrdiff_t range = 0;
             (range = dwarf_ranges(&unit, range, &base, &low, &high)) > 0 &&
             units.size() < kMaxUnitRanges;)
            if (low < high)
                units.push_back({.low = low, .high = high, .unit = at + header_size});
    }
    std::ranges::sort(units, {}, &UnitRange::low);
}

ElfCode::ElfCode(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfCode::~ElfCode() = default;

std::unique_ptr<ElfCode> ElfCode::open(std::string bytes)
{
    if (elf_version(EV_CURRENT) == EV_NONE || bytes.size() < EI_NIDENT ||
        std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
        return nullptr;
    auto state = std::make_unique<State>();
    state->bytes = std::move(bytes);
    state->elf.reset(elf_memory(state->bytes.data(), state->bytes.size()));
    GElf_Ehdr header;
    if (!state->elf || elf_kind(state->elf.get()) != ELF_K_ELF ||
        !gelf_getehdr(state->elf.get(), &header) || gelf_getclass(state->elf.get()) != ELFCLASS64 ||
        header.e_machine != EM_X86_64 || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return nullptr;
    state->entry = header.e_entry;
    state->read_segments();
    state->read_units();
    return std::unique_ptr<ElfCode>(new ElfCode(std::move(state)));
}

std::uint64_t ElfCode::entry() const
{
    return state_->entry;
}

const std::vector<Segment> &ElfCode::segments() const
{
    return state_->segments;
}

const std::string &ElfCode::interpreter() const
{
    return state_->interpreter;
}

const std::string &ElfCode::build_id() const
{
    return state_->build_id;
}

bool ElfCode::has_debug_lines() const
{
    return !state_->units.empty() || (state_->debug && state_->debug->has_debug_lines());
}

void ElfCode::add_debug_file(std::unique_ptr<ElfCode> debug)
{
    state_->debug = std::move(debug);
    state_->symbols_read = false;
}

const CodeSymbol *ElfCode::function_at(std::uint64_t address)
{
    if (!state_->symbols_read) {
        state_->symbols = SymbolTable();
        state_->read_symbols(state_->symbols);
        if (state_->debug)
            state_->debug->state_->read_symbols(state_->symbols);
        state_->symbols.finish();
        state_->symbols_read = true;
    }
    return state_->symbols.find(address);
}

std::optional<std::uint64_t> ElfCode::address_of(std::string_view name)
{
    function_at(0); // reads the table
    for (const CodeSymbol &symbol : state_->symbols.symbols())
        if (symbol.name == name)
            return symbol.address;
    return std::nullopt;
}

const ElfCode::UnitRange *ElfCode::unit_at(std::uint64_t address) const
{
    const auto after = std::ranges::upper_bound(state_->units, address, {}, &UnitRange::low);
    return after != state_->units.begin() && address < (after - 1)->high ? &*(after - 1) : nullptr;
}

std::optional<SourceLine> ElfCode::line_at(std::uint64_t address)
{
    if (const UnitRange *range = unit_at(address)) {
        Dwarf_Die unit;
        Dwarf_Line *line = dwarf_offdie(state_->dwarf.get(), range->unit, &unit)
                               ? dwarf_getsrc_die(&unit, address)
                               : nullptr;
        int number = 0;
        const char *file = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
        if (file && dwarf_lineno(line, &number) == 0 && number > 0)
            return SourceLine{.file = file, .line = static_cast<std::uint32_t>(number)};
    }
    return state_->debug ? state_->debug->line_at(address) : std::nullopt;
}

std::optional<SourcePlace> ElfCode::place_at(std::uint64_t address)
{
    const std::optional<SourceLine> line = line_at(address);
    if (!line)
        return std::nullopt;
    SourcePlace place = {.line = *line, .inlined = {}};
    for (ElfCode *code = this; code && place.inlined.empty(); code = code->state_->debug.get())
        if (const UnitRange *range = code->unit_at(address))
            place.inlined = code->state_->inlined->at(range->unit, address);
    return place;
}

} // namespace fencepost::symbols
