// SPDX-License-Identifier: GPL-2.0-or-later
// Is a fencefs consistent? fsck.fencefs FILE [OFFSET]; nothing is changed. A committed transaction
// is replayed in memory first. Exit status: 0 it is, 1 it is not (each reason on a line), 2 cannot
// tell.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"

namespace {

class Check {
public:
    Check(unsigned char *bytes, std::uint64_t size) : bytes_(bytes), size_(size) {}

    // Number of problems.
    int run()
    {
        if (!geometry())
            return problems_;
        replay();
        used_.assign(super().blocks, 0);
        references_.assign(super().inodes, 0);
        subdirectories_.assign(super().inodes, 0);
        for (std::uint64_t number = FENCEFS_ROOT; number < super().inodes; ++number)
            if (inode(number).mode_links != 0)
                check_inode(number);
        for (std::uint64_t number = FENCEFS_ROOT; number < super().inodes; ++number)
            if (is_directory(number))
                check_directory(number);
        for (std::uint64_t number = FENCEFS_ROOT; number < super().inodes; ++number)
            if (inode(number).mode_links != 0)
                check_links(number);
        return problems_;
    }

private:
    __attribute__((format(printf, 2, 3))) void problem(const char *format, ...)
    {
        ++problems_;
        va_list arguments;
        va_start(arguments, format);
        std::vprintf(format, arguments);
        va_end(arguments);
        std::putchar('\n');
    }

    const fencefs_super &super() const { return *reinterpret_cast<const fencefs_super *>(bytes_); }
    template <typename T> T *block(std::uint64_t number) const
    {
        return reinterpret_cast<T *>(bytes_ + number * FENCEFS_BLOCK);
    }
    const fencefs_inode &inode(std::uint64_t number) const
    {
        return block<fencefs_inode>(super().table_block)[number];
    }
    static unsigned mode(const fencefs_inode &inode)
    {
        return static_cast<unsigned>(inode.mode_links & 0xffffffff);
    }
    static unsigned links(const fencefs_inode &inode)
    {
        return static_cast<unsigned>(inode.mode_links >> 32);
    }
    bool is_directory(std::uint64_t number) const { return S_ISDIR(mode(inode(number))); }

    bool geometry()
    {
        if (super().magic != FENCEFS_MAGIC || super().version != FENCEFS_VERSION)
            problem("there is no fencefs here");
        else if (!fencefs_fits(&super(), size_))
            problem("the superblock makes no sense");
        else if (super().state != FENCEFS_CLEAN && super().state != FENCEFS_IN_USE)
            problem("the state is %llu", static_cast<unsigned long long>(super().state));
        return problems_ == 0;
    }

    void replay()
    {
        fencefs_journal *journal = block<fencefs_journal>(super().journal_block);
        if (journal->commit == 0)
            return;
        if (super().state == FENCEFS_CLEAN)
            problem("it is clean, but has a transaction of %llu records",
                    static_cast<unsigned long long>(journal->commit));
        if (journal->commit > FENCEFS_RECORDS) {
            problem("the journal has %llu records",
                    static_cast<unsigned long long>(journal->commit));
            return;
        }
        const std::uint64_t end = super().blocks * FENCEFS_BLOCK;
        for (std::uint64_t i = 0; i < journal->commit; ++i) {
            const fencefs_record &record = journal->records[i];
            const std::uint64_t where = record.where & ~FENCEFS_ADD;
            if (where % sizeof(pm_word) != 0 || where >= end || where < FENCEFS_BLOCK) {
                problem("record %llu of the journal is for %#llx",
                        static_cast<unsigned long long>(i),
                        static_cast<unsigned long long>(record.where));
                continue;
            }
            pm_word &word = *reinterpret_cast<pm_word *>(bytes_ + where);
            word = (record.where & FENCEFS_ADD) != 0 ? word + record.value : record.value;
        }
    }

    bool orphan(std::uint64_t number) const { return links(inode(number)) == 0; }

