// SPDX-License-Identifier: GPL-2.0-or-later
// See field_layout.h.
#include "analyzer/rules/field_layout.h"

namespace fencepost::rules {

FieldLayouts::FieldLayouts(const std::vector<FieldSource> &) {}

FieldPlace FieldLayouts::place(const std::string &range, const std::vector<std::string> &fields, const TextLine &line) const
{
    const auto type = types_.find(range);
    if (type == types_.end())
        line.refuse("the fields of '{}' are not known; say: struct {} TYPE in PROGRAM", range, range);
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
            line.refuse("there is no field '{}' in {}", name, key.empty() ? "what is no struct" : key);
        place.offset += field->offset;
        place.size = field->size;
        key = field->type;
    }
    return place;
}

} // namespace fencepost::rules
