// SPDX-License-Identifier: GPL-2.0-or-later
// Optimized programs compiled here: what is inlined at each of their instructions is what
// addr2line -i says, and findings are at the user's own line.
#include "analyzer/symbols/elf_code.h"

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "analyzer/symbols/code_names.h"
#include "analyzer/symbols/readable_name.h"
#include "analyzer/symbols/symbolize.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "trace/amendment.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace fencepost::symbols {
namespace {

namespace fs = std::filesystem;
using namespace trace;

constexpr char kC[] = "#include <immintrin.h>\n" // line 1
                      "#include <string.h>\n"
                      "struct entry { long size; long data[7]; };\n"
                      "static inline void persist(void *at)\n"
                      "{\n"
                      "    _mm_clwb(at);\n" // line 6
                      "    _mm_sfence();\n"
                      "}\n"
                      "static inline void put(struct entry *entry, long size)\n"
                      "{\n"
                      "    entry->size = size;\n"
                      "    persist(entry);\n" // line 12
                      "}\n"
                      "__attribute__((noinline)) void append(struct entry *log, long count)\n"
                      "{\n"
                      "    for (long i = 0; i < count; ++i)\n"
                      "        put(log + i, i);\n" // line 17
                      "}\n"
                      "int main(int argc, char **argv)\n"
                      "{\n"
                      "    static struct entry log[64];\n"
                      "    append(log, argc);\n"
                      "    memset(log + argc, argv[0][0], sizeof *log);\n"
                      "    return (int)log[argc].size;\n"
                      "}\n";

constexpr char kCpp[] = "#include <algorithm>\n" // line 1
                        "#include <vector>\n"
                        "#include <immintrin.h>\n"
                        "namespace pm {\n"
                        "template <typename T> class persistent {\n"
                        "public:\n"
                        "    persistent &operator=(T value)\n"
                        "    {\n"
                        "        value_ = value;\n"
                        "        flush();\n" // line 10
                        "        return *this;\n"
                        "    }\n"
                        "    T value_;\n"
                        "private:\n"
                        "    void flush() { _mm_clwb(this); }\n" // line 15
                        "};\n"
                        "struct list {\n"
                        "    persistent<long> head, tail;\n"
                        "    void link(long at) { head = at; tail = at + 1; }\n" // line 19
                        "};\n"
                        "}\n"
                        "__attribute__((noinline)) void fill(std::vector<pm::list> &lists)\n"
                        "{\n"
                        "    std::for_each(lists.begin(), lists.end(),\n"
                        "                  [n = 0L](pm::list &list) mutable { list.link(n++); });\n"
                        "}\n"
                        "int main(int argc, char **)\n"
                        "{\n"
                        "    std::vector<pm::list> lists(argc);\n"
                        "    fill(lists);\n"
                        "    return (int)lists[0].tail.value_;\n"
                        "}\n";

// Much of the standard library, inlined.
constexpr char kWords[] = "#include <algorithm>\n"
                          "#include <map>\n"
                          "#include <string>\n"
                          "#include <vector>\n"
                          "static bool shorter(const std::string &a, const std::string &b)\n"
                          "{\n"
                          "    return a.size() < b.size();\n"
                          "}\n"
                          "int main(int argc, char **argv)\n"
                          "{\n"
                          "    std::map<std::string, std::vector<int>> words;\n"
                          "    for (int i = 0; i < argc; ++i)\n"
                          "        words[argv[i]].push_back(i);\n"
                          "    std::vector<std::string> sorted;\n"
                          "    for (auto &[word, at] : words)\n"
                          "        sorted.push_back(word + std::to_string(at.size()));\n"
                          "    std::sort(sorted.begin(), sorted.end(), shorter);\n"
                          "    return (int)sorted.front().size();\n"
                          "}\n";

struct Frame {
    std::string function;
    SourceLine line;

    // Of a destructor's symbols for one address anyone may be taken, and main.cold is main.
    static std::string plain(const std::string &name)
    {
        return readable_name(name.substr(0, name.find('.')));
    }

    bool operator==(const Frame &other) const
    {
        return plain(function) == plain(other.function) && line.line == other.line.line &&
               fs::path(line.file).lexically_normal() ==
                   fs::path(other.line.file).lexically_normal();
    }
};

void PrintTo(const Frame &frame, std::ostream *out)
{
    *out << frame.function << " " << frame.line.file << ":" << frame.line.line;
}

using Frames = std::vector<Frame>; // the innermost first

class InlinedFrames : public testing::Test {
protected:
    fs::path compile(const std::string &compiler, const std::string &source_name, const char *text,
                     const std::vector<std::string> &options) const
    {
        const fs::path source = directory_.path() / source_name;
        write_file(source, text);
        const fs::path program = directory_.path() / "program";
        std::vector<std::string> command = {compiler, "-O2", "-g", "-mclwb", "-o", program, source};
        command.insert(command.end(), options.begin(), options.end());
        run(command);
        return program;
    }

    static std::string run(const std::vector<std::string> &command)
    {
        const CommandResult result = run_command(command);
        EXPECT_TRUE(result.success()) << command[0] << ": " << result.errors;
        return result.output;
    }

