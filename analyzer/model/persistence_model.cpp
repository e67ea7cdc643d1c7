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
constexpr std::string_view kRuleNames[] = {"explicit", "architectural"};

template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::string_view (&names)[N], std::string_view name)
{
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == name)
            return static_cast<Enum>(i);
    return std::nullopt;
}

} // namespace

std::string_view name_of(ModelKind kind)
{
    return kModelNames[static_cast<unsigned>(kind)];
}

std::string_view name_of(FenceRule rule)
{
    return kRuleNames[static_cast<unsigned>(rule)];
}

std::optional<ModelKind> model_named(std::string_view name)
{
    return named<ModelKind>(kModelNames, name);
}

std::optional<FenceRule> fence_rule_named(std::string_view name)
{
    return named<FenceRule>(kRuleNames, name);
}

bool counts_as_fence(trace::FenceKind kind, FenceRule rule)
{
    switch (kind) {
    case trace::FenceKind::sfence:
    case trace::FenceKind::mfence:
        return true;
    case trace::FenceKind::lock_rmw:
    case trace::FenceKind::xchg:
        return rule == FenceRule::architectural;
    default:
        return false; // lfence orders no stores; an interrupt that happens to come must hide
                      // nothing
    }
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
