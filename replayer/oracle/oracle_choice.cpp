// SPDX-License-Identifier: GPL-2.0-or-later
// See oracle_choice.h.
#include "replayer/oracle/oracle_choice.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/oracle/folder_oracle.h"
#include "replayer/oracle/history.h"
#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/oracle_table.h"

namespace fencepost::oracle {

namespace {

class Chooser {
public:
    explicit Chooser(const JudgeSettings &settings)
        : settings_(settings), test_(settings.inputs.test),
          file_system_(settings.inputs.mount ? settings.inputs.mount->request.fstype : "")
    {
    }

    std::vector<std::unique_ptr<Oracle>> run()
    {
        const std::vector<std::string> &asked =
            !settings_.oracles.empty() ? settings_.oracles : test_.oracles;
        check_oracles(asked, file_system_, !test_.recovery.empty());
        for (const std::string &name : asked)
            if (is_own(name) && !find_own(settings_.own, name))
                fail(ErrorKind::usage,
                     "the oracle {} is a function of the program that tested the run: it has to be "
                     "given again (in Python: oracles=[...])",
                     name);
        if (asked.empty())
            choose_defaults();
        for (const std::string &name : asked) {
            if (const OracleEntry *entry = find_entry(name))
                choose(*entry);
            else if (const OwnOracle *own = find_own(settings_.own, name))
                chosen_.push_back(make_own_oracle(*own, settings_));
            else
                choose(find_folder(name));
        }
        for (const OracleEntry &entry : oracle_table())
            if (entry.turn == OracleTurn::always)
                choose(entry);
        if (settings_.closing_checks &&
            std::any_of(chosen_.begin(), chosen_.end(),
                        [](const auto &oracle) { return oracle->changes_image(); }))
            add_closing_checks();
        std::stable_sort(chosen_.begin(), chosen_.end(),
                         [](const auto &a, const auto &b) { return a->step() < b->step(); });
        return std::move(chosen_);
    }

private:
    bool is_chosen(std::string_view name) const
    {
        return std::any_of(chosen_.begin(), chosen_.end(),
                           [&](const auto &oracle) { return oracle->name() == name; });
    }

    bool has(OracleNeed need) const
    {
        return need == OracleNeed::file_system ? !file_system_.empty() : !test_.recovery.empty();
    }

    void choose_defaults()
    {
        if (!file_system_.empty())
            for (const OracleFolder &folder : shipped_folders())
                if (folder.is_for(file_system_))
                    choose(folder);
        for (const OracleEntry &entry : oracle_table()) {
            if (entry.turn != OracleTurn::by_default || !has(entry.need))
                continue;
            try {
                choose(entry);
            } catch (const NoLegalTrees &why) {
                settings_.say(fmt::format("the {} oracle is left out: {}", entry.name, why.what()));
            }
        }
    }

    // What was tried out is checked as the guest left it, whoever was asked for.
    void add_closing_checks()
    {
        for (OracleFolder &folder : shipped_folders()) {
            if (!folder.after || !folder.is_for(file_system_) || is_chosen(folder.name))
                continue;
            if (const auto missing = folder.missing_need()) {
                settings_.say(fmt::format("no {} after the trial by usable: {} is not installed",
                                          folder.name, *missing));
                continue;
            }
            folder.before = false;
            add(folder);
        }
    }

    void choose(const OracleFolder &folder)
    {
        if (const auto missing = folder.missing_need())
            fail(ErrorKind::io, "the oracle {} needs {}, which is not installed", folder.name,
                 *missing);
        add(folder);
    }

    void choose(const OracleEntry &entry)
    {
        if (!is_chosen(entry.name))
            chosen_.push_back(entry.make(std::string(entry.name), settings_));
    }

    void add(const OracleFolder &folder)
    {
        chosen_.push_back(std::make_unique<FolderOracle>(folder, settings_.cache));
    }

    const JudgeSettings &settings_;
    const run::TestSpec &test_;
    const std::string file_system_; // empty: none
    std::vector<std::unique_ptr<Oracle>> chosen_;
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
        if (is_own(name)) // it judges whatever it likes
            continue;
        const OracleEntry *entry = find_entry(name);
        std::optional<OracleFolder> folder;
        if (!entry)
            folder = find_folder(name);
        const std::string &shown = folder ? folder->name : name;
        if (entry && entry->need == OracleNeed::recovery_command) {
            if (!has_recovery)
                fail(ErrorKind::usage, "the oracle {} needs a command: test.recovery in the spec",
                     shown);
        } else if (file_system.empty()) {
            fail(ErrorKind::usage, "the oracle {} is for file systems, and this run has none",
                 shown);
        } else if (folder && !folder->is_for(file_system)) {
            fail(ErrorKind::usage, "the oracle {} is not for {}", shown, file_system);
        }
    }
}

std::vector<std::unique_ptr<Oracle>> choose_oracles(const JudgeSettings &settings)
{
    return Chooser(settings).run();
}

} // namespace fencepost::oracle