    // `covers` blocks of the file are below this one, from block `start` of the file on.
    void check_tree(std::uint64_t number, std::uint64_t at, int level, std::uint64_t start,
                    std::uint64_t covers)
    {
        const auto self = static_cast<unsigned long long>(number);
        if (at < super().data_block || at >= super().blocks) {
            problem("inode %llu has a block %llu", self, static_cast<unsigned long long>(at));
            return;
        }
        // What an orphan has is free at the next mount, and was never anyone else's.
        if (used_[at] != 0)
            problem("block %llu belongs to inode %u and to inode %llu",
                    static_cast<unsigned long long>(at), used_[at], self);
        used_[at] = static_cast<unsigned>(number);
        if (start * FENCEFS_BLOCK >= inode(number).size)
            problem("inode %llu has a block at %llu, beyond its size of %llu", self,
                    static_cast<unsigned long long>(start * FENCEFS_BLOCK),
                    static_cast<unsigned long long>(inode(number).size));
        if (level == 0)
            return;
        for (std::uint64_t i = 0; i < FENCEFS_PER_BLOCK; ++i)
            if (const std::uint64_t below = block<pm_word>(at)[i]; below != 0)
                check_tree(number, below, level - 1, start + i * (covers / FENCEFS_PER_BLOCK),
                           covers / FENCEFS_PER_BLOCK);
    }

    void check_inode(std::uint64_t number)
    {
        const fencefs_inode &self = inode(number);
        const auto name = static_cast<unsigned long long>(number);
        const unsigned type = mode(self) & S_IFMT;
        if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK)
            problem("inode %llu has mode %o", name, mode(self));
        if (self.size > FENCEFS_MAX_BLOCKS * FENCEFS_BLOCK)
            problem("inode %llu has size %llu", name, static_cast<unsigned long long>(self.size));
        if (orphan(number)) {
            if (super().state == FENCEFS_CLEAN)
                problem("inode %llu is an orphan in a clean file system", name);
        }
        for (std::uint64_t i = 0; i < FENCEFS_DIRECT; ++i)
            if (self.block[i] != 0)
                check_tree(number, self.block[i], 0, i, 1);
        if (self.block[FENCEFS_INDIRECT] != 0)
            check_tree(number, self.block[FENCEFS_INDIRECT], 1, FENCEFS_DIRECT, FENCEFS_PER_BLOCK);
        if (self.block[FENCEFS_DOUBLE] != 0)
            check_tree(number, self.block[FENCEFS_DOUBLE], 2, FENCEFS_DIRECT + FENCEFS_PER_BLOCK,
                       FENCEFS_PER_BLOCK * FENCEFS_PER_BLOCK);
        if (type == S_IFLNK)
            check_link(number);
    }

    void check_link(std::uint64_t number)
    {
        const fencefs_inode &self = inode(number);
        const auto name = static_cast<unsigned long long>(number);
        const std::uint64_t at = self.block[0];
        if (self.size == 0 || self.size >= FENCEFS_BLOCK || at < super().data_block ||
            at >= super().blocks)
            problem("symbolic link %llu has no target", name);
        else if (strnlen(block<char>(at), FENCEFS_BLOCK) != self.size)
            problem("the target of symbolic link %llu has not the %llu bytes of its size", name,
                    static_cast<unsigned long long>(self.size));
    }

    // 0: none.
    std::uint64_t file_block(const fencefs_inode &self, std::uint64_t index) const
    {
        auto good = [&](std::uint64_t at) {
            return at >= super().data_block && at < super().blocks;
        };
        if (index < FENCEFS_DIRECT)
            return good(self.block[index]) ? self.block[index] : 0;
        index -= FENCEFS_DIRECT;
        std::uint64_t table = self.block[FENCEFS_INDIRECT];
        if (index >= FENCEFS_PER_BLOCK) {
            index -= FENCEFS_PER_BLOCK;
            if (!good(self.block[FENCEFS_DOUBLE]))
                return 0;
            table = block<pm_word>(self.block[FENCEFS_DOUBLE])[index / FENCEFS_PER_BLOCK];
            index %= FENCEFS_PER_BLOCK;
        }
        if (!good(table))
            return 0;
        const std::uint64_t at = block<pm_word>(table)[index];
        return good(at) ? at : 0;
    }

