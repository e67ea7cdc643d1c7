// SPDX-License-Identifier: GPL-2.0-or-later
// See judged_run.h.
#include "tests/guest/judged_run.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/places.h"
#include "replayer/record/observe.h"
#include "replayer/record/recorder.h"
#include "replayer/run/workload_end.h"
#include "trace/replay.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

const char *const kTreeSpec = R"spec(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "ops"
unmount = true
text = """
mkdir d
mkdir d/e
open a a rdwr|creat
write a 9000:1
link a d/l
symlink a s
setxattr a user.x "1"
open b d/b rdwr|creat
write b "beta"
open c d/e/c rdwr|creat
write c "gamma"
sync
"""
[test]
recovery = ["/bin/sh", "-c", """
[ "$(find . -name lost+found -prune -o -print | sort | tr '\\n' ' ')" = ". ./a ./d ./d/b ./d/e ./d/e/c ./d/l ./s " ] || exit 1
[ "$(cat d/b d/e/c)" = betagamma ] || exit 1
[ "$(stat -c %a,%u,%g,%h,%s a)" = 644,0,0,2,9000 ] || exit 1
"""]
)spec";

JudgedRun::JudgedRun(const std::string &spec_text)
{
    record::Recorder recorder(cache_directory(), {[](const std::string &) {}, {}});
    const run::Spec spec =
        run::parse_spec(spec_text, "spec.toml", directory.path(), run::FilesFrom::spec_directory);
    inputs = recorder.prepare(spec, false);
    fs::create_directory(files.directory);
    const record::RecordResult result = recorder.record(
        inputs, files.trace(), [&](std::size_t) { return directory.path() / "final"; });
    EXPECT_EQ(result.end, run::WorkloadEnd::finished) << result.outcome;
    const trace::TraceReader reader(files.trace());
    const trace::Region region = reader.regions().at(0);
    std::vector<std::byte> bytes(region.size);
    reader.load_initial_image(region, bytes);
    const trace::RegionImage image = {region, bytes};
    trace::replay_onto(reader, std::span(&image, 1));
    std::ofstream(last_image, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

JudgedRun &judged_run()
{
    static JudgedRun run;
    return run;
}

LegalTrees legal_trees_of(const JudgedRun &run,
                          const std::function<void(const std::string &)> &progress)
{
    const trace::TraceReader reader(run.files.trace());
    return find_legal_trees(
        reader, run.inputs,
        record::observe_workload(run.files, run.inputs, cache_directory(), progress), progress);
}

} // namespace fencepost::oracle
