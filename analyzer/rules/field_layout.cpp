// SPDX-License-Identifier: GPL-2.0-or-later
// See field_layout.h.
#include "analyzer/rules/field_layout.h"

#include <memory>
#include <optional>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include "base/fd.h"

namespace fencepost::rules {

// One program's types. Debug information is not trusted: what cannot be read is as if it were not
// there.
class DwarfReader {
public:
    DwarfReader(const std::string &file, std::map<std::string, FieldLayouts::Struct> &structs)
        : file_(file), fd_(open(file.c_str(), O_RDONLY | O_CLOEXEC)),
          dwarf_(fd_ ? dwarf_begin(fd_.get(), DWARF_C_READ) : nullptr), structs_(structs)
    {
    }
    ~DwarfReader()
    {
        if (dwarf_)
            dwarf_end(dwarf_);
    }
    DwarfReader(const DwarfReader &) = delete;
    DwarfReader &operator=(const DwarfReader &) = delete;

    bool is_open() const { return static_cast<bool>(fd_); }
    bool has_types() const { return dwarf_ != nullptr; }

    // Of the struct, typedef or global variable with that name; a variable may be a pointer to a
    // struct.
    std::optional<std::string> find(const std::string &name)
    {
        Dwarf_Off next = 0;
        size_t header = 0;
        for (Dwarf_Off at = 0;
             dwarf_nextcu(dwarf_, at, &next, &header, nullptr, nullptr, nullptr) == 0; at = next) {
            Dwarf_Die unit;
            Dwarf_Die die;
            if (!dwarf_offdie(dwarf_, at + header, &unit) || dwarf_child(&unit, &die) != 0)
                continue;
            do {
                const char *known = dwarf_diename(&die);
                if (!known || name != known || dwarf_hasattr(&die, DW_AT_declaration))
                    continue;
                const int tag = dwarf_tag(&die);
                std::string key;
                if (tag == DW_TAG_structure_type || tag == DW_TAG_union_type)
                    key = read_struct(die, 0);
                else if (tag == DW_TAG_typedef || tag == DW_TAG_variable)
                    key = struct_of(die, tag == DW_TAG_variable, 0);
                if (!key.empty())
                    return key;
            } while (dwarf_siblingof(&die, &die) == 0);
        }
        return std::nullopt;
    }

private:
    static constexpr int kMostDepth = 16;

    std::optional<Dwarf_Die> type_of(Dwarf_Die &die)
    {
        Dwarf_Attribute attribute;
        Dwarf_Die type;
        if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute) ||
            !dwarf_formref_die(&attribute, &type))
            return std::nullopt;
        return type;
    }

    // The struct behind typedefs and qualifiers, and behind one pointer if asked; empty = it is
    // none.
    std::string struct_of(Dwarf_Die &die, bool through_pointer, int depth)
    {
        std::optional<Dwarf_Die> type = type_of(die);
        for (int step = 0; type && step < kMostDepth; ++step) {
            switch (dwarf_tag(&*type)) {
            case DW_TAG_structure_type:
            case DW_TAG_union_type:
                return read_struct(*type, depth);
            case DW_TAG_pointer_type:
                if (!through_pointer)
                    return "";
                through_pointer = false;
                break;
            case DW_TAG_typedef:
            case DW_TAG_const_type:
            case DW_TAG_volatile_type:
                break;
            default:
                return "";
            }
            type = type_of(*type);
        }
        return "";
    }

    std::string read_struct(Dwarf_Die &die, int depth)
    {
        const char *name = dwarf_diename(&die);
        const std::string key =
            fmt::format("{} of {}",
                        name ? fmt::format("struct {}", name)
                             : fmt::format("the type at 0x{:x}", dwarf_dieoffset(&die)),
                        file_);
        if (depth >= kMostDepth || structs_.contains(key))
            return key;
        structs_[key] = {};
        FieldLayouts::Struct result;
        add_fields(die, 0, depth, result);
        structs_[key] = std::move(result);
        return key;
    }

    void add_fields(Dwarf_Die &die, std::uint64_t base, int depth, FieldLayouts::Struct &into)
    {
        Dwarf_Die member;
        if (depth >= kMostDepth || dwarf_child(&die, &member) != 0)
            return;
        do {
            if (dwarf_tag(&member) != DW_TAG_member)
                continue;
            Dwarf_Attribute attribute;
            Dwarf_Word offset = 0;
            if (dwarf_attr(&member, DW_AT_data_member_location, &attribute))
                dwarf_formudata(&attribute, &offset);
            std::optional<Dwarf_Die> type = type_of(member);
            Dwarf_Word size = 0;
            if (!type || dwarf_aggregate_size(&*type, &size) != 0)
                continue;
            const char *name = dwarf_diename(&member);
            if (name)
                into.fields.push_back(
                    {name, base + offset, size, struct_of(member, false, depth + 1)});
            else
                add_fields(*type, base + offset, depth + 1, into); // its fields are the outer one's
        } while (dwarf_siblingof(&member, &member) == 0);
    }

    std::string file_;
    Fd fd_;
    Dwarf *dwarf_;
    std::map<std::string, FieldLayouts::Struct> &structs_;
};

FieldLayouts::FieldLayouts(const std::vector<FieldSource> &sources)
{
    std::map<std::string, std::unique_ptr<DwarfReader>> readers;
    for (const FieldSource &source : sources) {
        std::unique_ptr<DwarfReader> &reader = readers[source.file];
        if (!reader)
            reader = std::make_unique<DwarfReader>(source.file, structs_);
        if (!reader->is_open())
            source.line.refuse("there is no file {}", source.file);
        if (!reader->has_types())
            source.line.refuse("{} has no debug information: build it with -g", source.file);
        const std::optional<std::string> key = reader->find(source.type);
        if (!key)
            source.line.refuse("{} has no struct, and no global variable of a struct, '{}'",
                               source.file, source.type);
        types_[source.range] = *key;
    }
}

FieldPlace FieldLayouts::place(const std::string &range, const std::vector<std::string> &fields,
                               const TextLine &line) const
{
    const auto type = types_.find(range);
    if (type == types_.end())
        line.refuse("the fields of '{}' are not known; say: struct {} TYPE in PROGRAM", range,
                    range);
    FieldPlace place;
    std::string key = type->second;
    for (const std::string &name : fields) {
        const auto known = structs_.find(key);
        const Field *field = nullptr;
        if (known != structs_.end())
            for (const Field &one : known->second.fields)
                if (one.name == name)
                    field = &one;
        if (!field)
            line.refuse("there is no field '{}' in {}", name,
                        key.empty() ? "what is no struct" : key);
        place.offset += field->offset;
        place.size = field->size;
        key = field->type;
    }
    return place;
}

} // namespace fencepost::rules
