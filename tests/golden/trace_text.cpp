// SPDX-License-Identifier: GPL-2.0-or-later
// See trace_text.h.
#include "tests/golden/trace_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "tests/golden/code_book.h"
#include "tests/golden/line_tokens.h"

namespace fencepost::golden {

namespace {

using namespace trace;

std::optional<std::uint8_t> subkind_named(EventKind kind, std::string_view name)
{
    for (unsigned number = 0; number < subkind_count(kind); ++number)
        if (subkind_name(kind, static_cast<std::uint8_t>(number)) == name)
            return static_cast<std::uint8_t>(number);
    return std::nullopt;
}

template <typename Enum> std::optional<Enum> enum_named(std::string_view name, Enum last)
{
    for (unsigned number = 0; number <= static_cast<unsigned>(last); ++number)
        if (name_of(static_cast<Enum>(number)) == name)
            return static_cast<Enum>(number);
    return std::nullopt;
}

std::string subkinds(EventKind kind)
{
    std::string names;
    for (unsigned number = 0; number < subkind_count(kind); ++number)
        names.append(number ? " " : "")
            .append(subkind_name(kind, static_cast<std::uint8_t>(number)));
    return names;
}

constexpr std::size_t kBufferedEvents = 65536;

class TextTrace {
public:
    explicit TextTrace(const std::filesystem::path &path)
        : path_(path), writer_(TraceWriter::create(path)), buffer_(kBufferedEvents)
    {
    }

    void read(LineTokens line)
    {
        if (line.at_end())
            return;
        const std::optional<std::uint64_t> vcpu = line.take_numbered('v');
        if (vcpu > UINT16_MAX)
            line.fail_here("a vCPU is v0 to v65535");
        vcpu_ = static_cast<std::uint16_t>(vcpu.value_or(0));
        const std::string word = line.word("a statement");
        if (vcpu || !declaration(word, line))
            event(word, line);
        line.expect_end();
    }

    void finish()
    {
        flush();
        for (const Region &region : regions_or_default()) {
            writer_.put_region(region);
            writer_.put_initial_image(region, images_[region.id - 1]);
        }
        code_.write_to(writer_);
        if (state_ == RecordingState::complete || state_ == RecordingState::truncated)
            writer_.finish(state_, outcome_);
        else
            writer_.sync();
        TraceAmendment amendment(path_);
        code_.name_in(amendment);
        for (const auto &final : final_digests_)
            amendment.put_final_digest(final.first, final.second);
        amendment.commit();
    }

private:
    bool declaration(const std::string &word, LineTokens &line)
    {
        if (word == "region")
            declare_region(line);
        else if (word == "let")
            declare_name(line);
        else if (word == "function")
            declare_function(line);
        else if (word == "initial")
            set_initial(line);
        else if (word == "final")
            set_final(line);
        else if (word == "meta")
            put_meta(line);
        else if (word == "quality")
            put_quality(line);
        else if (word == "volatile_flushes")
            put_volatile_flushes(line);
        else if (word == "sync")
            sync();
        else if (word == "recording")
            set_recording(line);
        else
            return false;
        return true;
    }

    void event(const std::string &word, LineTokens &line)
    {
        Event event = {.vcpu = vcpu_};
        if (const auto kind = enum_named(word, MarkerKind::note)) {
            event.kind = EventKind::marker;
            event.subkind = static_cast<std::uint8_t>(*kind);
            marker(event, line);
        } else if (const auto other = enum_named(word, EventKind::load);
                   other && *other != EventKind::marker) {
            event.kind = *other;
            access(event, line);
        } else {
            line.fail_here(fmt::format("there is no statement '{}'", word));
        }
        if (buffer_.full())
            flush();
    }

    void access(Event &event, LineTokens &line)
    {
        const bool named = event.kind == EventKind::flush || event.kind == EventKind::fence;
        if (named) {
            const std::string name = line.word("an instruction");
            const auto subkind = subkind_named(event.kind, name);
            if (!subkind)
                line.fail_here(fmt::format("'{}' is none of {}", name, subkinds(event.kind)));
            event.subkind = *subkind;
        } else if (event.kind == EventKind::nt_store) {
            for (unsigned number = 0; number < subkind_count(event.kind); ++number)
                if (line.take(subkind_name(event.kind, static_cast<std::uint8_t>(number))))
                    event.subkind = static_cast<std::uint8_t>(number);
        }
        std::vector<std::byte> bytes;
        if (event.has_address())
            event.address = address(line);
        if (event.is_store() || event.kind == EventKind::load) {
            const std::uint64_t size = line.number("the size");
            if (size < 1 || size > kMaxStoreBytes)
                line.fail_here("a store or load has 1 to 64 bytes");
            event.size = static_cast<std::uint8_t>(size);
        }
        if (event.has_address())
            check_in_region(event.address, std::max<unsigned>(event.size, 1), line);
        if (event.is_store())
            bytes = value(event.size, line);
        if (event.is_store() && line.take("atomic"))
            event.flags = kAtomic;
        place(event, line, named ? subkind_name(event.kind, event.subkind) : name_of(event.kind));
        if (event.is_store())
            buffer_.push_store(event, bytes.data());
        else
            buffer_.push(event);
    }

