// SPDX-License-Identifier: GPL-2.0-or-later
// See persistence_model.h.
#include "analyzer/model/persistence_model.h"

#include "analyzer/model/adr_model.h"
#include "analyzer/model/eadr_model.h"
#include "analyzer/model/line_model.h"
#include "base/error.h"

namespace fencepost::model {

namespace {

constexpr std::string_view kModelNames[] = {"adr", "eadr", "line"};

} // namespace

std::string_view name_of(ModelKind kind)
{
    return kModelNames[static_cast<unsigned>(kind)];
}

std::optional<ModelKind> model_named(std::string_view name)
{
    for (const ModelKind kind : {ModelKind::adr, ModelKind::eadr, ModelKind::line})
        if (name_of(kind) == name)
            return kind;
    return std::nullopt;
}

std::unique_ptr<PersistenceModel> make_model(ModelKind kind, FenceRule rule)
{
    switch (kind) {
    case ModelKind::adr:
        return std::make_unique<AdrModel>(rule);
    case ModelKind::eadr:
        return std::make_unique<EadrModel>(rule);
    case ModelKind::line:
        return std::make_unique<LineModel>(rule);
    }
    check_failed(__FILE__, __LINE__, "kind", "a model that does not exist");
}

} // namespace fencepost::model