    // Every instruction of the program's own text, as objdump lists them: its text.
    static std::map<std::uint64_t, std::string> instructions(const fs::path &program)
    {
        std::map<std::uint64_t, std::string> found;
        std::istringstream lines(
            run({"objdump", "-d", "--no-show-raw-insn", "-j", ".text", program}));
        for (std::string line; std::getline(lines, line);)
            if (const std::size_t colon = line.find(":\t"); colon != std::string::npos)
                found[std::stoull(line.substr(0, colon), nullptr, 16)] = line.substr(colon + 2);
        return found;
    }

    static std::uint64_t address_of(const fs::path &program, const std::string &instruction)
    {
        for (const auto &[address, text] : instructions(program))
            if (text.starts_with(instruction))
                return address;
        ADD_FAILURE() << program << " has no " << instruction;
        return 0;
    }

    static SourceLine line_of(const std::string &text)
    {
        const std::size_t colon = text.rfind(':');
        const std::string number = text.substr(colon + 1);
        return {text.substr(0, colon),
                number.starts_with('?') ? 0 : static_cast<std::uint32_t>(std::stoul(number))};
    }

    // The independent opinion.
    std::map<std::uint64_t, Frames>
    addr2line(const fs::path &program, const std::map<std::uint64_t, std::string> &addresses) const
    {
        const fs::path list = directory_.path() / "addresses";
        std::string input;
        for (const auto &each : addresses)
            input += fmt::format("{:x}\n", each.first);
        write_file(list, input);
        std::map<std::uint64_t, Frames> found;
        std::istringstream lines(
            run({"addr2line", "-a", "-i", "-f", "-e", program, "@" + list.string()}));
        Frames *frames = nullptr;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("0x")) {
                frames = &found[std::stoull(line, nullptr, 16)];
                continue;
            }
            std::string place;
            if (!frames || !std::getline(lines, place))
                break;
            frames->push_back({line, line_of(place.substr(0, place.find(" (discr")))});
        }
        return found;
    }

    static Frames ours(ElfCode &code, std::uint64_t address)
    {
        const auto place = code.place_at(address);
        const CodeSymbol *symbol = code.function_at(address);
        if (!place || !symbol)
            return {};
        Frames frames;
        SourceLine line = place->line;
        for (const InlinedFrame &frame : place->inlined) {
            frames.push_back({frame.function, line});
            line = frame.call;
        }
        frames.push_back({symbol->name, line});
        return frames;
    }

    // addr2line of binutils 2.40 takes a line of a header for one of the source, which is shorter,
    // and the symbol's name for that of an inlined function without a linkage name.
    void forgive(Frames &ours, const Frames &expected, std::uint32_t source_lines) const
    {
        if (ours.size() != expected.size())
            return;
        if (expected.front().function == expected.back().function)
            ours.front().function = expected.front().function;
        for (std::size_t i = 0; i < ours.size(); ++i)
            if (expected[i].line.line > source_lines && ours[i].line.line > source_lines &&
                fs::path(expected[i].line.file).parent_path() == directory_.path())
                ours[i].line.file = expected[i].line.file;
    }

    // Instructions in at least two functions, the deepest and how many there were.
    std::pair<std::size_t, std::size_t> compare(const fs::path &program,
                                                const std::string &text) const
    {
        const auto source_lines =
            static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
        const auto code = ElfCode::open(read_file(program));
        std::size_t inlined = 0;
        std::size_t deepest = 0;
        const auto addresses = instructions(program);
        for (const auto &[address, expected] : addr2line(program, addresses)) {
            // Start-up code without debug information, and what fills up between functions.
            if (expected.back().line.line == 0 || !code->function_at(address))
                continue;
            Frames frames = ours(*code, address);
            forgive(frames, expected, source_lines);
            EXPECT_EQ(frames, expected) << fmt::format("{:x}", address);
            inlined += frames.size() > 1;
            deepest = std::max(deepest, frames.size());
        }
        return {inlined, deepest};
    }

    // A trace with one event, executed by the instruction, named from the program.
    EventPlace place_in_trace(const fs::path &program, std::uint64_t address) const
    {
        constexpr std::uint64_t kBias = 0x555555554000;
        constexpr std::uint64_t kProcess = 0x1000;
        const fs::path path = directory_.path() / "trace.db";
        {
            TraceWriter writer = TraceWriter::create(path);
            EventBuffer buffer(8);
            buffer.push_marker(
                {.kind = EventKind::marker, .subkind = 11}, // process_start
                {.process = kProcess,
                 .arguments = {kBias + 64, kBias + ElfCode::open(read_file(program))->entry(), 0},
                 .text = "/bin/program"});
            writer.append(buffer);
            writer.put_site({.id = 1,
                             .pc = kBias + address,
                             .privilege = Privilege::user,
                             .address_space = kProcess,
                             .disassembly = "clwb"});
            writer.finish(RecordingState::complete, "");
        }
        symbolize_trace(path, {.files = {{"/bin/program", program}}});
        const TraceReader reader(path);
        EXPECT_EQ(inlined_calls(reader).empty(), false);
        Statement view(reader.connection(),
                       "SELECT function || ':' || source_line FROM site_name WHERE site = 1");
        EXPECT_TRUE(view.step());
        const EventPlace place = CodeNames(reader).place({.seq = 0, .site = 1});
        EXPECT_EQ(view.text(0), fmt::format("{}:{}", place.code.function, place.code.source_line));
        return place;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "inlined"};
};

