// SPDX-License-Identifier: GPL-2.0-or-later
// See order_ranges.h.
#include "analyzer/rules/order_ranges.h"

#include <algorithm>
#include <bit>
#include <set>

#include "analyzer/rules/transaction_table.h"

namespace fencepost::rules {

namespace {

std::uint64_t bytes_in_line(std::uint64_t line, std::uint64_t address, std::uint64_t size)
{
    const std::uint64_t start = line * trace::kLineBytes;
    const std::uint64_t first = std::max(address, start) - start;
    const std::uint64_t end = std::min(address + size, start + trace::kLineBytes) - start;
    const std::uint64_t count = end - first;
    return (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
}

// NAME[.FIELD…][+OFFSET][:SIZE]
RangeReference parse_reference(const TextLine &line, const std::string &word)
{
    RangeReference reference = {.text = word, .name = word};
    if (const std::size_t colon = word.rfind(':'); colon != std::string::npos) {
        reference.size = number_in(line, word.substr(colon + 1));
        if (*reference.size == 0)
            line.refuse("'{}' has no bytes", word);
        reference.name = word.substr(0, colon);
    }
    if (const std::size_t plus = reference.name.rfind('+'); plus != std::string::npos) {
        reference.offset = number_in(line, reference.name.substr(plus + 1));
        reference.name.resize(plus);
    }
    std::size_t dot = reference.name.find('.');
    const std::string all = reference.name;
    reference.name = all.substr(0, dot);
    while (dot != std::string::npos) {
        const std::size_t next = all.find('.', dot + 1);
        reference.fields.push_back(
            all.substr(dot + 1, next == std::string::npos ? next : next - dot - 1));
        dot = next;
    }
    if (reference.name.empty())
        line.refuse(
            "'{}' has no name: a range is NAME, NAME.FIELD, NAME+OFFSET:SIZE or REGION+OFFSET:SIZE",
            word);
    return reference;
}

} // namespace

OrderFile parse_order_file(const std::vector<TextLine> &lines)
{
    OrderFile file;
    for (const TextLine &line : lines) {
        const std::vector<std::string> &words = line.words;
        if (words[0] == "struct") {
            if (words.size() != 5 || words[3] != "in")
                line.refuse("a struct is told as: struct RANGE TYPE in FILE");
            file.types.push_back({line, words[1], words[2], (line.directory / words[4]).string()});
            continue;
        }
        const bool has_operation = words.size() == 7 && words[4] == "in" && words[5] == "op";
        if (words[0] != "persist" || (words.size() != 4 && !has_operation) || words[2] != "before")
            line.refuse("a rule is: persist A before B [in op X]");
        OrderRule rule = {.line = line,
                          .text = fmt::format("persist {} before {}", words[1], words[3]),
                          .first = parse_reference(line, words[1]),
                          .second = parse_reference(line, words[3])};
        if (has_operation) {
            rule.operation = words[6];
            rule.text += fmt::format(" in op {}", words[6]);
        }
        file.rules.push_back(std::move(rule));
    }
    return file;
}

OrderRanges::OrderRanges(OrderFile file, const trace::TraceReader &reader)
    : rules_(std::move(file.rules)), bound_(rules_.size()), layouts_(file.types),
      regions_(reader.regions())
{
    if (!rules_.empty()) {
        check_names(reader);
        bind_regions(reader);
    }
}

bool OrderRanges::asks_for_operations() const
{
    return std::any_of(rules_.begin(), rules_.end(),
                       [](const OrderRule &rule) { return !rule.operation.empty(); });
}

void OrderRanges::check_names(const trace::TraceReader &reader) const
{
    std::set<std::string> names;
    std::set<std::string> operations;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.kind == trace::MarkerKind::range)
            names.insert(row.marker.text);
        if (row.kind == trace::MarkerKind::op_begin) {
            operations.insert(row.marker.text);
            operations.insert(std::to_string(row.marker.number));
        }
    });
    std::string known;
    for (const std::string &name : names)
        known += (known.empty() ? "" : ", ") + name;
    for (const trace::Region &region : regions_)
        known += (known.empty() ? "" : ", ") + region.name;
    for (const OrderRule &rule : rules_) {
        for (const RangeReference *reference : {&rule.first, &rule.second}) {
            const bool region =
                std::any_of(regions_.begin(), regions_.end(),
                            [&](const trace::Region &one) { return one.name == reference->name; });
            if (!names.contains(reference->name) && !region)
                rule.line.refuse("the trace has no range '{}'; it has {}", reference->name,
                                 known.empty() ? "none" : known);
            if (!reference->fields.empty())
                layouts_.place(reference->name, reference->fields, rule.line);
        }
        if (!rule.operation.empty() &&
            std::none_of(operations.begin(), operations.end(),
                         [&](const std::string &one) { return matches_glob(rule.operation, one); }))
            rule.line.refuse("the trace has no operation '{}'", rule.operation);
    }
}

void OrderRanges::bind_regions(const trace::TraceReader &)
{
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const auto bind_one = [&](const RangeReference &reference, std::vector<Part> &into) {
            for (const trace::Region &region : regions_) {
                if (region.name != reference.name)
                    continue;
                const std::uint64_t size =
                    reference.size.value_or(region.size - std::min(region.size, reference.offset));
                if (reference.offset > region.size || size > region.size - reference.offset ||
                    size == 0)
                    rules_[i].line.refuse("'{}' is not inside {}, which has {} bytes",
                                          reference.text, region.name, region.size);
                into = {{region.base + reference.offset, size}};
            }
        };
        bind_one(rules_[i].first, bound_[i].first);
        bind_one(rules_[i].second, bound_[i].second);
    }
}

