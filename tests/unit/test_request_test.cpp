// SPDX-License-Identifier: GPL-2.0-or-later
// Requests for a test that are refused before anything is read or started.
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/test/test_request.h"

namespace fencepost::test {
namespace {

std::string refusal(const std::function<void()> &work)
{
    try {
        work();
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        return error.what();
    }
    return "";
}

TEST(TestRequests, WhatWouldTestNothingIsRefusedBeforeTheRunIsLookedAt)
{
    EXPECT_EQ(refusal([] { check_request({}); }), "");
    const struct {
        TestRequest request;
        const char *why;
    } rows[] = {
        {{.limit = 0}, "--limit 0 would test nothing"},
        {{.bugs = 0}, "--bugs 0 would test nothing"},
        {{.window = "epoch"}, "epoch"},
        {{.backend = "cloud"}, "cloud"},
    };
    for (const auto &row : rows) {
        const std::string why = refusal([&] { check_request(row.request); });
        EXPECT_NE(why.find(row.why), std::string::npos) << why;
        EXPECT_EQ(refusal([&] { test_recorded({"/nowhere"}, "/nowhere", row.request, {}); }), why);
    }
}

TEST(TestRequests, OraclesOfTheRequestOrElseOfTheSpecMustSuitIt)
{
    run::Spec spec;
    spec.test.oracles = {"mount"};
    EXPECT_NE(refusal([&] { check_oracles({}, spec); }), "") << "there is nothing to mount";
    spec.file_system = {.type = "ext4"};
    EXPECT_EQ(refusal([&] { check_oracles({}, spec); }), "");
    const TestRequest own = {.oracles = {"program"}};
    EXPECT_NE(refusal([&] { check_oracles(own, spec); }), "") << "there is no recovery command";
    spec.test.recovery = {"true"};
    EXPECT_EQ(refusal([&] { check_oracles(own, spec); }), "");
    EXPECT_NE(refusal([&] { check_oracles({.oracles = {"no-such"}}, spec); }), "");
}

} // namespace
} // namespace fencepost::test
