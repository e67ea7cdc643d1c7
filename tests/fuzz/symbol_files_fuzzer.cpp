// SPDX-License-Identifier: GPL-2.0-or-later
// Attacks all that reads files for names of code: the first byte chooses ELF for names, ELF for
// images, cpio, kallsyms or the list of modules. Nothing of it may fail: what cannot be read is as
// if it were not there.
#include <cstdint>
#include <string>

#include "analyzer/symbols/cpio_archive.h"
#include "analyzer/symbols/elf_code.h"
#include "analyzer/symbols/kallsyms.h"
#include "guest-images/image/elf_file.h"

using namespace fencepost;

namespace {

void read_code(std::string bytes)
{
    const std::unique_ptr<symbols::ElfCode> code = symbols::ElfCode::open(std::move(bytes));
    if (!code)
        return;
    code->address_of("main");
    for (const symbols::Segment &segment : code->segments()) {
        for (const std::uint64_t at :
             {std::uint64_t{0}, segment.memory_size / 2, segment.memory_size - 1}) {
            code->function_at(segment.address + at);
            code->place_at(segment.address + at);
        }
    }
    code->place_at(code->entry());
}

void read_image_file(const std::string &bytes)
{
    if (const auto file = images::ElfFile::parse(bytes)) {
        file->needed();
        file->interpreter();
        file->section(".modinfo");
    }
}

void read_archive(std::string bytes)
{
    if (const auto archive = symbols::CpioArchive::parse(std::move(bytes)))
        if (const symbols::CpioArchive::Entry *entry = archive->find("/a"))
            (void)archive->contents(*entry);
}

void read_kernel_words(const std::string &text)
{
    std::size_t skipped = 0;
    symbols::SymbolTable table =
        symbols::parse_kallsyms(text, symbols::parse_modules(text, skipped), skipped);
    table.finish();
    for (const symbols::CodeSymbol &symbol : table.symbols())
        table.find(symbol.address);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::string bytes(reinterpret_cast<const char *>(data + 1), size - 1);
    switch (data[0] % 4) {
    case 0:
        read_code(bytes);
        break;
    case 1:
        read_image_file(bytes);
        break;
    case 2:
        read_archive(bytes);
        break;
    default:
        read_kernel_words(bytes);
        break;
    }
    return 0;
}
