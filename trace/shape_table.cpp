// SPDX-License-Identifier: GPL-2.0-or-later
// See shape_table.h.
#include "trace/shape_table.h"

#include "base/error.h"
#include "trace/block.h"
#include "trace/byte_cursor.h"

namespace fencepost::trace {

namespace {

constexpr std::size_t kFirstSlots = 1024;

} // namespace

bool is_well_formed(const Event &event)
{
    if (event.subkind >= subkind_count(event.kind) || (event.flags & ~kKnownEventFlags) ||
        event.reserved)
        return false;
    if (event.is_store() || event.kind == EventKind::load)
        return event.size >= 1 && event.size <= kMaxStoreBytes;
    return event.size == 0;
}

void ShapeTable::clear()
{
    shapes_.clear();
    keys_.clear();
    followers_.assign(1, UINT32_MAX);
    last_ = 0;
    slots_.assign(kFirstSlots, 0);
}

std::size_t ShapeTable::slot_of(const Key &key) const
{
    std::uint64_t hash = (key.code ^ (key.rest << 29 | key.rest >> 35)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    return static_cast<std::size_t>(hash) & (slots_.size() - 1);
}

std::uint32_t ShapeTable::find_or_add(const Key &key, const Event &event)
{
    std::size_t slot = slot_of(key);
    for (; slots_[slot]; slot = (slot + 1) & (slots_.size() - 1))
        if (keys_[slots_[slot] - 1] == key)
            return slots_[slot] - 1;
    CHECK(is_well_formed(event),
          "an event whose kind, subkind, size and flags do not fit together");
    Event shape = event;
    shape.address = 0;
    shape.value = 0;
    shapes_.push_back(shape);
    keys_.push_back(key);
    followers_.resize(shapes_.size(), UINT32_MAX);
    slots_[slot] = static_cast<std::uint32_t>(shapes_.size());
    if (shapes_.size() * 2 > slots_.size())
        grow();
    return static_cast<std::uint32_t>(shapes_.size() - 1);
}

void ShapeTable::grow()
{
    slots_.assign(slots_.size() * 2, 0);
    for (std::size_t number = 0; number < keys_.size(); ++number) {
        std::size_t slot = slot_of(keys_[number]);
        while (slots_[slot])
            slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = static_cast<std::uint32_t>(number + 1);
    }
}

// Field by field, so that equal neighbours meet; sites and stacks as distances, since code that
// runs together was translated together.
std::vector<std::byte> ShapeTable::encode() const
{
    std::vector<std::byte> out;
    put_varint(out, shapes_.size());
    for (const Event &shape : shapes_)
        out.push_back(static_cast<std::byte>(shape.kind));
    for (const Event &shape : shapes_)
        out.push_back(static_cast<std::byte>(shape.subkind));
    for (const Event &shape : shapes_)
        out.push_back(static_cast<std::byte>(shape.size));
    for (const Event &shape : shapes_)
        out.push_back(static_cast<std::byte>(shape.flags));
    for (const Event &shape : shapes_)
        put_varint(out, shape.vcpu);
    std::uint64_t previous = 0;
    for (const Event &shape : shapes_)
        put_varint(out, zigzag(shape.site - std::exchange(previous, shape.site)));
    previous = 0;
    for (const Event &shape : shapes_)
        put_varint(out, zigzag(shape.stack - std::exchange(previous, shape.stack)));
    return out;
}

namespace {

std::uint32_t take_id(ByteCursor &cursor, std::uint64_t &previous)
{
    previous += unzigzag(cursor.varint());
    if (previous > UINT32_MAX)
        fail(ErrorKind::trace, "it names site or stack {}", previous);
    return static_cast<std::uint32_t>(previous);
}

} // namespace

void decode_shapes(std::span<const std::byte> bytes, std::vector<Event> &shapes)
{
    ByteCursor cursor(bytes);
    const std::uint64_t count = cursor.varint();
    if (count == 0 || count > kMaxBlockEvents)
        fail(ErrorKind::trace, "it claims {} shapes of events", count);
    shapes.assign(count, Event{});
    const auto kinds = cursor.take(count);
    const auto subkinds = cursor.take(count);
    const auto sizes = cursor.take(count);
    const auto flags = cursor.take(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto kind = std::to_integer<std::uint8_t>(kinds[i]);
        const std::uint64_t vcpu = cursor.varint();
        if (kind >= kEventKinds || vcpu > UINT16_MAX)
            fail(ErrorKind::trace, "it names event kind {} on vCPU {}", kind, vcpu);
        shapes[i].kind = static_cast<EventKind>(kind);
        shapes[i].subkind = std::to_integer<std::uint8_t>(subkinds[i]);
        shapes[i].size = std::to_integer<std::uint8_t>(sizes[i]);
        shapes[i].flags = std::to_integer<std::uint8_t>(flags[i]);
        shapes[i].vcpu = static_cast<std::uint16_t>(vcpu);
        if (!is_well_formed(shapes[i]))
            fail(ErrorKind::trace, "it has a malformed event of kind {}", name_of(shapes[i].kind));
    }
    std::uint64_t previous = 0;
    for (Event &shape : shapes)
        shape.site = take_id(cursor, previous);
    previous = 0;
    for (Event &shape : shapes)
        shape.stack = take_id(cursor, previous);
    if (!cursor.done())
        fail(ErrorKind::trace, "bytes are left after its shapes");
}

} // namespace fencepost::trace
