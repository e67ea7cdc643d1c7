// SPDX-License-Identifier: GPL-2.0-or-later
// See code_map.h.
#include "qemu-plugin/code_map.h"

#include <algorithm>

#include <xxhash.h>

namespace fencepost::tracer {

BlockPoint &CodePoint::in_block(std::uint32_t left)
{
    for (const auto &point : in_blocks)
        if (point->left == left)
            return *point;
    in_blocks.push_back(std::make_unique<BlockPoint>(BlockPoint{this, left}));
    return *in_blocks.back();
}

namespace {

trace::Event event_of(const Instruction &what)
{
    trace::Event event;
    if (what.flush) {
        event.kind = trace::EventKind::flush;
        event.subkind = static_cast<std::uint8_t>(*what.flush);
    } else if (what.fence && !what.locked) {
        event.kind = trace::EventKind::fence;
        event.subkind = static_cast<std::uint8_t>(*what.fence);
    } else if (what.marker) {
        event.kind = trace::EventKind::marker;
    } else if (what.nt_store) {
        event.kind = trace::EventKind::nt_store;
        event.subkind = static_cast<std::uint8_t>(*what.nt_store);
    } else if (what.locked) {
        event.flags = trace::kAtomic;
    }
    return event;
}

} // namespace

std::size_t CodeMap::KeyHash::operator()(const Key &key) const
{
    return XXH3_64bits_withSeed(key.bytes.data(), key.bytes.size(), key.pc);
}

CodePoint &CodeMap::at(std::uint64_t pc, std::span<const std::uint8_t> bytes,
                       const Instruction &what)
{
    Key key = {pc, {}};
    std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
    CodePoint *&found = index_[key];
    if (!found) {
        found = &points_.emplace_back();
        found->pc = pc;
        found->user = !is_kernel_address(pc);
        found->bytes = key.bytes;
        found->what = what;
        found->event = event_of(found->what);
    }
    return *found;
}

std::size_t Sites::KeyHash::operator()(const Key &key) const
{
    return XXH3_64bits(&key, sizeof key);
}

trace::SiteId Sites::find(CodePoint &code, const Process &process)
{
    trace::SiteId &site = index_[{&code, &process}];
    if (site == 0) {
        site = static_cast<trace::SiteId>(index_.size());
        trace::Site row;
        row.id = site;
        row.pc = code.pc;
        row.privilege = code.user ? trace::Privilege::user : trace::Privilege::kernel;
        row.address_space = code.user ? process.address_space : 0;
        row.module = process.module_at(code.pc);
        const auto bytes = std::as_bytes(code.code());
        row.instruction.assign(bytes.begin(), bytes.end());
        queue_.current().sites.push_back(std::move(row));
    }
    code.process = &process;
    code.site = site;
    return site;
}

} // namespace fencepost::tracer
