// SPDX-License-Identifier: GPL-2.0-or-later
// reproduce.sh: a shell script that recovers from a crash image without fencepost, with QEMU and
// coreutils, and says whether the failure is seen again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/oracle/oracle_folder.h"
#include "replayer/run/inputs.h"

namespace fencepost::test {

// Files beside the script, and in the folder where it works on copies of them.
inline constexpr const char *kKernelName = "kernel";
inline constexpr const char *kInitrdName = "initrd";
inline constexpr const char *kOracleName = "oracle";
std::string pm_name(std::size_t device);

// What a machine that boots by itself shows of a failure.
struct FailureSign {
    enum class Kind {
        lines,   // on its console, all of them
        hang,    // it does not come to its end
        checker, // a program on the host objects
    };
    Kind kind = Kind::lines;
    std::vector<std::string> patterns = {}; // of the shell's `case`
    // Of a checker.
    std::string oracle = {}; // its name
    bool before = false;     // it looks at the image before the guest does
    int status = 0;
};

// Nothing: a plain boot cannot show it.
std::optional<FailureSign> sign_of(const oracle::Judgement &judgement);

// The folder of a checker. `judges`: names of those that judge the run. Error(usage) if it is none
// of them, nor one of ours.
oracle::OracleFolder checker_of(const FailureSign &sign, const std::vector<std::string> &judges);

// `judgement`: a failure. Empty: a plain boot cannot show it.
std::string reproduce_script(const run::Inputs &inputs, const std::vector<std::string> &judges,
                             const oracle::Judgement &judgement);

} // namespace fencepost::test
