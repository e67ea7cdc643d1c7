// SPDX-License-Identifier: GPL-2.0-or-later
// See oracle_choice.h.
#include "replayer/oracle/oracle_choice.h"

#include <algorithm>

#include "base/child_process.h"
#include "replayer/oracle/differential.h"

namespace fencepost::oracle {

namespace {

std::optional<std::string> missing_need(const OracleFolder &oracle)
{
    for (const std::string &name : oracle.needs)
        if (!find_program(name))
            return name;
    return std::nullopt;
}

class Chooser {
public:
    explicit Chooser(const JudgeSettings &settings)
        : settings_(settings), test_(settings.inputs.test)
    {
        choice_.mount = settings.inputs.mount;
    }

    OracleChoice run()
    {
        const std::vector<std::string> &asked =
            !settings_.oracles.empty() ? settings_.oracles : test_.oracles;
        check_oracles(asked, choice_.mount ? choice_.mount->request.fstype : "",
                      !test_.recovery.empty());
        if (asked.empty())
            choose_defaults();
        for (const std::string &name : asked)
            choose(find_oracle(name));
        if (choice_.usable && settings_.closing_checks)
            add_closing_checks();
        return std::move(choice_);
    }

private:
    void say(const std::string &line) const
    {
        if (settings_.progress)
            settings_.progress(line);
    }

    void choose_defaults()
    {
        if (choice_.mount) {
            for (const OracleFolder &oracle : shipped_oracles())
                if (!oracle.built_in && oracle.is_for(choice_.mount->request.fstype))
                    choose(oracle);
            choice_.usable = true;
            try {
                add_semantic();
            } catch (const NoLegalTrees &why) {
                say(fmt::format("the semantic oracle is left out: {}", why.what()));
            }
        }
        choice_.program = !test_.recovery.empty();
    }

    // What was tried out is checked as the guest left it, also where only `usable` was asked for.
    void add_closing_checks()
    {
        for (OracleFolder &oracle : shipped_oracles()) {
            if (oracle.built_in || !oracle.after || !oracle.is_for(choice_.mount->request.fstype) ||
                std::any_of(choice_.programs.begin(), choice_.programs.end(),
                            [&](const OracleFolder &chosen) { return chosen.name == oracle.name; }))
                continue;
            if (const auto missing = missing_need(oracle)) {
                say(fmt::format("no {} after the trial by usable: {} is not installed", oracle.name,
                                *missing));
                continue;
            }
            oracle.before = false;
            choice_.programs.push_back(oracle);
        }
    }

    void choose(const OracleFolder &oracle)
    {
        if (!oracle.built_in) {
            if (const auto missing = missing_need(oracle))
                fail(ErrorKind::io, "the oracle {} needs {}, which is not installed", oracle.name,
                     *missing);
            choice_.programs.push_back(oracle);
        } else if (oracle.name == "program") {
            choice_.program = true;
        } else if (oracle.name == "semantic") {
            add_semantic();
        } else if (oracle.name == "usable") {
            choice_.usable = true;
        } else if (oracle.name == "differential") {
            add_differential();
        }
        // `mount` is part of every judgement.
    }

    run::ChosenPromise promise() const
    {
        return run::choose_promise(choice_.mount->request.fstype, choice_.mount->request.options,
                                   test_.promise);
    }

    // `file_system`: empty for the run's own.
    LegalTrees legal_trees(const std::string &file_system) const
    {
        const trace::TraceReader reader(settings_.run.trace());
        if (const std::string why = why_no_legal_trees(reader, settings_.inputs); !why.empty())
            throw NoLegalTrees(why);
        return find_legal_trees(reader, settings_.inputs, settings_.observe(file_system),
                                settings_.progress);
    }

    void add_semantic()
    {
        LegalTrees legal = legal_trees("");
        for (const Mask &mask : legal.history().masks)
            say(fmt::format("no two runs agree on the {} of {}: not compared", mask.field,
                            mask.path));
        choice_.trees.push_back({"semantic", std::move(legal), promise()});
    }

    void add_differential()
    {
        const std::string other = !test_.other_file_system.empty() ? test_.other_file_system
                                  : choice_.mount->request.fstype == "ext4" ? "xfs"
                                                                            : "ext4";
        choice_.trees.push_back({"differential", mask_file_system(legal_trees(other)), promise()});
    }

    const JudgeSettings &settings_;
    const run::TestSpec &test_;
    OracleChoice choice_;
};

} // namespace

void check_oracles(const std::vector<std::string> &names, const std::string &file_system,
                   bool has_recovery)
{
    if (names.empty() && file_system.empty() && !has_recovery)
        fail(ErrorKind::usage,
             "nothing can judge this run: it has no file system, and its spec has "
             "no test.recovery");
    for (const std::string &name : names) {
        const OracleFolder oracle = find_oracle(name);
        if (oracle.built_in && oracle.name == "program") {
            if (!has_recovery)
                fail(ErrorKind::usage,
                     "the oracle program needs a command: test.recovery in the spec");
        } else if (file_system.empty()) {
            fail(ErrorKind::usage, "the oracle {} is for file systems, and this run has none",
                 oracle.name);
        } else if (!oracle.built_in && !oracle.is_for(file_system)) {
            fail(ErrorKind::usage, "the oracle {} is not for {}", oracle.name, file_system);
        }
    }
}

OracleChoice choose_oracles(const JudgeSettings &settings)
{
    return Chooser(settings).run();
}

} // namespace fencepost::oracle
