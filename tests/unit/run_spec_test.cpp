// SPDX-License-Identifier: GPL-2.0-or-later
// Specs: every field is read, every mistake is named with its place, and the reference has them
// all.
#include "replayer/run/spec.h"
#include "replayer/run/spec_examples.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::run {
namespace {

namespace fs = std::filesystem;

class SpecTest : public testing::Test {
protected:
    Spec parse(const std::string &text, FilesFrom files = FilesFrom::spec_directory)
    {
        return parse_spec(text, "x.toml", directory_.path() / "specs", files);
    }
    std::string refusal(const std::string &text, FilesFrom files = FilesFrom::spec_directory)
    {
        try {
            parse(text, files);
        } catch (const Error &error) {
            EXPECT_EQ(error.exit_code(), 2);
            return error.what();
        }
        return "accepted";
    }
    void SetUp() override
    {
        make_directories(directory_.path() / "specs/sub");
        write_file(directory_.path() / "specs/work.sh", "true\n");
        write_file(directory_.path() / "specs/sub/prog", "x");
        write_file(directory_.path() / "secret", "x");
        fs::create_symlink("../secret", directory_.path() / "specs/link");
    }

    TemporaryDirectory directory_{"/tmp", "fp-spec-"};
};

const std::string kWorkload = "[workload]\nkind = \"script\"\ntext = \"true\"\n";

TEST_F(SpecTest, DefaultsAreThoseOfTheReference)
{
    const Spec spec = parse(kWorkload);
    EXPECT_EQ(spec.guest.image, "default");
    EXPECT_EQ(spec.guest.ram, 512u << 20);
    EXPECT_EQ(spec.guest.cpus, 1u);
    ASSERT_EQ(spec.pm.size(), 1u);
    EXPECT_EQ(spec.pm[0], guest::PmConfig());
    EXPECT_FALSE(spec.file_system);
    EXPECT_EQ(spec.workload.time_limit, 60u);
    EXPECT_EQ(spec.workload.host_time_limit, 600u);
    EXPECT_TRUE(spec.workload.system_calls) << "of scripts too";
}

// Long because a spec has that many fields.
TEST_F(SpecTest, ReadsEveryField)
{
    const Spec spec = parse(R"(
[guest]
kernel = "work.sh"
modules = "sub"
module_files = ["sub/prog:a=1"]
initrd_extra = ["sub"]
kernel_arguments = "quiet"
ram = "256M"
cpus = 2
[[pm]]
size = "64M"
attach = "e820"
[[pm]]
size = "32M"
attach = "e820"
[file_system]
type = "nova"
device = 1
mkfs_program = ""
mkfs_options = ["-x"]
mount_options = "a"
first_mount_options = "init"
mount_point = "/mnt/x"
[setup]
script = "mkdir d"
[workload]
kind = "program"
command = ["prog", "1"]
directory = "/mnt/x/d"
environment = { A = "b" }
system_calls = false
unmount = true
time_limit = 5
host_time_limit = 50
[[copy]]
from = "sub/prog"
to = "/bin/prog"
[model]
incidental = ["none", "my_barrier"]
[test]
annotator = "./sub"
)");
    EXPECT_EQ(spec.test.annotator, fs::canonical(directory_.path() / "specs/sub"));
    EXPECT_EQ(parse(kWorkload + "[test]\nannotator = \"ext4\"\n").test.annotator, "ext4");
    EXPECT_EQ(spec.test.incidental, (std::vector<std::string>{"none", "my_barrier"}));
    EXPECT_EQ(spec.guest.kernel, fs::canonical(directory_.path() / "specs/work.sh"));
    EXPECT_EQ(spec.guest.module_files.at(0),
              fs::canonical(directory_.path() / "specs/sub/prog").string() + ":a=1");
    EXPECT_EQ(spec.guest.initrd_extra.size(), 1u);
    EXPECT_EQ(spec.guest.kernel_arguments, "quiet");
    EXPECT_EQ(spec.guest.ram, 256u << 20);
    EXPECT_EQ(spec.guest.cpus, 2u);
    ASSERT_EQ(spec.pm.size(), 2u);
    EXPECT_EQ(spec.pm[1].size, 32u << 20);
    EXPECT_EQ(spec.pm[1].attach, guest::PmAttach::e820);
    EXPECT_EQ(spec.file_system->type, "nova");
    EXPECT_EQ(spec.file_system->device, 1u);
    EXPECT_EQ(spec.file_system->mkfs_program, "");
    EXPECT_EQ(spec.file_system->mkfs_options.at(0), "-x");
    EXPECT_EQ(spec.file_system->mount_options, "a");
    EXPECT_EQ(spec.file_system->first_mount_options, "init");
    EXPECT_EQ(spec.file_system->mount_point, "/mnt/x");
    EXPECT_EQ(spec.setup_script, "mkdir d");
    EXPECT_EQ(spec.workload.kind, WorkloadKind::program);
    EXPECT_EQ(spec.workload.command, (std::vector<std::string>{"prog", "1"}));
    EXPECT_EQ(spec.workload.directory, "/mnt/x/d");
    EXPECT_EQ(spec.workload.environment.at(0), "A=b");
    EXPECT_TRUE(spec.workload.unmount);
    EXPECT_EQ(spec.workload.time_limit, 5u);
    EXPECT_EQ(spec.workload.host_time_limit, 50u);
    EXPECT_EQ(spec.copies.at(0).to, "/bin/prog");
}

// Long because it is a table: a mistake and what is said about it.
TEST_F(SpecTest, NamesTheMistakeAndItsPlace)
{
    const struct {
        std::string text;
        std::string message;
    } rows[] = {
        {"[workload\n", "x.toml:1:10: "},
        {"", "x.toml:1:1: the table [workload] is missing"},
        {std::string("[[\0\0(e\n", 7), "x.toml:1:3: a control character (0x00)"},
        {"# \xc3\xa9\n[guest]\nimage = \"\xc3\xa9\\\"\" \xc3\xa9\n",
         "x.toml:3:16: only strings and comments"},
        {"[[@x]] = 1\n", "x.toml: this is not TOML"},
        {"[guest]\nimage = \"a\x1b\"\n", "x.toml:2:11: a control character (0x1b)"},
        {kWorkload + "[gest]\n", "x.toml:4:2: there is no field 'gest'; a spec has guest, pm,"},
        {kWorkload + "[guest]\ncpu = 1\n",
         "x.toml:5:1: there is no field 'guest.cpu'; guest has image,"},
        {kWorkload + "[guest]\ncpus = 9\n",
         "x.toml:5:8: guest.cpus must be a whole number from 1 to 8"},
        {kWorkload + "[guest]\ncpus = \"1\"\n",
         "x.toml:5:8: guest.cpus must be a whole number from 1 to 8"},
        {kWorkload + "[guest]\nram = \"1\"\n", "x.toml:5:7: guest RAM must be 128M to 2G"},
        {kWorkload + "[guest]\nram = \"lots\"\n", "x.toml:5:7: 'lots' is not a size"},
        {kWorkload + "[guest]\nimage = \"a\"\nkernel = \"work.sh\"\n",
         "x.toml:5:9: a spec has an image, or"},
        {kWorkload + "[pm]\nsize = \"1M\"\n", "x.toml:5:8: a PM device is 16M to 1G large, not 1M"},
        {kWorkload + "[pm]\nattach = \"usb\"\n",
         "x.toml:5:10: PM is attached as 'nvdimm' or 'e820', not 'usb'"},
        {kWorkload + "pm = 3\n", "x.toml:4:1: there is no field 'workload.pm'"},
        {"pm = 3\n" + kWorkload, "x.toml:1:6: pm is a table: write [pm] or [[pm]]"},
        {kWorkload + "[file_system]\n", "x.toml:4:1: file_system.type is needed"},
        {kWorkload + "[file_system]\ntype = \"ext4\"\ndevice = 1\n",
         "x.toml:6:10: file_system.device must be a whole number from 0 to 0"},
        {kWorkload + "[file_system]\ntype = \"ext4\"\nmount_point = \"mnt\"\n",
         "x.toml:6:15: mount_point is an absolute path in the guest"},
        {kWorkload + "[test]\nannotator = \"\"\n", "x.toml:5:13: test.annotator is a name, or"},
        {kWorkload + "[setup]\n", "x.toml:4:1: setup has a script or a file with one"},
        {"[workload]\nkind = \"dance\"\n", "x.toml:2:8: workload.kind is \"script\", \"program\""},
        {"[workload]\nkind = \"script\"\n",
         "x.toml:1:1: a workload of this kind has a text or a file"},
        {"[workload]\nkind = \"program\"\n", "x.toml:1:1: workload.command is needed"},
        {"[workload]\nkind = \"program\"\ncommand = [1]\n",
         "x.toml:3:12: workload.command must be a list of strings such as ["},
        {"[workload]\nkind = \"program\"\ncommand = [\"a\"]\ntext = \"\"\n",
         "x.toml:4:8: a program has a command, and no text"},
        {kWorkload + "command = [\"x\"]\n",
         "x.toml:4:11: only a workload of kind \"program\" has a command"},
        {kWorkload + "environment = { A = 1 }\n",
         "x.toml:4:21: workload.environment must be a table of strings such as { NAME"},
        {kWorkload + "system_calls = 1\n",
         "x.toml:4:16: workload.system_calls must be true or false"},
        {kWorkload + "unmount = true\n", "x.toml:4:11: there is no [file_system] to unmount"},
        {kWorkload + "time_limit = 0\n",
         "x.toml:4:14: workload.time_limit must be a whole number from 1 to 86400"},
        {kWorkload + "[model]\nincidental = \"x\"\n",
         "x.toml:5:14: model.incidental must be a list of strings such as ["},
        {kWorkload + "[model]\nincidental = [\"a b\"]\n",
         "x.toml:5:14: model.incidental has 'a b', which is no function's name"},
        {kWorkload + "[copy]\nfrom = \"work.sh\"\n",
         "x.toml:4:1: copy has 'from', a file of the host"},
        {kWorkload + "[copy]\nfrom = \"nothing\"\nto = \"/x\"\n", "No such file or directory"},
    };
    for (const auto &row : rows) {
        const std::string message = refusal(row.text);
        EXPECT_NE(message.find(row.message), std::string::npos) << row.text << "\n" << message;
    }
}

// A value of a wrong type is answered with one of the right type.
TEST_F(SpecTest, ATypeErrorShowsWhatIsWanted)
{
    for (const std::string &field : spec_fields()) {
        const std::size_t dot = field.find('.');
        const std::string table = field.substr(0, dot);
        const std::string name = field.substr(dot + 1);
        if (name.starts_with("promise")) // a string or a table
            continue;
        const std::string example(example_of(field));
        ASSERT_FALSE(example.empty()) << field;
        const bool scalar =
            example.front() != '"' && example.front() != '[' && example.front() != '{';
        const std::string line = name + " = " + (scalar ? "\"x\"" : "3") + "\n";
        std::string text = kWorkload;
        if (table != "workload")
            text += "[" + table + "]\n";
        if (table == "file_system" && name != "type")
            text += "type = \"ext4\"\n";
        if (field == "copy.to")
            text += "from = \"work.sh\"\n";
        if (name == "kind" || name == "text" || name == "file" || name == "command")
            text = table == "workload" ? "[workload]\n" : text;
        if (field == "workload.text" || field == "workload.file")
            text += "kind = \"script\"\n";
        if (field == "workload.command")
            text += "kind = \"program\"\n";
        if (field == "copy.from")
            text += "to = \"/x\"\n";
        const std::string message = refusal(text + line);
        EXPECT_NE(message.find(field + " must be "), std::string::npos) << text << line << message;
        if (!scalar) {
            EXPECT_TRUE(message.ends_with(" such as " + example)) << message;
        }
    }
    EXPECT_NE(
        refusal(kWorkload + "[pm]\nsize = 128\n").find("pm.size must be a string such as \"128M\""),
        std::string::npos);
}

TEST_F(SpecTest, FilesStayBelowTheSpec)
{
    for (const std::string &path :
         {std::string("../secret"), std::string("link"), (directory_.path() / "secret").string()}) {
        const std::string text = kWorkload + "[copy]\nfrom = \"" + path + "\"\nto = \"/x\"\n";
        EXPECT_NE(refusal(text).find("is not below the spec's directory"), std::string::npos)
            << path;
        EXPECT_EQ(refusal(text, FilesFrom::anywhere), "accepted") << path;
    }
    EXPECT_EQ(refusal(kWorkload + "[copy]\nfrom = \"sub/../work.sh\"\nto = \"/x\"\n"), "accepted");
}

TEST_F(SpecTest, AWorkloadKnowsItsLine)
{
    EXPECT_EQ(parse("[workload]\nkind = \"script\"\ntext = \"\"\"\na\nb\n\"\"\"\n")
                  .workload.source.first_line,
              4u);
    EXPECT_EQ(parse("[workload]\nkind = \"script\"\ntext = \"\"\"a\nb\n\"\"\"\n")
                  .workload.source.first_line,
              3u);
    const SourceText source =
        parse("[workload]\nkind = \"script\"\nfile = \"work.sh\"\n").workload.source;
    EXPECT_EQ(source.name, "work.sh");
    EXPECT_EQ(source.text, "true\n");
}

// The reference has a row for each field: | `table.field` | …
TEST(SpecReference, HasEveryField)
{
    const std::string reference = read_file(fs::path(FENCEPOST_SOURCE) / "docs/reference/spec.md");
    for (const std::string &field : spec_fields())
        EXPECT_NE(reference.find("| `" + field + "` |"), std::string::npos) << field;
}

} // namespace
} // namespace fencepost::run
