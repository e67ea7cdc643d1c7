// SPDX-License-Identifier: GPL-2.0-or-later
// Modules: what they say, in which order they load, and which are refused.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "guest-images/image/build_request.h"
#include "guest-images/image/elf_file.h"
#include "guest-images/image/module_catalog.h"
#include "guest-images/image/module_info.h"
#include "guest-images/image/module_order.h"
#include "tests/unit/image_fixtures.h"

namespace fencepost::images {
namespace {

using Names = std::vector<std::string>;

TEST(ModuleInfo, ReadsWhatMatters)
{
    const std::string bytes = make_module_for(
        "6.1.0-test", "jbd2,mbcache,crc-16",
        {"softdep=pre: crc32c  blake2b-256 post: late pre: again", "parm=size:how large",
         "parmtype=size:int", "parmtype=flag:bool", "name=x", "odd"});
    const ModuleInfo info = parse_module_info(bytes, "x.ko");
    EXPECT_EQ(info.release, "6.1.0-test");
    EXPECT_EQ(info.depends, (Names{"jbd2", "mbcache", "crc_16"}));
    EXPECT_EQ(info.soft_depends, (Names{"crc32c", "blake2b_256", "again"}));
    EXPECT_EQ(info.parameters, (Names{"size", "flag"}));
}

TEST(ModuleInfo, NoDependenciesIsEmpty)
{
    EXPECT_TRUE(parse_module_info(make_module_for("6.1", ""), "x.ko").depends.empty());
}

TEST(ModuleInfo, NamesComeFromFiles)
{
    EXPECT_EQ(module_name("/a/nd-pmem.ko"), "nd_pmem");
    EXPECT_EQ(module_name("xfs.ko.xz"), "xfs");
    EXPECT_EQ(module_name("xfs.ko.zst"), "xfs");
    EXPECT_EQ(module_name("xfs.ko.gz"), "xfs");
    EXPECT_EQ(module_name("xfs.o"), "");
    EXPECT_EQ(module_name("modules.builtin"), "");
    EXPECT_EQ(module_name("white space.ko"), "");
}

TEST(ModuleInfo, RefusesWhatIsNoModule)
{
    std::string executable = make_module_for("6.1", "");
    executable[16] = ET_EXEC;
    std::string other_machine = make_module_for("6.1", "");
    other_machine[18] = EM_386;
    for (const std::string &bytes : {std::string(), std::string("text"), executable, other_machine,
                                     make_module({"license=GPL"})})
        error_of(ErrorKind::usage, [&] { parse_module_info(bytes, "x.ko"); });
}

TEST(ModuleInfo, TruncatedFilesAreRefused)
{
    const std::string whole = make_module_for("6.1.0-test", "a,b");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<long>(size));
        error_of(ErrorKind::usage, [&] { parse_module_info({part.data(), part.size()}, "x.ko"); });
    }
}

