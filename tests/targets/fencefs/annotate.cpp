// SPDX-License-Identifier: GPL-2.0-or-later
// What bytes of a fencefs belong to: annotate.fencefs IMAGE PLACES SCRATCH, as annotators/README.md
// has it. A committed transaction is replayed in memory first.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"

namespace {

class Places {
public:
    Places(unsigned char *bytes, std::uint64_t size) : bytes_(bytes), size_(size) {}

    bool open()
    {
        if (super().magic != FENCEFS_MAGIC || !fencefs_fits(&super(), size_))
            return false;
        replay();
        for (std::uint64_t number = FENCEFS_ROOT; number < super().inodes; ++number)
            if (inode(number).mode_links != 0)
                add_blocks(number);
        add_names(FENCEFS_ROOT, "");
        return true;
    }

    std::string words(std::uint64_t place) const
    {
        const std::uint64_t block = place / FENCEFS_BLOCK;
        if (block == 0)
            return "superblock";
        if (block < super().table_block)
            return place - FENCEFS_BLOCK * super().journal_block < 8
                       ? "journal, the commit word"
                       : "journal, at " + std::to_string(place - FENCEFS_BLOCK);
        if (block < super().data_block)
            return inode_words((place - super().table_block * FENCEFS_BLOCK) /
                               sizeof(fencefs_inode));
        const auto found = owners_.find(block);
        if (found == owners_.end())
            return "- free block " + std::to_string(block);
        const auto &[number, index] = found->second;
        if (index < 0)
            return "index block of " + called(number);
        return (is_directory(number) ? "directory " : "block of ") + called(number) + " at " +
               std::to_string(index * static_cast<std::int64_t>(FENCEFS_BLOCK));
    }

private:
    const fencefs_super &super() const { return *reinterpret_cast<const fencefs_super *>(bytes_); }
    template <typename T> T *block(std::uint64_t number) const
    {
        return reinterpret_cast<T *>(bytes_ + number * FENCEFS_BLOCK);
    }
    const fencefs_inode &inode(std::uint64_t number) const
    {
        return block<fencefs_inode>(super().table_block)[number];
    }
    bool good(std::uint64_t at) const { return at >= super().data_block && at < super().blocks; }
    bool is_directory(std::uint64_t number) const
    {
        return S_ISDIR(static_cast<mode_t>(inode(number).mode_links & 0xffffffff));
    }

    void replay()
    {
        const fencefs_journal *journal = block<fencefs_journal>(super().journal_block);
        if (journal->commit > FENCEFS_RECORDS)
            return;
        for (std::uint64_t i = 0; i < journal->commit; ++i) {
            const fencefs_record &record = journal->records[i];
            const std::uint64_t where = record.where & ~FENCEFS_ADD;
            if (where % sizeof(pm_word) != 0 || where < FENCEFS_BLOCK ||
                where >= super().blocks * FENCEFS_BLOCK)
                continue;
            pm_word &word = *reinterpret_cast<pm_word *>(bytes_ + where);
            word = (record.where & FENCEFS_ADD) != 0 ? word + record.value : record.value;
        }
    }

    // `level`: 0 is data.
    void add_tree(std::uint64_t number, std::uint64_t at, int level, std::uint64_t start,
                  std::uint64_t covers)
    {
        if (!good(at) || owners_.contains(at))
            return;
        owners_[at] = {number, level == 0 ? static_cast<std::int64_t>(start) : -1};
        for (std::uint64_t i = 0; level > 0 && i < FENCEFS_PER_BLOCK; ++i)
            if (const std::uint64_t below = block<pm_word>(at)[i]; below != 0)
                add_tree(number, below, level - 1, start + i * (covers / FENCEFS_PER_BLOCK),
                         covers / FENCEFS_PER_BLOCK);
    }
    void add_blocks(std::uint64_t number)
    {
        for (std::uint64_t i = 0; i < FENCEFS_DIRECT; ++i)
            add_tree(number, inode(number).block[i], 0, i, 1);
        add_tree(number, inode(number).block[FENCEFS_INDIRECT], 1, FENCEFS_DIRECT,
                 FENCEFS_PER_BLOCK);
        add_tree(number, inode(number).block[FENCEFS_DOUBLE], 2, FENCEFS_DIRECT + FENCEFS_PER_BLOCK,
                 FENCEFS_PER_BLOCK * FENCEFS_PER_BLOCK);
    }

    void add_names(std::uint64_t directory, const std::string &path)
    {
        if (!names_.emplace(directory, path.empty() ? "/" : path).second)
            return;
        for (const auto &[at, owner] : owners_)
            if (owner.inode == directory && owner.index >= 0)
                for (std::uint64_t i = 0; i < FENCEFS_ENTRIES; ++i) {
                    const fencefs_entry &entry = block<fencefs_entry>(at)[i];
                    if (entry.number == 0 || entry.number >= super().inodes ||
                        entry.length > FENCEFS_MAX_NAME)
                        continue;
                    const std::string name = path + "/" + std::string(entry.name, entry.length);
                    if (is_directory(entry.number))
                        add_names(entry.number, name);
                    else
                        names_.emplace(entry.number, name);
                }
    }

    std::string called(std::uint64_t number) const
    {
        const auto found = names_.find(number);
        return found == names_.end() ? "inode " + std::to_string(number) : found->second;
    }

    std::string inode_words(std::uint64_t number) const
    {
        const std::string text = "inode " + std::to_string(number);
        if (const auto found = names_.find(number); found != names_.end())
            return text + " (" + found->second + ")";
        return "- " + text +
               (number < super().inodes && inode(number).mode_links != 0 ? " (no name)"
                                                                         : " (not in use)");
    }

    struct Owner {
        std::uint64_t inode = 0;
        std::int64_t index = 0; // in the file; -1: it has numbers of blocks
    };

    unsigned char *bytes_;
    std::uint64_t size_;
    std::map<std::uint64_t, Owner> owners_; // by block
    std::map<std::uint64_t, std::string> names_;
};

int cannot(const char *what)
{
    std::fprintf(stderr, "annotate.fencefs: %s\n", what);
    return 1;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3)
        return cannot("usage: annotate.fencefs IMAGE PLACES SCRATCH");
    const int file = open(argv[1], O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(FENCEFS_BLOCK))
        return cannot("cannot read the image");
    const auto size = static_cast<std::size_t>(status.st_size);
    // Private: the replay stays here.
    void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return cannot("cannot map the image");
    Places places(static_cast<unsigned char *>(bytes), size);
    if (!places.open())
        return cannot("there is no fencefs here");
    std::FILE *list = std::fopen(argv[2], "re");
    if (!list)
        return cannot("cannot read the places");
    for (char line[32]; std::fgets(line, sizeof line, list) != nullptr;)
        std::printf("%s\n", places.words(std::strtoull(line, nullptr, 10)).c_str());
    return 0;
}
