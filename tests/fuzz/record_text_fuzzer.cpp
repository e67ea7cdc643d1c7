// SPDX-License-Identifier: GPL-2.0-or-later
// Attacks all that reads a user's text for a recording: the first byte chooses spec, operations,
// j-lang or script. Whatever comes in, the answer is a result or a usage error, and what compiles
// is sound and survives the mailbox.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "guest-images/agent/job.h"
#include "replayer/run/ops_parser.h"
#include "replayer/run/script.h"
#include "replayer/run/spec.h"

using namespace fencepost;
using namespace fencepost::run;

namespace {

void require(bool condition)
{
    if (!condition)
        std::abort();
}

void check_ops(const agent::OpsProgram &program)
{
    require(agent::is_sound(program));
    agent::Job job;
    job.steps.emplace_back().ops = program;
    agent::Job back;
    require(agent::decode_job(agent::encode_job(job), back) && back == job);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const SourceText source = {std::string(reinterpret_cast<const char *>(data + 1), size - 1),
                               "input", 1};
    try {
        switch (data[0] % 4) {
        case 0:
            parse_spec(source.text, "input", "/nonexistent", FilesFrom::spec_directory);
            break;
        case 1:
            check_ops(parse_ops(source));
            break;
        case 2:
            check_ops(parse_j_lang(source));
            break;
        default:
            marked_script(split_script(source));
            break;
        }
    } catch (const Error &error) {
        require(error.kind() == ErrorKind::usage);
    }
    return 0;
}