// Any outcome is right as long as nothing outside the file is read; a sanitizer build sees that.
TEST(ModuleInfo, CorruptedFilesAreSurvived)
{
    const std::string whole = make_module_for("6.1.0-test", "a,b");
    std::mt19937 random(1);
    int refused = 0;
    for (int round = 0; round < 20000; ++round) {
        std::vector<char> bytes(whole.begin(), whole.end());
        for (int change = 0; change < 3; ++change)
            bytes[random() % bytes.size()] = static_cast<char>(random() % 4 ? random() : 0xff);
        const std::string_view view(bytes.data(), bytes.size());
        if (const auto elf = ElfFile::parse(view)) {
            elf->needed();
            elf->interpreter();
        }
        try {
            parse_module_info(view, "x.ko");
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
}

TEST(ElfFile, ReadsNeededLibrariesOfARealProgram)
{
    const std::string bytes = read_file("/proc/self/exe");
    const auto elf = ElfFile::parse(bytes);
    ASSERT_TRUE(elf);
    EXPECT_FALSE(elf->relocatable());
    const Names needed = elf->needed();
    EXPECT_NE(std::find(needed.begin(), needed.end(), "libc.so.6"), needed.end());
    ASSERT_TRUE(elf->interpreter());
    EXPECT_NE(elf->interpreter()->find("ld-linux"), std::string::npos);
}

TEST(ElfFile, CorruptedProgramsAreSurvived)
{
    const std::string whole = read_file("/proc/self/exe").substr(0, 200000);
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        std::vector<char> bytes(
            whole.begin(), whole.begin() + static_cast<long>(64 + random() % (whole.size() - 64)));
        // The ELF header and the program headers are what steers the reader.
        for (int change = 0; change < 8; ++change)
            bytes[16 + random() % std::min<std::size_t>(bytes.size() - 16, 800)] =
                static_cast<char>(random());
        if (const auto elf = ElfFile::parse({bytes.data(), bytes.size()})) {
            elf->needed();
            elf->interpreter();
            elf->section(".modinfo");
        }
    }
}

class Graph {
public:
    void file(const std::string &name, Names depends = {}, Names soft = {})
    {
        nodes_[name] = {ModulePresence::file, depends, soft};
    }
    void built_in(const std::string &name) { nodes_[name] = {ModulePresence::built_in}; }

    LoadOrder order(const std::vector<WantedModule> &wanted) const
    {
        return load_order(wanted, [&](const std::string &name) {
            const auto found = nodes_.find(name);
            return found == nodes_.end() ? ModuleNode() : found->second;
        });
    }

private:
    std::map<std::string, ModuleNode> nodes_;
};

TEST(ModuleOrder, DependenciesComeFirstAndOnce)
{
    Graph graph;
    graph.file("nfit", {"libnvdimm"});
    graph.file("nd_pmem", {"libnvdimm", "nd_btt"});
    graph.file("nd_btt", {"libnvdimm"});
    graph.file("libnvdimm");
    EXPECT_EQ(graph.order({{"nfit"}, {"nd_pmem"}, {"nd_btt"}}).modules,
              (Names{"libnvdimm", "nfit", "nd_btt", "nd_pmem"}));
}

TEST(ModuleOrder, SoftDependenciesComeFirstWhereTheyExist)
{
    Graph graph;
    graph.file("xfs", {"libcrc32c"}, {"crc32c_intel", "nowhere"});
    graph.file("libcrc32c");
    graph.file("crc32c_intel");
    EXPECT_EQ(graph.order({{"xfs"}}).modules, (Names{"crc32c_intel", "libcrc32c", "xfs"}));
}

TEST(ModuleOrder, ASoftDependencyThatCannotLoadIsIgnoredWithAllItPulledIn)
{
    Graph graph;
    graph.file("xfs", {}, {"soft"});
    graph.file("soft", {"first", "nowhere"});
    graph.file("first");
    const LoadOrder order = graph.order({{"xfs"}});
    EXPECT_EQ(order.modules, (Names{"xfs"}));
    EXPECT_TRUE(order.left_out.empty());
}

TEST(ModuleOrder, BuiltInAndAbsentAreNoConcernUnlessRequired)
{
    Graph graph;
    graph.built_in("ext4");
    graph.file("top", {"ext4"});
    const LoadOrder order = graph.order({{"ext4"}, {"absent"}, {"top"}});
    EXPECT_EQ(order.modules, (Names{"top"}));
    EXPECT_TRUE(order.left_out.empty());
    error_of(ErrorKind::usage, [&] { graph.order({{"absent", true}}); });
}

TEST(ModuleOrder, AMissingDependencyLeavesOutOrFails)
{
    Graph graph;
    graph.file("top", {"there", "middle"});
    graph.file("there");
    graph.file("middle", {"nowhere"});
    graph.file("other");
    const LoadOrder order = graph.order({{"top"}, {"other"}});
    EXPECT_EQ(order.modules, (Names{"other"}));
    ASSERT_EQ(order.left_out.size(), 1u);
    EXPECT_EQ(order.left_out[0].name, "top");
    EXPECT_EQ(order.left_out[0].reason, "middle depends on the module nowhere, which is not there");
    error_of(ErrorKind::usage, [&] { graph.order({{"top", true}}); });
    // The second failure is explained by the same cause, not by the walk that failed before it.
    graph.file("above", {"top"});
    const LoadOrder both = graph.order({{"top"}, {"above"}});
    ASSERT_EQ(both.left_out.size(), 2u);
    EXPECT_EQ(both.left_out[1].reason, both.left_out[0].reason);
}

TEST(ModuleOrder, CyclesAreFoundNotFollowed)
{
    Graph graph;
    graph.file("a", {"b"});
    graph.file("b", {"c"});
    graph.file("c", {"a"});
    graph.file("self", {"self"});
    graph.file("fine");
    const LoadOrder order = graph.order({{"a"}, {"self"}, {"fine"}});
    EXPECT_EQ(order.modules, (Names{"fine"}));
    EXPECT_EQ(order.left_out.size(), 2u);
    EXPECT_NE(error_of(ErrorKind::usage,
                       [&] {
                           graph.order({{"a", true}});
                       })
                  .find("depend on each other"),
              std::string::npos);
}

TEST(ModuleOrder, ASoftCycleIsNoCycle)
{
    Graph graph;
    graph.file("a", {}, {"b"});
    graph.file("b", {}, {"a"});
    EXPECT_EQ(graph.order({{"a"}}).modules, (Names{"b", "a"}));
}

using Catalog = ImageTest;

TEST_F(Catalog, FindsByNameAndKnowsWhatIsBuiltIn)
{
    put("m/kernel/fs/xfs.ko", make_module_for("6.1", "libcrc32c"));
    put("m/kernel/lib/nd-pmem.ko", make_module_for("6.1", ""));
    put("m/modules.builtin", "kernel/fs/ext4/ext4.ko\nkernel/lib/lib-crc.ko\n");
    ModuleCatalog catalog("6.1");
    catalog.add_directory(directory_.path() / "m");
    EXPECT_EQ(catalog.node("xfs").presence, ModulePresence::file);
    EXPECT_EQ(catalog.node("xfs").depends, (Names{"libcrc32c"}));
    EXPECT_EQ(catalog.node("nd_pmem").presence, ModulePresence::file);
    EXPECT_EQ(catalog.node("ext4").presence, ModulePresence::built_in);
    EXPECT_EQ(catalog.node("lib_crc").presence, ModulePresence::built_in);
    EXPECT_EQ(catalog.node("zfs").presence, ModulePresence::absent);
}

TEST_F(Catalog, AFileTakesThePlaceOfWhatTheDirectoryHas)
{
    put("m/xfs.ko", make_module_for("6.1", "old"));
    put("m/modules.builtin", "kernel/fs/ext4/ext4.ko\n");
    ModuleCatalog catalog("6.1");
    catalog.add_directory(directory_.path() / "m");
    catalog.add_file(put("mine/xfs.ko", make_module_for("6.1", "new")));
    catalog.add_file(put("mine/ext4.ko", make_module_for("6.1", "")));
    EXPECT_EQ(catalog.node("xfs").depends, (Names{"new"}));
    EXPECT_EQ(catalog.node("ext4").presence, ModulePresence::file);
}

TEST_F(Catalog, AModuleForAnotherKernelIsRefused)
{
    ModuleCatalog catalog("6.1.0-54");
    catalog.add_file(put("xfs.ko", make_module_for("6.1.0-53", "")));
    EXPECT_NE(
        error_of(ErrorKind::usage, [&] { catalog.node("xfs"); }).find("is for kernel 6.1.0-53"),
        std::string::npos);
}

TEST_F(Catalog, CompressedModulesAreRead)
{
    const auto plain = put("xfs.ko", make_module_for("6.1", "a"));
    ASSERT_EQ(std::system(("gzip -k " + plain.string()).c_str()), 0);
    EXPECT_EQ(read_module(plain.string() + ".gz"), read_file(plain));
    error_of(ErrorKind::usage, [&] { read_module(put("bad.ko.gz", "not compressed")); });
}

TEST_F(Catalog, TheDigestSeesNewModulesAndBuiltIns)
{
    const auto directory = directory_.path() / "m";
    put("m/a.ko", "");
    const std::string before = modules_digest(directory);
    EXPECT_EQ(before, modules_digest(directory));
    put("m/b.ko", "");
    const std::string with_module = modules_digest(directory);
    EXPECT_NE(before, with_module);
    put("m/modules.builtin", "kernel/x.ko\n");
    EXPECT_NE(with_module, modules_digest(directory));
}

using Request = ImageTest;

TEST_F(Request, ModuleArgumentsMayHaveParameters)
{
    const std::string file = put("a.ko", "");
    EXPECT_EQ(parse_module_request(file), (ModuleRequest{file, {}}));
    EXPECT_EQ(parse_module_request(file + ":size=1,sizes=1,2,3,path=a:b"),
              (ModuleRequest{file, {"size=1", "sizes=1,2,3", "path=a:b"}}));
    const std::string odd = put("with:colon.ko", "");
    EXPECT_EQ(parse_module_request(odd + ":x=1"), (ModuleRequest{odd, {"x=1"}}));
}

TEST_F(Request, BadModuleArgumentsAreRefused)
{
    const std::string file = put("a.ko", "");
    for (const std::string &text : {file + ":", file + ":x", file + ":=1", file + ":a=b c",
                                    file + ":a=1\n", directory_.path().string() + "/none.ko:x=1"})
        error_of(ErrorKind::usage, [&] { parse_module_request(text); });
}

} // namespace
} // namespace fencepost::images
