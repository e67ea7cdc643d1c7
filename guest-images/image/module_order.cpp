// SPDX-License-Identifier: GPL-2.0-or-later
// See module_order.h: a depth-first walk that is undone when it meets what cannot be had.
#include "guest-images/image/module_order.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace fencepost::images {

namespace {

class Walk {
public:
    explicit Walk(const std::function<ModuleNode(const std::string &)> &lookup) : lookup_(lookup) {}

    // Adds a module after what it needs, or says why that cannot be and adds nothing.
    std::optional<std::string> add(const std::string &name)
    {
        const std::size_t before = order_.size();
        auto problem = visit(name);
        if (problem) {
            order_.resize(before);
            open_.clear();
        }
        return problem;
    }

    std::vector<std::string> take() { return std::move(order_); }

private:
    std::optional<std::string> visit(const std::string &name)
    {
        if (contains(order_, name))
            return std::nullopt;
        if (contains(open_, name))
            return fmt::format("{} and {} depend on each other", name, open_.back());
        const ModuleNode node = lookup_(name);
        if (node.presence == ModulePresence::built_in)
            return std::nullopt;
        if (node.presence == ModulePresence::absent)
            return open_.empty() ? fmt::format("there is no module {}", name)
                                 : fmt::format("{} depends on the module {}, which is not there",
                                               open_.back(), name);
        open_.push_back(name);
        for (const std::string &soft : node.soft_depends)
            visit_soft(soft);
        for (const std::string &needed : node.depends) {
            if (auto problem = visit(needed))
                return problem;
        }
        open_.pop_back();
        order_.push_back(name);
        return std::nullopt;
    }

    void visit_soft(const std::string &name)
    {
        const std::vector<std::string> open = open_;
        const std::size_t before = order_.size();
        if (visit(name)) {
            open_ = open;
            order_.resize(before);
        }
    }

    static bool contains(const std::vector<std::string> &names, const std::string &name)
    {
        return std::find(names.begin(), names.end(), name) != names.end();
    }

    const std::function<ModuleNode(const std::string &)> &lookup_;
    std::vector<std::string> order_;
    std::vector<std::string> open_; // from the wanted module down to the one being visited
};

} // namespace

LoadOrder load_order(const std::vector<WantedModule> &wanted,
                     const std::function<ModuleNode(const std::string &name)> &lookup)
{
    Walk walk(lookup);
    LoadOrder result;
    for (const WantedModule &module : wanted) {
        if (!module.required && lookup(module.name).presence != ModulePresence::file)
            continue;
        const auto problem = walk.add(module.name);
        if (problem && module.required)
            fail(ErrorKind::usage, "the module {} cannot be loaded: {}", module.name, *problem);
        if (problem)
            result.left_out.push_back({module.name, *problem});
    }
    result.modules = walk.take();
    return result;
}

} // namespace fencepost::images
