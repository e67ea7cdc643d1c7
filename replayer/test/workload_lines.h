// SPDX-License-Identifier: GPL-2.0-or-later
// A run's workload, if it is one that can be shorter: file operations, or the commands of a script.
#pragma once

#include <optional>
#include <string>

#include "replayer/run/inputs.h"
#include "replayer/test/workload_text.h"

namespace fencepost::test {

class WorkloadLines {
public:
    // `inputs` is borrowed. Nothing: a program, which is one whole.
    static std::optional<WorkloadLines> of(const run::Inputs &inputs);

    Lines all() const;
    // 0: these lines are no workload.
    std::size_t operations(const Lines &lines) const;
    // The number that the operation with this text gets in a recording; nothing: there is none.
    std::optional<unsigned> number_of(const Lines &lines, const std::string &text) const;
    // The same run with these lines instead.
    run::Inputs with(const Lines &lines) const;
    // As a spec has them.
    std::string text_of(const Lines &lines) const { return test::text_of(lines); }
    const char *file() const { return is_script_ ? "workload.sh" : "workload.ops"; }

private:
    WorkloadLines(const run::Inputs &inputs, bool is_script)
        : inputs_(inputs), is_script_(is_script)
    {
    }

    const run::Inputs &inputs_;
    bool is_script_;
};

} // namespace fencepost::test
