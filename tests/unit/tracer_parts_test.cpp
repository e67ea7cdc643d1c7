// SPDX-License-Identifier: GPL-2.0-or-later
// Parts of the tracer that need no guest: options, marker payloads, page tables, cached
// translations.
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "qemu-plugin/guest_memory.h"
#include "qemu-plugin/marker/fencepost_marker.h"
#include "qemu-plugin/marker_payload.h"
#include "qemu-plugin/options.h"
#include "qemu-plugin/page_walk.h"
#include "qemu-plugin/translation_cache.h"

namespace fencepost::tracer {
namespace {

std::string refusal(std::vector<const char *> arguments)
{
    try {
        parse_options(arguments);
    } catch (const Error &error) {
        return error.what();
    }
    return "";
}

TEST(Options, AreStrict)
{
    const std::vector<const char *> good = {"trace=a=b.db", "stacks=on", "recording=off"};
    const Options options = parse_options(good);
    EXPECT_EQ(options.trace, "a=b.db");
    EXPECT_TRUE(options.stacks);
    EXPECT_FALSE(options.loads);
    EXPECT_FALSE(options.recording);
    EXPECT_EQ(refusal({}), "the option trace=FILE is missing");
    EXPECT_EQ(refusal({"trace=x", "stacks=yes"}), "the option stacks is on or off, not 'yes'");
    EXPECT_EQ(refusal({"trace=x", "loads"}), "the option loads is on or off, not ''");
    EXPECT_EQ(refusal({"trace=x", "stack=on"}),
              "there is no option 'stack'; there are trace, stacks, loads and recording");
}

std::optional<MarkerPayload> decoded(const MarkerRegisters &registers,
                                     std::optional<std::string> text = "text")
{
    return decode_marker(registers, [&](std::uint64_t, std::size_t length) {
        return text ? std::optional(text->substr(0, length)) : std::nullopt;
    });
}

TEST(MarkerPayload, SaysWhatTheRegistersSay)
{
    const auto begin = decoded({FENCEPOST_MARKER_OP_BEGIN, 5, 0x1000, 4, 0});
    ASSERT_TRUE(begin);
    EXPECT_EQ(begin->kind, trace::MarkerKind::op_begin);
    EXPECT_EQ(begin->marker.number, 5);
    EXPECT_EQ(begin->marker.text, "text");
    const auto end = decoded({FENCEPOST_MARKER_OP_END, 5, 0, 0, static_cast<std::uint64_t>(-2)});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->marker.result, -2);
    const auto range = decoded({FENCEPOST_MARKER_RANGE, 0x7000, 0x1000, 4, 4096});
    ASSERT_TRUE(range);
    EXPECT_EQ(range->marker.arguments, (std::vector<std::uint64_t>{0x7000, 4096}));
    EXPECT_EQ(range->marker.number, 0);
    EXPECT_FALSE(begin->shared);
    const auto shared =
        decoded({FENCEPOST_MARKER_OP_BEGIN | FENCEPOST_MARKER_SHARED, 5, 0x1000, 4, 0});
    ASSERT_TRUE(shared);
    EXPECT_EQ(shared->kind, trace::MarkerKind::op_begin);
    EXPECT_TRUE(shared->shared);
    const auto on = decoded({FENCEPOST_MARKER_SYSCALLS_ON, 0, 0, 0, 0});
    ASSERT_TRUE(on);
    EXPECT_EQ(on->system_calls, SystemCallSwitch::on);
}

TEST(MarkerPayload, RefusesNonsense)
{
    EXPECT_FALSE(decoded({0, 0, 0, 0, 0}));
    EXPECT_FALSE(decoded({999, 0, 0, 0, 0}));
    EXPECT_FALSE(decoded({FENCEPOST_MARKER_NOTE, 0, 0x1000, FENCEPOST_MARKER_TEXT_MAX + 1, 0}));
    EXPECT_FALSE(decoded({FENCEPOST_MARKER_NOTE, 0, 0x1000, UINT64_MAX, 0}));
    EXPECT_FALSE(decoded({FENCEPOST_MARKER_NOTE, 0, 0x1000, 4, 0}, std::nullopt));
    EXPECT_EQ(decoded({FENCEPOST_MARKER_NOTE, 0, 0x1000, 3, 0}, "a\x01z")->marker.text, "a?z");
}

TEST(AsText, IsValidWhateverTheBytes)
{
    EXPECT_EQ(as_text("plain\ttext\n"), "plain\ttext\n");
    EXPECT_EQ(as_text("\u00e4 \u20ac \U0001f600"), "\u00e4 \u20ac \U0001f600");
    EXPECT_EQ(as_text("\xff\xc3"), "??");
    EXPECT_EQ(as_text("\xc0\x80"), "??"); // overlong
    EXPECT_EQ(as_text("\xe0\x80\x80"), "???");
    EXPECT_EQ(as_text("\xed\xa0\x80"), "???");      // half of a surrogate pair
    EXPECT_EQ(as_text("\xf4\x90\x80\x80"), "????"); // beyond the last character
    EXPECT_EQ(as_text("\xe2\x82"), "??");           // cut short
    EXPECT_EQ(as_text(std::string("a\0b", 3)), "a?b");
}

// Page tables in a map of physical words.
class Tables {
public:
    explicit Tables(bool five_levels) : levels_(five_levels ? 5 : 4)
    {
        paging_ = {0x1000 | 0x18, five_levels};
    }