    void marker(Event &event, LineTokens &line)
    {
        Marker marker;
        if (line.next_is_number())
            marker.number = static_cast<std::int64_t>(line.number("the number"));
        for (bool more = true; more;) {
            if (auto text = line.take_string())
                marker.text = std::move(*text);
            else if (line.take("("))
                marker.arguments = arguments(line);
            else if (line.take("="))
                marker.result = line.signed_number("the result");
            else if (line.take("in"))
                marker.process = line.number("the process");
            else
                more = false;
        }
        place(event, line, "nop");
        buffer_.push_marker(event, std::move(marker));
    }

    std::vector<std::uint64_t> arguments(LineTokens &line)
    {
        std::vector<std::uint64_t> numbers;
        if (line.take(")"))
            return numbers;
        do
            numbers.push_back(address(line));
        while (line.take(","));
        line.expect(")");
        return numbers;
    }

    void place(Event &event, LineTokens &line, std::string_view disassembly)
    {
        try {
            if (const auto site = line.take_prefixed('@'))
                event.site = code_.site(*site, disassembly);
            if (const auto stack = line.take_prefixed('^'))
                event.stack = code_.stack(*stack);
        } catch (const std::invalid_argument &error) {
            line.fail_here(error.what());
        }
    }

    // A number, a name, or name+number.
    std::uint64_t address(LineTokens &line)
    {
        const std::string text = line.word("an address");
        if (const auto number = parse_number(text))
            return *number;
        regions_or_default();
        const std::size_t plus = text.find('+');
        const auto known = names_.find(text.substr(0, plus));
        const auto offset = plus == text.npos ? 0 : parse_number(text.substr(plus + 1));
        if (known == names_.end() || !offset)
            line.fail_here(fmt::format("'{}' is no address: a number, a region or a name of 'let',"
                                       " perhaps with +NUMBER",
                                       text));
        return known->second + *offset;
    }

    // = NUMBER (up to 8 bytes), = "text" (zeros after it), = *BYTE (repeated), or = hex:DIGITS.
    std::vector<std::byte> value(std::size_t size, LineTokens &line)
    {
        std::vector<std::byte> bytes(size);
        const auto fits = [&](bool holds) {
            if (!holds)
                line.fail_here(fmt::format("this does not fit into {} bytes", size));
        };
        line.expect("=");
        if (const auto text = line.take_string()) {
            fits(text->size() <= size);
            std::ranges::copy(std::as_bytes(std::span(*text)), bytes.begin());
        } else if (const auto repeated = line.take_prefixed('*')) {
            const auto byte = parse_number(*repeated);
            if (!byte || *byte > 255)
                line.fail_here("what is repeated is one byte");
            std::ranges::fill(bytes, static_cast<std::byte>(*byte));
        } else {
            const std::string word = line.word("the value");
            if (word.starts_with("hex:")) {
                fits(word.size() == 4 + 2 * size);
                for (std::size_t i = 0; i < size; ++i) {
                    const auto byte = parse_number("0x" + word.substr(4 + 2 * i, 2));
                    if (!byte)
                        line.fail_here("hex: takes two hexadecimal digits a byte");
                    bytes[i] = static_cast<std::byte>(*byte);
                }
                return bytes;
            }
            const auto number = parse_number(word);
            if (!number)
                line.fail_here("a value is a number, a \"text\", *BYTE or hex:DIGITS");
            fits(size <= 8 && (size == 8 || *number >> 8 * size == 0));
            for (std::size_t i = 0; i < size; ++i)
                bytes[i] = static_cast<std::byte>(*number >> 8 * i);
        }
        return bytes;
    }

    const std::vector<Region> &regions_or_default()
    {
        if (regions_.empty())
            add_region({.id = 1, .name = "pmem0", .base = 4ull << 30, .size = 2 << 20});
        return regions_;
    }

    void add_region(Region region)
    {
        region.file = region.name;
        names_[region.name] = region.base;
        images_.emplace_back(region.size);
        regions_.push_back(std::move(region));
    }

