// SPDX-License-Identifier: GPL-2.0-or-later
// Small kernels, modules and directories for the tests of image building.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <elf.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::images {

// A boot image that has all that the header reader looks at.
inline std::string make_bzimage(const std::string &version)
{
    std::string bytes(0x400, '\0');
    bytes.replace(0x1fe, 2, "\x55\xaa");
    bytes.replace(0x202, 4, "HdrS");
    bytes.replace(0x206, 2, "\x0f\x02"); // protocol 2.15
    bytes[0x236] = 1;                    // 64-bit
    const unsigned pointer = 0x100;
    bytes[0x20e] = static_cast<char>(pointer & 0xff);
    bytes[0x20f] = static_cast<char>(pointer >> 8);
    bytes.replace(0x200 + pointer, version.size() + 1, version.c_str(), version.size() + 1);
    return bytes;
}

// A relocatable ELF file whose only content is a .modinfo section.
inline std::string make_module(const std::vector<std::string> &modinfo)
{
    std::string info;
    for (const std::string &entry : modinfo)
        info += entry + '\0';
    const std::string names("\0.modinfo\0.shstrtab\0", 20);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    header.e_shoff = sizeof header + info.size() + names.size();
    Elf64_Shdr sections[3] = {};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_offset = sizeof header;
    sections[1].sh_size = info.size();
    sections[2].sh_name = 10;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = sizeof header + info.size();
    sections[2].sh_size = names.size();
    std::string bytes(reinterpret_cast<const char *>(&header), sizeof header);
    bytes += info + names;
    bytes.append(reinterpret_cast<const char *>(sections), sizeof sections);
    return bytes;
}

inline std::string make_module_for(const std::string &release, const std::string &depends,
                                   const std::vector<std::string> &more = {})
{
    std::vector<std::string> modinfo = {"license=GPL", "depends=" + depends,
                                        "vermagic=" + release +
                                            " SMP preempt mod_unload modversions "};
    modinfo.insert(modinfo.end(), more.begin(), more.end());
    return make_module(modinfo);
}

// The message of the error that an action must throw.
template <typename Action> std::string error_of(ErrorKind kind, Action action)
{
    try {
        action();
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

class ImageTest : public testing::Test {
protected:
    std::filesystem::path put(const std::string &name, const std::string &content)
    {
        const std::filesystem::path path = directory_.path() / name;
        make_directories(path.parent_path());
        write_file(path, content);
        return path;
    }

    TemporaryDirectory directory_{std::filesystem::temp_directory_path(), "fencepost-image-test-"};
};

} // namespace fencepost::images