std::vector<std::string> functions(const EventPlace &place)
{
    std::vector<std::string> names;
    const auto add = [&](const CodePlace &code) {
        names.push_back(fmt::format("{}{} :{}", code.function, code.inlined ? " (inlined)" : "",
                                    code.source_line));
    };
    add(place.code);
    for (const CodePlace &caller : place.callers)
        add(caller);
    return names;
}

TEST_F(InlinedFrames, EveryInstructionAsAddr2lineHasIt)
{
    const struct {
        const char *compiler, *source, *text;
        std::size_t inlined;
    } programs[] = {
        {"cc", "log.c", kC, 3}, {"c++", "list.cpp", kCpp, 20}, {"c++", "words.cpp", kWords, 500}};
    for (const auto &program : programs)
        for (const std::vector<std::string> &options :
             {std::vector<std::string>{"-pie", "-fPIE"}, {"-no-pie", "-gdwarf-4"}, {"-O3"}}) {
            SCOPED_TRACE(std::string(program.source) + " " + options.back());
            const auto [inlined, deepest] = compare(
                compile(program.compiler, program.source, program.text, options), program.text);
            EXPECT_GE(inlined, program.inlined);
            EXPECT_GE(deepest, 3u);
        }
}

TEST_F(InlinedFrames, AFlushInC)
{
    const fs::path program = compile("cc", "log.c", kC, {"-pie", "-fPIE"});
    const EventPlace place = place_in_trace(program, address_of(program, "clwb"));
    EXPECT_EQ(functions(place), (std::vector<std::string>{"persist (inlined) :6",
                                                          "put (inlined) :12", "append :17"}));
    EXPECT_TRUE(place.code.source_file.ends_with("/log.c")) << place.code.source_file;
    EXPECT_EQ(place.code.instruction, "clwb");
    EXPECT_EQ(text_of(place.code), "persist (inlined) (" + place.code.source_file + ":6)");
}

TEST_F(InlinedFrames, AFlushInCpp)
{
    const fs::path program = compile("c++", "list.cpp", kCpp, {"-pie", "-fPIE"});
    const EventPlace place = place_in_trace(program, address_of(program, "clwb"));
    const std::vector<std::string> names = functions(place);
    ASSERT_GE(names.size(), 5u);
    EXPECT_EQ(names[0], "pm::persistent<long>::flush (inlined) :15");
    EXPECT_EQ(names[1], "pm::persistent<long>::operator= (inlined) :10");
    EXPECT_EQ(names[2], "pm::list::link (inlined) :19");
    EXPECT_EQ(names.back(), "fill :24");
}

TEST_F(InlinedFrames, DamageIsHarmless)
{
    const fs::path program = compile("c++", "list.cpp", kCpp, {"-pie", "-fPIE"});
    const std::string whole = read_file(program);
    const auto addresses = instructions(program);
    std::istringstream sections(run({"objdump", "-h", program}));
    std::size_t offset = 0, size = 0;
    for (std::string line; std::getline(sections, line);) {
        std::istringstream words(line);
        std::string number, name, bytes, address, load, file_offset;
        words >> number >> name >> bytes >> address >> load >> file_offset;
        if (name == ".debug_info")
            size = std::stoull(bytes, nullptr, 16), offset = std::stoull(file_offset, nullptr, 16);
    }
    ASSERT_GT(size, 1000u);
    std::mt19937 random(1);
    std::size_t different = 0;
    for (int round = 0; round < 100; ++round) {
        std::string damaged = whole;
        for (int i = 0; i < 20; ++i)
            damaged[offset + random() % size] = static_cast<char>(random());
        const auto intact = ElfCode::open(whole);
        const auto code = ElfCode::open(damaged);
        ASSERT_TRUE(code);
        for (const auto &each : addresses)
            different += ours(*code, each.first) != ours(*intact, each.first);
    }
    EXPECT_GT(different, 0u);
}

TEST_F(InlinedFrames, TracesOfEarlierVersionsHaveNone)
{
    const fs::path path = directory_.path() / "trace.db";
    {
        TraceWriter writer = TraceWriter::create(path);
        writer.finish(RecordingState::complete, "");
    }
    Database(path, SQLITE_OPEN_READWRITE).execute("DROP VIEW site_name; DROP TABLE inlined_call");
    EXPECT_TRUE(inlined_calls(TraceReader(path)).empty());
    EXPECT_EQ(symbolize_trace(path, {}).sites, 0u);
    Database(path, SQLITE_OPEN_READWRITE).execute("CREATE TABLE inlined_call (pc INTEGER)");
    EXPECT_THROW(TraceReader{path}, Error);
}

} // namespace
} // namespace fencepost::symbols
