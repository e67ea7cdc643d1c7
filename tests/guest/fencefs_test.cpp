// SPDX-License-Identifier: GPL-2.0-or-later
// fencefs, the file system that is a target, does what a file system does, and its fsck sees what
// is wrong.
#include <fstream>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "tests/guest/kernel_module.h"
#include "tests/guest/recorded_guest.h"
#include "tests/targets/fencefs/layout.h"

namespace fencepost::guest {
namespace {

namespace fs = std::filesystem;

// Everything that the shell can do with files; each line fails the script if it goes wrong.
constexpr const char *kOperations = R"SH(set -e; cd /mnt/pm
same() { test "$1" = "$2" || { echo "'$1' is not '$2'" >&2; exit 1; }; }
echo hello >a; mv a b; same "$(cat b)" hello
mkdir d d/e; ln b d/c; same "$(stat -c %h b)" 2
echo other >o; mv o b; same "$(cat b)" other; same "$(cat d/c)" hello; same "$(stat -c %h d/c)" 1
ln -s d/c l; same "$(cat l)" hello; same "$(readlink l)" d/c
seq 1 20000 >big; same "$(md5sum <big)" "$(seq 1 20000 | md5sum)"
truncate -s 5000 big; truncate -s 9000 big; same "$(head -c 5000 big | md5sum)" "$(seq 1 20000 | head -c 5000 | md5sum)"
same "$(tail -c 4000 big | tr -d '\0' | wc -c)" 0
printf xyz | dd of=big conv=notrunc bs=1 seek=4095 2>/dev/null; same "$(dd if=big bs=1 skip=4095 count=3 2>/dev/null)" xyz
exec 3<b; rm b; same "$(cat <&3)" other; exec 3<&-
mv d/e f; same "$(stat -c %h d)" 2; same "$(stat -c %h .)" 4
! rmdir d 2>/dev/null; rmdir f; ! test -e f
mkdir g h; mv h g; test -d g/h; mkdir i; mv i g/h; test -d g/h/i
chmod 640 d/c; chown 7:8 d/c; same "$(stat -c %a,%u,%g d/c)" 640,7,8
i=0; while [ $i -lt 70 ]; do echo $i >g/file-$i; i=$((i + 1)); done; same "$(ls g | wc -l)" 71; same "$(cat g/file-69)" 69
rm g/file*; same "$(ls g)" h
dd if=/dev/zero of=sparse bs=1 seek=3000000 count=1 2>/dev/null; same "$(stat -c %s sparse)" 3000001; rm sparse
)SH";

class Fencefs : public testing::Test {
protected:
    static World &world()
    {
        static World world("process", [] {
            GuestConfig config;
            config.clock = Clock::icount;
            config.pm[0].size = 16 << 20;
            return config;
        }());
        return world;
    }

    static const fs::path &module()
    {
        static const TemporaryDirectory directory("/tmp", "fp-fencefs-");
        static const fs::path module = [] {
            std::vector<fs::path> sources;
            std::istringstream words(FENCEPOST_FENCEFS_SOURCES);
            for (std::string word; words >> word;)
                sources.push_back(word);
            return build_kernel_module(world().source().kernel_release, sources, directory.path());
        }();
        return module;
    }

    // A guest with the module loaded and an empty file system.
    static void prepare(Guest &guest)
    {
        put_program(guest, module(), "/tmp/fencefs.ko");
        put_program(guest, FENCEPOST_FENCEFS_MKFS, "/tmp/mkfs.fencefs");
        expect_success(
            guest, "insmod /tmp/fencefs.ko && /tmp/mkfs.fencefs /dev/pmem0 && mkdir -p /mnt/pm");
    }

    static void expect_success(Guest &guest, const std::string &command)
    {
        const RunReply reply = run_in(guest, {"sh", "-c", command});
        EXPECT_TRUE(reply.success()) << command << "\n"
                                     << reply.output << reply.errors << guest.log().kernel_log();
    }

    static CommandResult fsck(const fs::path &pm)
    {
        return run_command({FENCEPOST_FENCEFS_FSCK, pm.string(), std::to_string(kData)});
    }

