// SPDX-License-Identifier: GPL-2.0-or-later
// See trace_text.h.
#include "tests/golden/trace_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "tests/golden/address_book.h"
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
        for (const Region &region : addresses_.regions()) {
            writer_.put_region(region);
            writer_.put_initial_image(region, addresses_.initial_image(region));
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
            addresses_.declare_region(line);
        else if (word == "let")
            addresses_.declare_name(line);
        else if (word == "function")
            declare_function(line);
        else if (word == "initial")
            addresses_.set_initial(line);
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
            event.address = addresses_.address(line);
        if (event.is_store() || event.kind == EventKind::load) {
            const std::uint64_t size = line.number("the size");
            if (size < 1 || size > kMaxStoreBytes)
                line.fail_here("a store or load has 1 to 64 bytes");
            event.size = static_cast<std::uint8_t>(size);
        }
        if (event.has_address())
            addresses_.region_of(event.address, std::max<unsigned>(event.size, 1), line);
        if (event.is_store())
            bytes = bytes_of(event.size, line);
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
            numbers.push_back(addresses_.address(line));
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

    void set_final(LineTokens &line)
    {
        const Region &region = addresses_.region_of(addresses_.address(line), 1, line);
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
        const auto severity = enum_named(line.word("the severity"), QualityLevel::error);
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
    AddressBook addresses_;
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