// A range marker's arguments: its address and size as the program sees them, then where that is in
// PM, as pairs of address and size. Traces made by hand have the first pair only.
std::vector<OrderRanges::Part> OrderRanges::parts_of(const RangeReference &reference,
                                                     const trace::Marker &marker) const
{
    const std::vector<std::uint64_t> &numbers = marker.arguments;
    if (numbers.size() < 2)
        return {};
    std::uint64_t offset = reference.offset;
    std::uint64_t size = numbers[1] - std::min(numbers[1], offset);
    if (!reference.fields.empty()) {
        const FieldPlace place = layouts_.place(reference.name, reference.fields, {});
        offset += place.offset;
        size = place.size;
    }
    std::uint64_t left = reference.size.value_or(size);
    std::vector<Part> parts;
    std::uint64_t at = 0; // in the range
    for (std::size_t i = numbers.size() > 2 ? 2 : 0; i + 1 < numbers.size() && left > 0; i += 2) {
        const std::uint64_t part_end = at + numbers[i + 1];
        if (offset < part_end) {
            const std::uint64_t skip = offset - at;
            const std::uint64_t count = std::min(left, numbers[i + 1] - skip);
            const std::uint64_t address = numbers[i] + skip;
            if (std::any_of(regions_.begin(), regions_.end(),
                            [&](const trace::Region &r) { return r.contains(address); }))
                parts.push_back({address, count});
            offset += count;
            left -= count;
        }
        at = part_end;
    }
    return parts;
}

void OrderRanges::bind(const trace::MarkerRow &row)
{
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const auto bind_one = [&](const RangeReference &reference, std::vector<Part> &into) {
            if (reference.name != row.marker.text)
                return;
            into = parts_of(reference, row.marker);
            if (into.empty())
                statements_.push_back(fmt::format(
                    "event {}: the range '{}' has no byte in PM; '{}' says nothing from here on",
                    row.seq, reference.text, rules_[i].text));
        };
        bind_one(rules_[i].first, bound_[i].first);
        bind_one(rules_[i].second, bound_[i].second);
    }
}

bool OrderRanges::holds_in(const OrderRule &rule, const ScopeTracker &scopes) const
{
    if (rule.operation.empty())
        return true;
    return std::any_of(scopes.operations().begin(), scopes.operations().end(),
                       [&](const Scope &operation) {
                           return std::to_string(operation.number) == rule.operation ||
                                  matches_glob(rule.operation, operation.text);
                       });
}

void OrderRanges::for_each_violation(const trace::Event &store, const LineTable &lines,
                                     const ScopeTracker &scopes,
                                     const std::function<void(const OrderViolation &)> &visit) const
{
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const Bound &bound = bound_[i];
        const bool hits =
            std::any_of(bound.second.begin(), bound.second.end(),
                        [&](const Part &part) { return part.overlaps(store.address, store.size); });
        if (!hits || !holds_in(rules_[i], scopes))
            continue;
        const std::int64_t strand = scopes.strand(store);
        for (const Part &part : bound.first) {
            const std::uint64_t last = (part.address + part.size - 1) / trace::kLineBytes;
            for (std::uint64_t line = part.address / trace::kLineBytes; line <= last; ++line) {
                const WrittenLine *state = lines.find(line);
                const std::uint64_t bytes =
                    state ? state->bytes & bytes_in_line(line, part.address, part.size) : 0;
                const auto note = strands_.find(line);
                const bool other_strand = note != strands_.end() && note->second.written != strand;
                if (bytes == 0) {
                    if (other_strand && note->second.is_settled &&
                        note->second.settled != note->second.written)
                        visit({.rule = rules_[i],
                               .first = note->second.origin,
                               .line = line,
                               .crosses_strands = true,
                               .settled_elsewhere = true,
                               .first_strand = note->second.written,
                               .second_strand = strand});
                    continue;
                }
                const auto unit =
                    static_cast<unsigned>(std::countr_zero(bytes)) / trace::kUnitBytes;
                const bool cached = state->cached >> unit & 1;
                // Cached stores to one line persist in their order.
                if (cached && store.kind == trace::EventKind::store && store.first_line() == line &&
                    store.last_line() == line)
                    continue;
                visit({.rule = rules_[i],
                       .first = state->writes[unit].event(),
                       .line = line,
                       .flushed = (state->flushed >> unit & 1) != 0,
                       .non_temporal = !cached,
                       .relies_on_lock = lines.relies_on_lock(*state, unit),
                       .crosses_strands = other_strand,
                       .first_strand = note == strands_.end() ? 0 : note->second.written,
                       .second_strand = strand});
            }
        }
    }
}

void OrderRanges::note_store(std::uint64_t seq, const trace::Event &store, std::int64_t strand)
{
    for (const Bound &bound : bound_)
        for (const Part &part : bound.first)
            if (part.overlaps(store.address, store.size))
                for (std::uint64_t line = store.first_line(); line <= store.last_line(); ++line)
                    strands_[line] = {.written = strand, .origin = {seq, store.site, store.stack}};
}

void OrderRanges::note_settled(std::uint64_t line, std::int64_t strand)
{
    const auto note = strands_.find(line);
    if (note == strands_.end() || note->second.is_settled)
        return;
    note->second.settled = strand;
    note->second.is_settled = true;
}

bool OrderRanges::orders(std::uint64_t line) const
{
    for (const Bound &bound : bound_)
        for (const Part &part : bound.first)
            if (part.overlaps(line * trace::kLineBytes, trace::kLineBytes))
                return true;
    return false;
}

} // namespace fencepost::rules
