// SPDX-License-Identifier: GPL-2.0-or-later
// The little of an x86-64 ELF file that image building asks for. The file is not trusted: whatever
// lies outside it, or makes no sense, reads as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::images {

// Borrows the file's bytes.
class ElfFile {
public:
    // Nothing when the bytes do not begin with the header of an x86-64 ELF file.
    static std::optional<ElfFile> parse(std::string_view bytes);

    bool relocatable() const;
    std::optional<std::string_view> section(std::string_view name) const;
    // DT_NEEDED, in file order; empty for a static program.
    std::vector<std::string> needed() const;
    std::optional<std::string> interpreter() const;

private:
    struct Segment;

    explicit ElfFile(std::string_view bytes) : bytes_(bytes) {}
    std::vector<Segment> segments() const;
    std::optional<std::string_view> piece(std::uint64_t offset, std::uint64_t size) const;
    std::optional<std::string> text_at(std::uint64_t offset) const;

    std::string_view bytes_;
};

} // namespace fencepost::images
