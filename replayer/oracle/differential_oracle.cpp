// SPDX-License-Identifier: GPL-2.0-or-later
// The oracle `differential`: as `semantic`, with the legal trees of another file system, after the
// same operations. It does not share the mistakes of the file system under test.
#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/oracle/tree_oracle.h"

namespace fencepost::oracle {

namespace {

class DifferentialOracle : public TreeOracle {
public:
    DifferentialOracle(const std::string &name, const JudgeSettings &settings)
        : TreeOracle(name, settings,
                     mask_file_system(observe_legal_trees(settings, other_file_system(settings))))
    {
    }

private:
    static std::string other_file_system(const JudgeSettings &settings)
    {
        if (!settings.inputs.test.other_file_system.empty())
            return settings.inputs.test.other_file_system;
        return settings.inputs.mount->request.fstype == "ext4" ? "xfs" : "ext4";
    }

    // How many links a directory has, what a fresh file system holds and whose its root is are
    // nobody's operations.
    static LegalTrees mask_file_system(const LegalTrees &legal)
    {
        History history = legal.history();
        for (const char *name : {"lost+found", "."})
            for (const char *field : {"name", "mode", "user", "group", "attributes"})
                history.masks.insert({name, field});
        for (const Tree &tree : history.trees)
            for (const auto &[path, entry] : tree.entries())
                if (entry.type == agent::FileType::directory)
                    history.masks.insert({path, "link_count"});
        return LegalTrees(std::move(history), legal.operations());
    }
};

} // namespace

std::unique_ptr<Oracle> make_differential_oracle(const std::string &name,
                                                 const JudgeSettings &settings)
{
    return std::make_unique<DifferentialOracle>(name, settings);
}

} // namespace fencepost::oracle