    // `leaf`: the level that maps, 1 to 3.
    void map(std::uint64_t address, std::uint64_t physical, unsigned leaf, std::uint64_t bits)
    {
        std::uint64_t table = 0x1000;
        for (unsigned level = levels_; level >= leaf; --level) {
            std::uint64_t &entry = words_[table + (address >> (12 + 9 * (level - 1)) & 511) * 8];
            if (level == leaf)
                entry = physical | bits | (leaf > 1 ? 0x80 : 0);
            else if (entry == 0)
                entry = (next_ += 0x1000) | 7;
            table = entry & ~std::uint64_t{0xfff};
        }
    }

    std::optional<Translation> walk(std::uint64_t address)
    {
        return walk_page_tables(paging_, address,
                                [&](std::uint64_t physical) -> std::optional<std::uint64_t> {
                                    const auto found = words_.find(physical);
                                    return found == words_.end() ? 0 : found->second;
                                });
    }

private:
    unsigned levels_;
    PagingState paging_;
    std::uint64_t next_ = 0x1000;
    std::map<std::uint64_t, std::uint64_t> words_;
};

TEST(PageWalk, FindsPagesOfEverySizeInFourAndFiveLevels)
{
    for (const bool five : {false, true}) {
        Tables tables(five);
        tables.map(0x7fff12345000, 0x100000000, 1, 3 | 1ull << 63);
        tables.map(0xffff888000200000, 0x140000000, 2, 3);
        tables.map(0xffffc90000000000, 0x80000000, 3, 1);
        EXPECT_EQ(tables.walk(0x7fff12345678)->physical, 0x100000678u);
        EXPECT_TRUE(tables.walk(0x7fff12345678)->writable);
        EXPECT_EQ(tables.walk(0xffff8880002abcde)->physical, 0x1400abcdeu);
        EXPECT_EQ(tables.walk(0xffffc9003abcdef0)->physical, 0xbabcdef0u);
        EXPECT_FALSE(tables.walk(0xffffc9003abcdef0)->writable);
        EXPECT_FALSE(tables.walk(0x7fff12346000).value().present);
        EXPECT_TRUE(tables.walk(0x7fff12345678)->present);
        EXPECT_EQ(tables.walk(0xff11000000000000).has_value(),
                  five); // not an address with four levels
    }
    Tables five(true);
    five.map(0xff11000100000000, 0x100000000, 1, 3);
    EXPECT_EQ(five.walk(0xff11000100000040)->physical, 0x100000040u);
    Tables four(false);
    four.map(0xff11000100000000, 0x100000000, 1, 3);
    EXPECT_FALSE(four.walk(0xff11000100000040)); // not an address there
}

TEST(TranslationCache, ForgetsWhenTold)
{
    const auto cache = std::make_unique<TranslationCache>();
    EXPECT_EQ(cache->find(0), TranslationCache::kUnknown);
    cache->insert(0x7000, 0x100000000);
    cache->insert(0xff11000000008000, TranslationCache::kVolatile);
    EXPECT_EQ(cache->find(0x7fff), 0x100000000u);
    EXPECT_EQ(cache->find(0xff11000000008123), TranslationCache::kVolatile);
    EXPECT_EQ(cache->find(0x8000), TranslationCache::kUnknown);
    // The same slot, another page.
    EXPECT_EQ(cache->find(0x7000 + (std::uint64_t{1} << 40)), TranslationCache::kUnknown);
    cache->forget();
    EXPECT_EQ(cache->find(0x7000), TranslationCache::kUnknown);
    // Generations come round; what was there long ago stays forgotten.
    cache->insert(0x9000, 0x200000000);
    for (std::uint64_t i = 0; i < (std::uint64_t{1} << 19) + 5; ++i) {
        cache->forget();
        ASSERT_EQ(cache->find(0x9000), TranslationCache::kUnknown);
    }
}

} // namespace
} // namespace fencepost::tracer
