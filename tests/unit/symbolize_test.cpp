// SPDX-License-Identifier: GPL-2.0-or-later
// Programs compiled here, as they would be loaded in a guest: every address gets the name that nm
// gives it, and the line that the compiler put there.
#include "analyzer/symbols/symbolize.h"

#include <algorithm>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "analyzer/symbols/elf_code.h"
#include "base/child_process.h"
#include "base/files.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace fencepost::symbols {
namespace {

namespace fs = std::filesystem;
using namespace trace;

constexpr char kProgram[] = "__attribute__((noinline)) int first(int x)\n" // line 1
                            "{\n"
                            "    return x * 3 + 1;\n" // line 3
                            "}\n"
                            "__attribute__((noinline)) static int second(int x)\n"
                            "{\n"
                            "    return first(x) ^ 5;\n" // line 7
                            "}\n"
                            "int main(int argc, char **argv)\n"
                            "{\n"
                            "    (void)argv;\n"
                            "    return second(argc);\n"
                            "}\n";

struct NmSymbol {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};

class Symbolize : public testing::Test {
protected:
    fs::path compile(const std::string &name, std::vector<std::string> options) const
    {
        const fs::path source = directory_.path() / "program.c";
        write_file(source, kProgram);
        std::vector<std::string> command = {"cc", "-O1", "-o", directory_.path() / name, source};
        command.insert(command.end(), options.begin(), options.end());
        run(command);
        return directory_.path() / name;
    }

    static std::string run(const std::vector<std::string> &command)
    {
        const CommandResult result = run_command(command);
        EXPECT_TRUE(result.success()) << command[0] << ": " << result.errors;
        return result.output;
    }

    // The independent opinion.
    static NmSymbol nm(const fs::path &file, const std::string &name)
    {
        std::istringstream lines(run({"nm", "-S", file}));
        for (std::string line; std::getline(lines, line);)
            if (line.ends_with(" " + name))
                return {std::stoull(line.substr(0, 16), nullptr, 16),
                        std::stoull(line.substr(17, 16), nullptr, 16)};
        ADD_FAILURE() << "nm does not know " << name;
        return {};
    }

    static std::unique_ptr<ElfCode> open(const fs::path &file)
    {
        auto code = ElfCode::open(read_file(file));
        EXPECT_TRUE(code) << file;
        return code;
    }

    static std::string function(ElfCode &code, std::uint64_t address)
    {
        const CodeSymbol *found = code.function_at(address);
        return found ? found->name : "-";
    }

    fs::path trace() const { return directory_.path() / "trace.db"; }