    static constexpr std::uint64_t kData = 2 << 20; // where the device begins in the file
};

TEST_F(Fencefs, DoesWhatFileSystemsDo)
{
    const TemporaryDirectory directory("/tmp", "fp-fencefs-run-");
    RecordedGuest recorded(world(), directory.path(), {});
    Guest &guest = recorded.guest();
    prepare(guest);
    for (const std::string options : {"dax,data=inplace", "dax,data=cow"}) {
        SCOPED_TRACE(options);
        const std::string mount = "mount -t fencefs -o " + options + " /dev/pmem0 /mnt/pm";
        expect_success(guest,
                       "umount /mnt/pm 2>/dev/null; /tmp/mkfs.fencefs /dev/pmem0 && " + mount);
        expect_success(guest, kOperations);
        EXPECT_EQ(fsck(recorded.pm_file()).output, "") << "while it is mounted";
        expect_success(
            guest,
            "cd /mnt/pm; find . -type f | sort | xargs md5sum >/tmp/before; cd /; umount /mnt/pm");
        EXPECT_EQ(fsck(recorded.pm_file()).output, "");
        expect_success(guest, mount + " && cd /mnt/pm && "
                                      "find . -type f | sort | xargs md5sum | cmp - /tmp/before");
    }
    expect_success(guest,
                   "umount /mnt/pm && ! mount -t fencefs -o bug=no_such /dev/pmem0 /mnt/pm && "
                   "mount -t fencefs -o bug=commit_first /dev/pmem0 /mnt/pm && grep "
                   "bug=commit_first /proc/mounts");
    EXPECT_EQ(guest.log().kernel_log().find("BUG"), std::string::npos) << guest.log().kernel_log();
    recorded.end();
    EXPECT_EQ(recorded.compare().differing_lines, 0u);
}

// What is odd about a mode is so without any crash.
TEST_F(Fencefs, ModesAreAsTheySay)
{
    const std::unique_ptr<Guest> guest = world().restore({world().new_pm_file()});
    prepare(*guest);
    auto said = [&] { return guest->log().kernel_log().find("was written") != std::string::npos; };
    expect_success(*guest, "mount -t fencefs -o norename /dev/pmem0 /mnt/pm && cd /mnt/pm && "
                           "echo one >a && ! mv a b 2>/tmp/why && grep 'Invalid argument' /tmp/why "
                           "&& test -e a && grep norename /proc/mounts && cd / && umount /mnt/pm");
    EXPECT_FALSE(said());
    // In place: the file's block stays, and its bytes change; else it gets another block.
    const std::string block = "hexdump -s $((4096*17+256*2+64)) -n 8 /dev/pmem0";
    expect_success(
        *guest, "mount -t fencefs -o chatty,data=inplace /dev/pmem0 /mnt/pm && " + block +
                    " >/tmp/one; echo two >/tmp/two; dd if=/tmp/two of=/mnt/pm/a conv=notrunc "
                    "2>/dev/null && test $(cat /mnt/pm/a) = two && umount /mnt/pm && " +
                    block +
                    " | cmp - /tmp/one && mount -t fencefs /dev/pmem0 /mnt/pm && "
                    "dd if=/tmp/two of=/mnt/pm/a conv=notrunc 2>/dev/null && umount /mnt/pm && ! " +
                    block + " | cmp -s - /tmp/one");
    EXPECT_TRUE(said()) << guest->log().kernel_log();
    expect_success(*guest, "! mount -t fencefs -o data=nowhere /dev/pmem0 /mnt/pm");
    guest->power_off(soon());
}

struct Damage {
    const char *name;
    std::uint64_t inode;
    std::size_t field;
    std::uint64_t value;
    const char *said;
};

// One word of an image that was good, at a time.
TEST_F(Fencefs, FsckSeesDamage)
{
    const fs::path pm = world().new_pm_file();
    {
        const std::unique_ptr<Guest> guest = world().restore({pm});
        prepare(*guest);
        expect_success(*guest,
                       "mount -t fencefs -o dax /dev/pmem0 /mnt/pm && cd /mnt/pm && "
                       "! dd if=/dev/zero of=full bs=64k 2>/dev/null && rm full && mkdir d && "
                       "echo x >d/f && ln -s target l && cd / && umount /mnt/pm");
        guest->power_off(soon());
    }
    ASSERT_EQ(fsck(pm).end.code, 0) << fsck(pm).output;
    fencefs_super super = {};
    auto bytes_of = [](auto &object) { return reinterpret_cast<char *>(&object); };
    std::ifstream(pm, std::ios::binary).seekg(kData).read(bytes_of(super), sizeof(super));
    ASSERT_EQ(super.magic, FENCEFS_MAGIC);
    const Damage kDamages[] = {
        {"links of a file", 3, offsetof(fencefs_inode, mode_links), 0100644 | 2ull << 32,
         "has 2 links, and there are 1"},
        {"no links", 3, offsetof(fencefs_inode, mode_links), 0100644, "orphan in a clean"},
        {"not in use", 3, offsetof(fencefs_inode, mode_links), 0, "which is not in use"},
        {"links of a directory", 2, offsetof(fencefs_inode, mode_links), 040755 | 3ull << 32,
         "has 3 links, and there are 2"},
        {"parent", 2, offsetof(fencefs_inode, parent), 3, "as its parent"},
        {"size of a directory", 2, offsetof(fencefs_inode, size), 100, "has size 100"},
        {"size of a file", 3, offsetof(fencefs_inode, size), 0, "beyond its size"},
        {"size of a link", 4, offsetof(fencefs_inode, size), 5, "has not the 5 bytes"},
        {"block outside", 3, offsetof(fencefs_inode, block), 5, "has a block 5"},
        {"block of another", 3, offsetof(fencefs_inode, block), super.data_block,
         "belongs to inode"},
    };
    for (const Damage &damage : kDamages) {
        const auto place =
            static_cast<std::streamoff>(kData + super.table_block * FENCEFS_BLOCK +
                                        damage.inode * sizeof(fencefs_inode) + damage.field);
        std::fstream file(pm, std::ios::binary | std::ios::in | std::ios::out);
        std::uint64_t before = 0;
        file.seekg(place).read(bytes_of(before), sizeof(before));
        file.seekp(place)
            .write(reinterpret_cast<const char *>(&damage.value), sizeof(damage.value))
            .flush();
        const CommandResult result = fsck(pm);
        EXPECT_EQ(result.end.code, 1) << damage.name;
        EXPECT_NE(result.output.find(damage.said), std::string::npos)
            << damage.name << ": " << result.output;
        file.seekp(place).write(bytes_of(before), sizeof(before)).flush();
    }
    EXPECT_EQ(fsck(pm).end.code, 0);
    EXPECT_EQ(run_command({FENCEPOST_FENCEFS_FSCK, pm.string(), "7"}).end.code, 2);
    EXPECT_EQ(run_command({FENCEPOST_FENCEFS_FSCK, "/nowhere"}).end.code, 2);
}

} // namespace
} // namespace fencepost::guest
