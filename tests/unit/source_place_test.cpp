// SPDX-License-Identifier: GPL-2.0-or-later
// The user's own line among inlined functions.
#include "analyzer/symbols/source_place.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace fencepost::symbols {
namespace {

TEST(SourcePlace, SystemHeaders)
{
    for (const char *file :
         {"/usr/lib/gcc/x86_64-linux-gnu/12/include/clwbintrin.h", "/usr/include/c++/12/bits/stl.h",
          "/usr/lib/llvm-14/lib/clang/14.0.6/include/clwbintrin.h", "/usr/include/libpmemobj.h",
          "/opt/gcc/lib/gcc/x86_64/13/include/mmintrin.h", "/usr/local/include/pm.h",
          "/home/a/../../usr/include/string.h"})
        EXPECT_TRUE(is_system_header(file)) << file;
    for (const char *file : {"/home/a/log.c", "log.c", "/usr/src/app/include/pm.h", "",
                             "/home/a/include/persist.h", "../src/libpmem/pmem.c"})
        EXPECT_FALSE(is_system_header(file)) << file;
}

TEST(SourcePlace, OwnCodeComesFirst)
{
    const auto text = [](const SourcePlace &place) {
        std::string all = fmt::format("{}:{}", place.line.file, place.line.line);
        for (const InlinedFrame &frame : place.inlined)
            all += fmt::format(" {} {}:{}", frame.function, frame.call.file, frame.call.line);
        return all;
    };
    const SourceLine system = {"/usr/include/string.h", 9};
    EXPECT_EQ(text(own_place({.line = {"a.c", 1}, .inlined = {{"f", {"a.c", 2}}}})),
              "a.c:1 f a.c:2");
    EXPECT_EQ(
        text(own_place({.line = system, .inlined = {{"memcpy", {"a.c", 2}}, {"f", {"a.c", 3}}}})),
        "a.c:2 f a.c:3");
    // Between the user's own they stay: it is how one calls the other.
    EXPECT_EQ(
        text(own_place({.line = {"a.c", 1}, .inlined = {{"f", system}, {"each", {"a.c", 3}}}})),
        "a.c:1 f /usr/include/string.h:9 each a.c:3");
    EXPECT_EQ(text(own_place({.line = system, .inlined = {{"memcpy", system}}})),
              "/usr/include/string.h:9");
    EXPECT_EQ(text(own_place({.line = system, .inlined = {}})), "/usr/include/string.h:9");
}

} // namespace
} // namespace fencepost::symbols
