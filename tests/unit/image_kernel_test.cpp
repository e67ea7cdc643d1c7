// SPDX-License-Identifier: GPL-2.0-or-later
// The boot header reader: what it takes, and what it says about everything else.
#include "guest-images/image/bzimage.h"

#include "tests/unit/image_fixtures.h"

namespace fencepost::images {
namespace {

const char *const kVersion = "6.1.0-test (someone@somewhere) #1 SMP";

TEST(Bzimage, SaysItsRelease)
{
    EXPECT_EQ(parse_bzimage(make_bzimage(kVersion), "k").release, "6.1.0-test");
}

TEST(Bzimage, MayBeSilentAboutItsRelease)
{
    std::string bytes = make_bzimage(kVersion);
    bytes[0x20e] = bytes[0x20f] = 0;
    EXPECT_EQ(parse_bzimage(bytes, "k").release, "");
}

TEST(Bzimage, OldProtocolHasNoLoadFlags)
{
    std::string bytes = make_bzimage(kVersion);
    bytes[0x206] = 0x0b;
    bytes[0x236] = 0;
    EXPECT_EQ(parse_bzimage(bytes, "k").release, "6.1.0-test");
}

struct Refused {
    const char *what;
    std::string bytes;
    const char *message;
};

TEST(Bzimage, ExplainsWhatElseAFileIs)
{
    std::string without_magic = make_bzimage(kVersion);
    without_magic[0x202] = 'X';
    std::string without_flag = make_bzimage(kVersion);
    without_flag[0x1fe] = 0;
    std::string narrow = make_bzimage(kVersion);
    narrow[0x236] = 0;
    std::string far = make_bzimage(kVersion);
    far[0x20f] = '\x7f';
    const Refused cases[] = {
        {"empty", "", "is empty"},
        {"vmlinux",
         "\x7f"
         "ELF" +
             std::string(2000, 'x'),
         "ELF file (vmlinux)"},
        {"gzip", "\x1f\x8b" + std::string(2000, 'x'), "gzip"},
        {"short", "MZ", "too short"},
        {"text", std::string(4096, 'x'), "no x86 boot header"},
        {"no magic", without_magic, "no x86 boot header"},
        {"no flag", without_flag, "no x86 boot header"},
        {"32-bit", narrow, "32-bit"},
        {"version outside", far, "cut short"},
        {"binary version", make_bzimage("6.1\x01 x"), "makes no sense"},
        {"version with a path", make_bzimage("../../x y"), "makes no sense"},
        {"empty version", make_bzimage(" x"), "makes no sense"},
    };
    for (const Refused &refused : cases) {
        const std::string message =
            error_of(ErrorKind::usage, [&] { parse_bzimage(refused.bytes, "KERNEL"); });
        EXPECT_NE(message.find(refused.message), std::string::npos)
            << refused.what << ": " << message;
        EXPECT_NE(message.find("KERNEL"), std::string::npos) << refused.what << ": " << message;
    }
}

TEST(Bzimage, NoPrefixIsReadBeyondItsEnd)
{
    const std::string whole = make_bzimage(kVersion);
    for (std::size_t size = 0; size < 0x300 + 10; ++size) {
        // A copy of exactly this size, so that a sanitizer sees any access past it.
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<long>(size));
        error_of(ErrorKind::usage, [&] { parse_bzimage({part.data(), part.size()}, "k"); });
    }
}

using BzimageFile = ImageTest;

TEST_F(BzimageFile, MissingAndDirectoryAreExplained)
{
    EXPECT_NE(error_of(ErrorKind::usage, [&] { read_bzimage(directory_.path() / "none"); })
                  .find("there is no kernel"),
              std::string::npos);
    EXPECT_NE(
        error_of(ErrorKind::usage, [&] { read_bzimage(directory_.path()); }).find("is a directory"),
        std::string::npos);
    EXPECT_EQ(read_bzimage(put("bzImage", make_bzimage(kVersion))).release, "6.1.0-test");
}

} // namespace
} // namespace fencepost::images