    void declare_region(LineTokens &line)
    {
        Region region = {.id = static_cast<RegionId>(regions_.size() + 1),
                         .name = line.word("a name")};
        region.base = line.number("the base");
        region.size = line.number("the size");
        if (region.base % 4096 || region.size % 4096 || region.size < 4096 ||
            region.size > 64 << 20)
            line.fail_here("base and size are multiples of 4096, and a region has at most 64M");
        if (names_.contains(region.name))
            line.fail_here(fmt::format("the name '{}' is taken", region.name));
        add_region(std::move(region));
    }

    void declare_name(LineTokens &line)
    {
        const std::string name = line.word("a name");
        if (names_.contains(name))
            line.fail_here(fmt::format("the name '{}' is taken", name));
        line.expect("=");
        const std::uint64_t at = address(line);
        names_[name] = at;
    }

    void declare_function(LineTokens &line)
    {
        CodeBook::Function function;
        function.symbol = {.name = line.word("a name"), .module = "kernel"};
        while (!line.at_end()) {
            const std::string word = line.word("module, file or user");
            line.expect("=");
            if (word == "module") {
                function.symbol.module = line.word("a module");
            } else if (word == "file") {
                function.source_file = line.word("a file");
            } else if (word == "user") {
                function.privilege = Privilege::user;
                function.address_space = line.number("an address space");
            } else {
                line.fail_here("a function has module=NAME, file=NAME, user=ADDRESS_SPACE");
            }
        }
        const std::string name = function.symbol.name;
        if (!code_.declare(std::move(function)))
            line.fail_here(fmt::format("function '{}' is known already", name));
    }

    const Region &check_in_region(std::uint64_t at, std::uint64_t size, const LineTokens &line)
    {
        for (const Region &region : regions_or_default())
            if (region.contains(at) && region.contains(at + size - 1))
                return region;
        line.fail_here(fmt::format("0x{:x} and {} bytes are not in one region", at, size));
    }

    void set_initial(LineTokens &line)
    {
        const std::uint64_t at = address(line);
        const std::uint64_t size = line.number("the size");
        if (size < 1 || size > 1 << 20)
            line.fail_here("the size is 1 to 1M bytes");
        const Region &region = check_in_region(at, size, line);
        const std::vector<std::byte> bytes = value(size, line);
        std::ranges::copy(bytes, images_[region.id - 1].begin() +
                                     static_cast<std::ptrdiff_t>(at - region.base));
    }

    void set_final(LineTokens &line)
    {
        const Region &region = check_in_region(address(line), 1, line);
        final_digests_[region.id] = line.quoted("the digest");
    }

    void put_meta(LineTokens &line)
    {
        const std::string key = line.word("a key");
        writer_.put_meta(key, line.quoted("the value"));
    }

    void put_quality(LineTokens &line)
    {
        DataQuality counter = {.name = line.word("a name")};
        counter.value = line.signed_number("the value");
        const auto severity = enum_named(line.word("the severity"), Severity::error);
        if (!severity)
            line.fail_here("a severity is info, warning or error");
        counter.severity = *severity;
        counter.meaning = line.quoted("the meaning");
        writer_.put_data_quality(counter);
    }

    void put_volatile_flushes(LineTokens &line)
    {
        const std::uint64_t count = line.number("how many");
        Event event;
        place(event, line, "clwb");
        if (!event.site)
            line.fail_here("volatile flushes need a site: @NAME");
        writer_.put_volatile_flushes(event.site, count);
    }

    void set_recording(LineTokens &line)
    {
        const auto state = enum_named(line.word("a state"), RecordingState::truncated);
        if (!state || *state == RecordingState::prepared)
            line.fail_here("a recording is running, complete or truncated");
        state_ = *state;
        outcome_ = line.take_string().value_or("");
    }

    void sync()
    {
        flush();
        writer_.sync();
    }

    void flush()
    {
        writer_.append(buffer_);
        buffer_.clear();
    }

    std::filesystem::path path_;
    TraceWriter writer_;
    EventBuffer buffer_;
    CodeBook code_;
    std::vector<Region> regions_;
    std::vector<std::vector<std::byte>> images_; // by region
    std::map<std::string, std::uint64_t, std::less<>> names_;
    std::map<RegionId, std::string> final_digests_;
    std::uint16_t vcpu_ = 0;
    RecordingState state_ = RecordingState::complete;
    std::string outcome_;
};

} // namespace

void write_trace(std::string_view text, const std::filesystem::path &path, std::string_view name)
{
    TextTrace trace(path);
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        trace.read(LineTokens(text.substr(0, end), name, number));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    trace.finish();
}

} // namespace fencepost::golden
