// SPDX-License-Identifier: GPL-2.0-or-later
// See model_kind.h.
#include "analyzer/model/model_kind.h"

namespace fencepost::model {

namespace {

constexpr std::string_view kNames[] = {"adr", "eadr", "line"};

} // namespace

std::string_view name_of(ModelKind kind)
{
    return kNames[static_cast<unsigned>(kind)];
}

std::optional<ModelKind> model_named(std::string_view name)
{
    for (const ModelKind kind : {ModelKind::adr, ModelKind::eadr, ModelKind::line})
        if (name_of(kind) == name)
            return kind;
    return std::nullopt;
}

} // namespace fencepost::model
