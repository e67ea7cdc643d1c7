// SPDX-License-Identifier: GPL-2.0-or-later
// See differential.h.
#include "replayer/oracle/differential.h"

#include "replayer/record/jobs.h"

namespace fencepost::oracle {

LegalStates find_legal_states_of(const std::string &type, const record::RunFiles &run,
                                 const record::RecordInputs &inputs,
                                 const std::filesystem::path &cache,
                                 const std::function<void(const std::string &line)> &progress)
{
    record::RecordInputs other = inputs;
    record::use_file_system(other.setup, type);
    record::use_file_system(other.workload, type);
    LegalStates legal = find_legal_states(run, other, cache, progress, type);
    History history = legal.history();
    // How many links a directory has, what a fresh file system holds and whose its root is are
    // nobody's operations.
    for (const char *name : {"lost+found", "."})
        for (const char *field : {"name", "mode", "user", "group", "attributes"})
            history.masks.insert({name, field});
    for (const Tree &tree : history.trees)
        for (const auto &[path, entry] : tree.entries())
            if (entry.type == agent::FileType::directory)
                history.masks.insert({path, "link_count"});
    return LegalStates(std::move(history), legal.operations());
}

} // namespace fencepost::oracle