    void check_directory(std::uint64_t number)
    {
        const fencefs_inode &self = inode(number);
        const auto name = static_cast<unsigned long long>(number);
        std::map<std::string, bool> names;
        if (self.size % FENCEFS_BLOCK != 0 || self.size / FENCEFS_BLOCK > super().blocks) {
            problem("directory %llu has size %llu", name,
                    static_cast<unsigned long long>(self.size));
            return;
        }
        for (std::uint64_t index = 0; index < self.size / FENCEFS_BLOCK; ++index) {
            const std::uint64_t at = file_block(self, index);
            if (at == 0) {
                problem("directory %llu has no block %llu", name,
                        static_cast<unsigned long long>(index));
                continue;
            }
            for (std::uint64_t i = 0; i < FENCEFS_ENTRIES; ++i)
                if (const fencefs_entry &entry = block<fencefs_entry>(at)[i]; entry.number != 0)
                    check_entry(number, entry, names);
        }
    }

    void check_entry(std::uint64_t directory, const fencefs_entry &entry,
                     std::map<std::string, bool> &names)
    {
        const auto self = static_cast<unsigned long long>(directory);
        const auto target = static_cast<unsigned long long>(entry.number);
        const std::string name(entry.name, std::min<std::size_t>(entry.length, FENCEFS_MAX_NAME));
        if (entry.length == 0 || entry.length > FENCEFS_MAX_NAME ||
            name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
            name == "." || name == "..")
            problem("directory %llu has a name that cannot be", self);
        else if (!names.emplace(name, true).second)
            problem("directory %llu has '%s' twice", self, name.c_str());
        if (orphan(directory))
            problem("directory %llu is not empty and has no links", self);
        if (entry.number >= super().inodes || inode(entry.number).mode_links == 0) {
            problem("'%s' in directory %llu is inode %llu, which is not in use", name.c_str(), self,
                    target);
            return;
        }
        ++references_[entry.number];
        if (!is_directory(entry.number))
            return;
        ++subdirectories_[directory];
        if (inode(entry.number).parent != directory)
            problem("directory %llu, '%s' in %llu, has %llu as its parent", target, name.c_str(),
                    self, static_cast<unsigned long long>(inode(entry.number).parent));
    }

    void check_links(std::uint64_t number)
    {
        const unsigned counted = references_[number] + (number == FENCEFS_ROOT ? 1 : 0);
        const unsigned expected =
            is_directory(number) && counted != 0 ? 1 + counted + subdirectories_[number] : counted;
        if (links(inode(number)) != expected)
            problem("inode %llu has %u links, and there are %u",
                    static_cast<unsigned long long>(number), links(inode(number)), expected);
        if (is_directory(number) && counted > 1)
            problem("directory %llu has %u names", static_cast<unsigned long long>(number),
                    counted);
        if (number != FENCEFS_ROOT && is_directory(number) && counted == 1 && !reachable(number))
            problem("directory %llu cannot be reached from the root",
                    static_cast<unsigned long long>(number));
    }

    bool reachable(std::uint64_t number) const
    {
        for (std::uint64_t steps = 0; steps < super().inodes; ++steps) {
            if (number == FENCEFS_ROOT)
                return true;
            number = inode(number).parent;
            if (number < FENCEFS_ROOT || number >= super().inodes || !is_directory(number))
                return false;
        }
        return false;
    }

    unsigned char *bytes_;
    std::uint64_t size_;
    int problems_ = 0;
    std::vector<unsigned> used_; // by whom, by block
    std::vector<unsigned> references_;
    std::vector<unsigned> subdirectories_;
};

int cannot_tell(const char *what, const char *file)
{
    std::fprintf(stderr, "fsck.fencefs: %s %s\n", what, file);
    return 2;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3)
        return cannot_tell("usage: fsck.fencefs", "FILE [OFFSET]");
    char *end = nullptr;
    const std::uint64_t offset = argc == 3 ? std::strtoull(argv[2], &end, 0) : 0;
    if (offset % 4096 != 0 || (end != nullptr && *end != '\0'))
        return cannot_tell("no offset:", argv[2]);
    const int file = open(argv[1], O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0)
        return cannot_tell("cannot open", argv[1]);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size < offset + FENCEFS_BLOCK)
        return cannot_tell("too short:", argv[1]);
    // Private: the replay stays here.
    void *bytes = mmap(nullptr, size - offset, PROT_READ | PROT_WRITE, MAP_PRIVATE, file,
                       static_cast<off_t>(offset));
    if (bytes == MAP_FAILED)
        return cannot_tell("cannot map", argv[1]);
    return Check(static_cast<unsigned char *>(bytes), size - offset).run() == 0 ? 0 : 1;
}
