// SPDX-License-Identifier: GPL-2.0-or-later
// When events happened, and in which threads: as a recording of a real guest tells it.
#include <gtest/gtest.h>

#include "tests/guest/recording.h"
#include "trace/query.h"

namespace fencepost::record {
namespace {

constexpr const char *kWork = R"(
[setup]
script = "mkdir a; echo hello >a/x"
[workload]
kind = "script"
text = """
cat a/x
for i in 1 2 3
do
  echo $i >a/$i
done
mv a/1 a/one; sync
"""
)";

class Time : public testing::TestWithParam<const char *> {
protected:
    std::string ask(const std::string &sql) const
    {
        const trace::TraceReader reader(place_.trace());
        trace::Query query(reader, sql);
        std::string answer;
        while (query.step())
            for (int column = 0; column < query.column_count(); ++column)
                answer += std::string(query.text(column)) + " ";
        return answer;
    }
    // Of all events, in short.
    std::string moments() const
    {
        return ask("SELECT sum(time % 1000003 * (1 + seq % 1009)),"
                   " sum(thread * (1 + seq % 1013)) FROM event");
    }

    RecordingPlace place_;
};

INSTANTIATE_TEST_SUITE_P(Cpus, Time,
                         testing::Values("[file_system]\ntype = \"ext4\"\n",
                                         "[guest]\ncpus = 2\n[pm]\nattach = \"e820\"\n"
                                         "[file_system]\ntype = \"ext4\"\n"));

TEST_P(Time, AndThreadOfEvents)
{
    const RecordResult result = place_.record(std::string(GetParam()) + kWork, true);
    ASSERT_TRUE(result.complete());
    // It never goes back. An instruction takes a nanosecond of guest time, waiting takes none.
    EXPECT_EQ(ask("SELECT count(*) FROM event WHERE time IS NULL"), "0 ");
    EXPECT_EQ(ask("SELECT count(*) FROM (SELECT time - lag(time) OVER (ORDER BY seq) AS step FROM"
                  " event) WHERE step < 0"),
              "0 ");
    const double last = std::stod(ask("SELECT max(time) FROM event"));
    EXPECT_GT(last, 1e6);
    EXPECT_LT(last, 1e3 * static_cast<double>(result.guest_usec) + 1e9); // and the set-up
    // Whose process is known, of that the thread is too; cat, mv and the shell are three.
    EXPECT_EQ(ask("SELECT count(*) FROM event WHERE (thread IS NULL) != (process IS NULL)"), "0 ");
    EXPECT_EQ(ask("SELECT count(DISTINCT thread) >= 3, count(*) > count(thread) FROM event"),
              "1 1 ");
    EXPECT_EQ(ask("SELECT count(thread) > 0 FROM event WHERE kind = 'store' AND site IN"
                  " (SELECT id FROM site WHERE privilege = 'kernel')"),
              "1 ");
    const std::string before = moments();
    place_.record(std::string(GetParam()) + kWork, true);
    EXPECT_EQ(moments(), before);
}

TEST_F(Time, WithoutStacksThereAreNoThreads)
{
    place_.record(std::string("[file_system]\ntype = \"ext4\"\n") + kWork, false);
    EXPECT_EQ(ask("SELECT count(thread), count(*) - count(time) FROM event"), "0 0 ");
}

} // namespace
} // namespace fencepost::record
