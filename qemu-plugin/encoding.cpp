// SPDX-License-Identifier: GPL-2.0-or-later
// See encoding.h.
#include "qemu-plugin/encoding.h"

namespace fencepost::tracer {

namespace {

struct Prefixes {
    std::size_t count = 0; // of bytes, REX included
    bool lock = false;
    bool operand_size = false;
    bool address_size = false;
    std::uint8_t repeat = 0;  // 0xf2 or 0xf3
    std::uint8_t segment = 0; // an override that has an effect
    std::uint8_t rex = 0;
};

// The last of a group counts; a REX counts only if the opcode follows.
Prefixes read_prefixes(CodeMode mode, std::span<const std::uint8_t> bytes)
{
    Prefixes result;
    for (const std::uint8_t byte : bytes) {
        switch (byte) {
        case 0xf0:
            result.lock = true;
            break;
        case 0x66:
            result.operand_size = true;
            break;
        case 0x67:
            result.address_size = true;
            break;
        case 0xf2:
        case 0xf3:
            result.repeat = byte;
            break;
        case 0x64:
        case 0x65:
            result.segment = byte;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
            if (mode == CodeMode::bits32)
                result.segment = byte;
            break;
        default:
            if (mode == CodeMode::bits32 || byte >> 4 != 4)
                return result;
            ++result.count;
            result.rex = byte;
            continue;
        }
        ++result.count;
        result.rex = 0;
    }
    return result;
}

// Calls and jumps to a displacement have the same in 64-bit code with and without 66, on Intel's
// processors.
bool ignores_operand_size(std::span<const std::uint8_t> opcode)
{
    if (opcode.empty())
        return false;
    if (opcode[0] == 0x0f)
        return opcode.size() > 1 && opcode[1] >> 4 == 8;
    return opcode[0] == 0xe8 || opcode[0] == 0xe9;
}

OpcodeMap map_numbered(unsigned number)
{
    switch (number) {
    case 1:
        return OpcodeMap::x0f;
    case 2:
        return OpcodeMap::x0f38;
    case 3:
        return OpcodeMap::x0f3a;
    default:
        return OpcodeMap::other;
    }
}

} // namespace

Encoding read_encoding(CodeMode mode, std::span<const std::uint8_t> bytes)
{
    const Prefixes prefixes = read_prefixes(mode, bytes);
    const auto at = [&](std::size_t index) {
        return prefixes.count + index < bytes.size() ? bytes[prefixes.count + index]
                                                     : std::uint8_t{0};
    };
    Encoding result;
    result.lock = prefixes.lock;
    result.rex = prefixes.rex;
    result.prefix = prefixes.repeat         ? prefixes.repeat
                    : prefixes.operand_size ? std::uint8_t{0x66}
                                            : std::uint8_t{0};
    constexpr std::uint8_t kVexPrefixes[] = {0, 0x66, 0xf3, 0xf2};
    // In 32-bit code these are also the opcodes of les, lds and bound, which name memory.
    const bool vex_allowed = mode == CodeMode::bits64 || at(1) >> 6 == 3;
    std::size_t opcode_at = 0;
    if (at(0) == 0x0f) {
        opcode_at = at(1) == 0x38 || at(1) == 0x3a ? 2 : 1;
        result.map = opcode_at == 1  ? OpcodeMap::x0f
                     : at(1) == 0x38 ? OpcodeMap::x0f38
                                     : OpcodeMap::x0f3a;
    } else if (vex_allowed && (at(0) == 0xc5 || at(0) == 0xc4 || at(0) == 0x62)) {
        const bool two_bytes = at(0) == 0xc5;
        result.vex = true;
        result.map = two_bytes ? OpcodeMap::x0f : map_numbered(at(1) & (at(0) == 0xc4 ? 0x1f : 7));
        result.prefix = kVexPrefixes[at(two_bytes ? 1 : 2) & 3];
        opcode_at = two_bytes ? 2 : at(0) == 0xc4 ? 3 : 4;
    } else if (at(0) == 0x8f && (at(1) & 0x1f) >= 8) {
        result.vex = true;
        result.map = OpcodeMap::other;
        opcode_at = 3;
    }
    result.opcode = at(opcode_at);
    result.modrm = at(opcode_at + 1);
    result.size = static_cast<std::uint8_t>(prefixes.count + opcode_at + 2);
    return result;
}

bool is_direct_branch(std::span<const std::uint8_t> bytes)
{
    switch (bytes.size()) {
    case 2:
        return bytes[0] >> 4 == 7 || bytes[0] == 0xeb;
    case 5:
        return bytes[0] == 0xe8 || bytes[0] == 0xe9;
    case 6:
        return bytes[0] == 0x0f && bytes[1] >> 4 == 8;
    default:
        return false;
    }
}

std::vector<std::uint8_t> with_usual_prefixes(CodeMode mode, std::span<const std::uint8_t> bytes)
{
    const Prefixes prefixes = read_prefixes(mode, bytes);
    const auto rest = bytes.subspan(prefixes.count);
    std::vector<std::uint8_t> result;
    result.reserve(bytes.size());
    if (prefixes.segment)
        result.push_back(prefixes.segment);
    if (prefixes.address_size)
        result.push_back(0x67);
    if (prefixes.lock)
        result.push_back(0xf0);
    if (prefixes.operand_size && !(mode == CodeMode::bits64 && ignores_operand_size(rest)))
        result.push_back(0x66);
    // With lock it is a hint about transactions at most.
    if (prefixes.repeat && !prefixes.lock)
        result.push_back(prefixes.repeat);
    if (prefixes.rex)
        result.push_back(prefixes.rex);
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
}

} // namespace fencepost::tracer