    static std::string rows(const fs::path &trace, const std::string &sql)
    {
        const TraceReader reader(trace);
        std::string result;
        for (Statement row(reader.connection(), sql); row.step();)
            result.append(row.text(0)).append("\n");
        return result;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "symbolize"};
};

TEST_F(Symbolize, EveryFormOfProgram)
{
    const std::vector<std::string> forms[] = {{"-no-pie"},          {"-pie", "-fPIE"},
                                              {"-static"},          {"-static-pie", "-fPIE"},
                                              {"-shared", "-fPIC"}, {"-g", "-pie", "-fPIE"},
                                              {"-g", "-static"},    {"-g", "-gdwarf-4", "-no-pie"}};
    for (const auto &form : forms) {
        SCOPED_TRACE(form[0] + " " + form.back());
        const fs::path file = compile("program", form);
        const auto code = open(file);
        for (const std::string name : {"first", "second", "main"}) {
            const NmSymbol expected = nm(file, name);
            ASSERT_GT(expected.size, 1u);
            EXPECT_EQ(function(*code, expected.address), name);
            EXPECT_EQ(function(*code, expected.address + expected.size - 1), name);
            EXPECT_NE(function(*code, expected.address + expected.size), name);
            EXPECT_NE(function(*code, expected.address - 1), name);
        }
        const auto line = code->line_at(nm(file, "first").address);
        EXPECT_EQ(line.has_value(), form[0] == "-g");
        if (line) {
            EXPECT_TRUE(line->file.ends_with("program.c")) << line->file;
            EXPECT_TRUE(line->line == 2 || line->line == 3) << line->line;
        }
        EXPECT_FALSE(code->line_at(1).has_value());
    }
}

TEST_F(Symbolize, StrippedProgramsAndTheirDebugFiles)
{
    const fs::path full = compile("full", {"-g", "-pie", "-fPIE", "-Wl,--build-id"});
    const fs::path stripped = directory_.path() / "stripped";
    run({"strip", "-o", stripped, full});
    const NmSymbol second = nm(full, "second");
    const auto code = open(stripped);
    EXPECT_NE(function(*code, second.address), "second");
    EXPECT_FALSE(code->has_debug_lines());
    ASSERT_EQ(code->build_id().size(), 40u);
    EXPECT_EQ(code->build_id(), open(full)->build_id());
    const fs::path debug = directory_.path() / "debug";
    run({"objcopy", "--only-keep-debug", full, debug});
    code->add_debug_file(open(debug));
    EXPECT_EQ(function(*code, second.address), "second");
    EXPECT_EQ(function(*code, second.address + second.size - 1), "second");
    ASSERT_TRUE(code->line_at(second.address));
}

TEST_F(Symbolize, DamagedFilesAreHarmless)
{
    const std::string good = read_file(compile("program", {"-g", "-no-pie"}));
    EXPECT_FALSE(ElfCode::open(""));
    EXPECT_FALSE(ElfCode::open("\x7f"
                               "ELF"));
    std::string other = good;
    other[18] = 3; // e_machine: i386
    EXPECT_FALSE(ElfCode::open(other));
    const auto use = [](std::string bytes) {
        const auto code = ElfCode::open(std::move(bytes));
        if (!code)
            return;
        for (const std::uint64_t address : {0x401000ull, 0x401126ull, 0x401136ull, 0ull}) {
            code->function_at(address);
            code->line_at(address);
        }
    };
    for (std::size_t size = 1; size < good.size(); size += 97)
        use(good.substr(0, size));
    std::mt19937_64 random(3);
    for (int round = 0; round < 1500; ++round) {
        std::string bytes = good;
        // The headers at both ends decide most; hit them more often.
        for (int i = 0; i < 4; ++i) {
            const std::size_t span =
                random() % 3 ? std::min<std::size_t>(bytes.size(), 2048) : bytes.size();
            const std::size_t at = random() % span;
            bytes[random() % 2 ? at : bytes.size() - 1 - at] = static_cast<char>(random());
        }
        use(std::move(bytes));
    }
}

// A guest's kernel, two processes (one forked), a program at a bias, and a library mapped by hand.
// Long because it follows one trace from end to end.
TEST_F(Symbolize, ATraceFromEndToEnd)
{
    const fs::path program = compile("program", {"-g", "-O0", "-pie", "-fPIE"});
    const std::string mangled = "_ZN3log5firstEi";
    const fs::path library = compile("lib.so", {"-shared", "-fPIC", "-Dfirst=" + mangled});
    const std::uint64_t program_bias = 0x555555554000;
    const auto library_code = open(library);
    const auto text = std::ranges::find(library_code->segments(), true, &Segment::executable);
    ASSERT_NE(text, library_code->segments().end());
    const std::uint64_t map_offset = text->offset / 4096 * 4096;
    const std::uint64_t map_start = 0x7ffff7000000;
    const NmSymbol in_program = nm(program, "second");
    const NmSymbol in_library = nm(library, mangled);
    const std::uint64_t library_pc =
        map_start + in_library.address - (text->address - text->offset + map_offset);

    {
        TraceWriter writer = TraceWriter::create(trace());
        EventBuffer buffer(8);
        buffer.push_marker({.kind = EventKind::marker, .subkind = 11}, // process_start
                           {.process = 0x1000,
                            .arguments = {program_bias + 64, program_bias + open(program)->entry(),
                                          0x7ffff7fc0000},
                            .text = "/bin/script"});
        buffer.push_marker({.kind = EventKind::marker, .subkind = 13}, // note
                           {.process = 0x1000,
                            .arguments = {map_start, 0x100000, map_offset},
                            .text = "map /lib/lib.so"});
        buffer.push_marker({.kind = EventKind::marker, .subkind = 13},
                           {.process = 0x1000, .arguments = {1, 2, 3}, .text = "map /lib/none.so"});
        writer.append(buffer);
        writer.put_site({.id = 1, .pc = 0xffffffffc0300054, .module = "kernel"});
        writer.put_site({.id = 2,
                         .pc = program_bias + in_program.address,
                         .privilege = Privilege::user,
                         .address_space = 0x1000});
        writer.put_site(
            {.id = 3, .pc = library_pc, .privilege = Privilege::user, .address_space = 0x1000});
        writer.put_site({.id = 4, // a fork of it
                         .pc = program_bias + in_program.address,
                         .privilege = Privilege::user,
                         .address_space = 0x2000});
        writer.put_site(
            {.id = 5, .pc = 0x1234, .privilege = Privilege::user, .address_space = 0x1000});
        writer.put_stack_frame({.id = 1, .pc = 0xffffffff81000001, .module = ""});
        writer.put_stack_frame({.id = 2,
                                .pc = program_bias + nm(program, "main").address,
                                .privilege = Privilege::user,
                                .address_space = 0x1000});
        writer.finish(RecordingState::complete, "");
    }
    write_file(directory_.path() / "kallsyms", "ffffffff81000000 T do_syscall_64\n"
                                               "ffffffff81000100 T _etext\n"
                                               "ffffffffc0300050 t ext4_write\t[ext4]\n");
    write_file(directory_.path() / "modules", "ext4 256 1 - Live 0xffffffffc0300000\n");
    write_file(directory_.path() / "script", "#! /bin/program -x\nhello\n");
    const SymbolSources sources = {.kallsyms = directory_.path() / "kallsyms",
                                   .modules = directory_.path() / "modules",
                                   .files = {{"/bin/program", program},
                                             {"/bin/script", directory_.path() / "script"},
                                             {"/lib/lib.so", library}}};
    const std::string site_names =
        "SELECT site||' '||function||' '||coalesce(offset,'-')||' '||module||"
        "' '||coalesce(source_line,'-') FROM site_name";
    for (int round = 0; round < 2; ++round) { // again: the same
        const SymbolizeReport report = symbolize_trace(trace(), sources);
        EXPECT_EQ(report.sites, 5u);
        EXPECT_EQ(report.named_sites, 4u);
        EXPECT_EQ(report.located_sites, 2u);
        EXPECT_EQ(report.named_frames, 2u);
        EXPECT_EQ(report.symbols, 5u);
        EXPECT_EQ(report.notes.size(), 2u) << testing::PrintToString(report.notes);
        EXPECT_EQ(rows(trace(), site_names), "1 ext4_write 4 ext4 -\n"
                                             "2 second 0 /bin/program 6\n"
                                             "3 log::first 0 /lib/lib.so -\n"
                                             "4 second 0 /bin/program 6\n"
                                             "5 0x1234 -  -\n");
        EXPECT_EQ(
            rows(
                trace(),
                "SELECT s.name||' '||f.module FROM stack_frame f JOIN symbol s ON s.id = f.symbol"),
            "do_syscall_64 kernel\nmain /bin/program\n");
        EXPECT_EQ(
            rows(trace(), "SELECT value FROM data_quality WHERE name = 'sites_without_symbol'"),
            "1\n");
    }
    // With nothing to go by, the old names are gone.
    const SymbolizeReport report = symbolize_trace(trace(), {});
    EXPECT_EQ(report.named_sites, 0u);
    EXPECT_EQ(rows(trace(), "SELECT count(*) FROM symbol"), "0\n");
    EXPECT_EQ(rows(trace(), "SELECT count(*) FROM site WHERE symbol IS NOT NULL OR source_line"),
              "0\n");
}

TEST_F(Symbolize, AProgramOfTheSameNameIsNotTaken)
{
    const fs::path program = compile("program", {"-pie", "-fPIE"});
    {
        TraceWriter writer = TraceWriter::create(trace());
        EventBuffer buffer(8);
        buffer.push_marker({.kind = EventKind::marker, .subkind = 11},
                           {.process = 0x1000,
                            .arguments = {0, 0x555555554000 + open(program)->entry() + 16, 0},
                            .text = "/bin/program"});
        writer.append(buffer);
        writer.put_site({.id = 1,
                         .pc = 0x555555554000 + nm(program, "first").address,
                         .privilege = Privilege::user,
                         .address_space = 0x1000});
        writer.finish(RecordingState::complete, "");
    }
    const SymbolizeReport report = symbolize_trace(trace(), {.files = {{"/bin/program", program}}});
    EXPECT_EQ(report.named_sites, 0u);
    EXPECT_EQ(report.notes.size(), 1u);
}

} // namespace
} // namespace fencepost::symbols
