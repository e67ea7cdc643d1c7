// SPDX-License-Identifier: GPL-2.0-or-later
// The oracle `semantic`: the recovered tree is one that the workload may leave at the crash point.
#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/oracle/tree_oracle.h"

namespace fencepost::oracle {

namespace {

class SemanticOracle : public TreeOracle {
public:
    SemanticOracle(const std::string &name, const JudgeSettings &settings)
        : TreeOracle(name, settings, own_trees(settings))
    {
    }

private:
    static LegalTrees own_trees(const JudgeSettings &settings)
    {
        LegalTrees legal = observe_legal_trees(settings, "");
        for (const Mask &mask : legal.history().masks)
            settings.say(fmt::format("no two runs agree on the {} of {}: not compared", mask.field,
                                     mask.path));
        return legal;
    }
};

} // namespace

std::unique_ptr<Oracle> make_semantic_oracle(const std::string &name, const JudgeSettings &settings)
{
    return std::make_unique<SemanticOracle>(name, settings);
}

} // namespace fencepost::oracle
