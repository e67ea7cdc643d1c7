// SPDX-License-Identifier: GPL-2.0-or-later
// See workload_lines.h.
#include "replayer/test/workload_lines.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/run/script.h"

namespace fencepost::test {

std::optional<WorkloadLines> WorkloadLines::of(const run::Inputs &inputs)
{
    const agent::JobStep &step = run::workload_of(inputs);
    if (step.kind == agent::StepKind::ops)
        return WorkloadLines(inputs, false);
    if (!step.operations.empty())
        return WorkloadLines(inputs, true);
    return std::nullopt;
}

Lines WorkloadLines::all() const
{
    const agent::JobStep &step = run::workload_of(inputs_);
    return is_script_ ? step.operations : lines_of(step.ops);
}

std::size_t WorkloadLines::operations(const Lines &lines) const
{
    if (is_script_)
        return lines.size();
    const auto program = program_of(lines);
    return program ? operations_in(*program) : 0;
}

std::optional<unsigned> WorkloadLines::number_of(const Lines &lines, const std::string &text) const
{
    if (is_script_) {
        const auto found = std::find(lines.begin(), lines.end(), text);
        if (found == lines.end())
            return std::nullopt;
        return static_cast<unsigned>(found - lines.begin() + 1);
    }
    const auto program = program_of(lines);
    if (!program)
        return std::nullopt;
    for (const agent::OpsPhase &phase : program->phases)
        for (const agent::OpsThread &thread : phase.threads)
            for (const agent::Op &op : thread.ops)
                if (op.text == text && op.number != 0)
                    return op.number;
    return std::nullopt;
}

run::Inputs WorkloadLines::with(const Lines &lines) const
{
    run::Inputs shorter = inputs_;
    agent::JobStep &step = shorter.workload.steps[inputs_.workload_step];
    if (!is_script_) {
        step.ops = *program_of(lines);
        return shorter;
    }
    std::vector<run::ScriptCommand> commands;
    for (const std::string &line : lines)
        commands.push_back({line});
    step.operations = lines;
    const std::string &script = step.command.argv.back();
    for (agent::JobFile &file : shorter.workload.files)
        if (file.path == script)
            file.contents = run::marked_script(commands);
    return shorter;
}

} // namespace fencepost::test
