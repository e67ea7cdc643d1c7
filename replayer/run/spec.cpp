// SPDX-License-Identifier: GPL-2.0-or-later
// See spec.h.
#include "replayer/run/spec.h"

#include <algorithm>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/files.h"
#include "replayer/run/spec_document.h"
#include "replayer/run/spec_promise.h"

namespace fencepost::run {

namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kTables = {"guest", "pm",    "file_system", "setup",  "workload",
                                          "copy",  "model", "test",        "analyze"};
const std::vector<std::string> kGuestFields = {"image",        "kernel",       "modules",
                                               "module_files", "initrd_extra", "kernel_arguments",
                                               "ram",          "cpus"};
const std::vector<std::string> kPmFields = {"size", "attach"};
const std::vector<std::string> kFileSystemFields = {
    "type",       "device", "mkfs_program", "mkfs_options", "mount_options", "first_mount_options",
    "mount_point"};
const std::vector<std::string> kSetupFields = {"script", "file"};
const std::vector<std::string> kWorkloadFields = {
    "kind",        "text",         "file",    "command",    "directory",
    "environment", "system_calls", "unmount", "time_limit", "host_time_limit"};
const std::vector<std::string> kCopyFields = {"from", "to"};
const std::vector<std::string> kModelFields = {"incidental"};
const std::vector<std::string> kTestFields = {
    "oracles",           "promise",           "semantics",  "recovery",
    "recovery_progress", "other_file_system", "time_limit", "annotator"};
const std::vector<std::string> kAnalyzeFields = {"transactions", "order", "suppressions"};

class SpecParser {
public:
    SpecParser(std::string_view text, const std::string &name, const fs::path &directory,
               FilesFrom files)
        : document_(text, name, directory, files, kTables)
    {
        spec_.text = text;
    }

    Spec parse()
    {
        read_guest();
        read_pm();
        read_file_system();
        read_setup();
        read_workload();
        read_copies();
        read_model();
        read_test();
        read_analyze();
        return std::move(spec_);
    }

private:
    static std::string guest_path(const TableReader &reader, const std::string &field,
                                  const std::string &text)
    {
        if (!text.starts_with('/'))
            reader.refuse(field, "{} is an absolute path in the guest, '{}' is not", field, text);
        return text;
    }

    static std::uint64_t size(const TableReader &reader, const std::string &field,
                              const std::string &text)
    {
        try {
            return parse_size(text);
        } catch (const Error &error) {
            reader.refuse(field, "{}", error.what());
        }
    }

    void read_guest();
    void read_pm();
    void read_file_system();
    void read_setup();
    void read_workload();
    void read_source(const TableReader &reader);
    void read_copies();
    void read_model();
    void read_test();
    void read_analyze();

    SpecDocument document_;
    Spec spec_;
};

void SpecParser::read_guest()
{
    const auto reader = document_.table("guest", kGuestFields);
    if (!reader)
        return;
    GuestSpec &guest = spec_.guest;
    guest.image = reader->text("image").value_or(guest.image);
    if (const auto text = reader->text("kernel"))
        guest.kernel = document_.host_path(*reader, "kernel", *text);
    if (const auto text = reader->text("modules"))
        guest.modules = document_.host_path(*reader, "modules", *text);
    for (const std::string &text :
         reader->texts("module_files").value_or(std::vector<std::string>())) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        guest.module_files.push_back(
            document_.host_path(*reader, "module_files", text.substr(0, colon)).string() +
            text.substr(colon));
    }
    for (const std::string &text :
         reader->texts("initrd_extra").value_or(std::vector<std::string>()))
        guest.initrd_extra.push_back(document_.host_path(*reader, "initrd_extra", text));
    if (guest.has_own_image() && reader->has("image"))
        reader->refuse("image",
                       "a spec has an image, or a kernel, modules and files of its own, not both");
    guest.kernel_arguments = reader->text("kernel_arguments").value_or("");
    if (const auto text = reader->text("ram"))
        guest.ram = size(*reader, "ram", *text);
    guest.cpus = static_cast<unsigned>(reader->number("cpus", 1, 8).value_or(1));
    guest::GuestConfig config;
    config.ram = guest.ram;
    try {
        guest::validate(config);
    } catch (const Error &error) {
        reader->refuse("ram", "{}", error.what());
    }
}

void SpecParser::read_pm()
{
    for (const TableReader &reader : document_.tables("pm", kPmFields)) {
        guest::PmConfig device;
        if (const auto text = reader.text("size"))
            device.size = size(reader, "size", *text);
        const std::string attach = reader.text("attach").value_or("nvdimm");
        if (attach != "nvdimm" && attach != "e820")
            reader.refuse("attach", "PM is attached as 'nvdimm' or 'e820', not '{}'", attach);
        device.attach = attach == "e820" ? guest::PmAttach::e820 : guest::PmAttach::nvdimm;
        spec_.pm.push_back(device);
        guest::GuestConfig config;
        config.pm = spec_.pm;
        try {
            guest::validate(config);
        } catch (const Error &error) {
            reader.refuse("size", "{}", error.what());
        }
    }
    if (spec_.pm.empty())
        spec_.pm.push_back({});
}

void SpecParser::read_file_system()
{
    const auto reader = document_.table("file_system", kFileSystemFields);
    if (!reader)
        return;
    FileSystemSpec file_system;
    file_system.type = reader->text("type").value_or("");
    if (file_system.type.empty() || file_system.type.find('/') != std::string::npos)
        reader->refuse("type", "file_system.type is needed, for example \"ext4\"");
    file_system.device = static_cast<unsigned>(
        reader->number("device", 0, static_cast<std::int64_t>(spec_.pm.size()) - 1).value_or(0));
    file_system.mkfs_program = reader->text("mkfs_program");
    file_system.mkfs_options = reader->texts("mkfs_options").value_or(std::vector<std::string>());
    file_system.mount_options = reader->text("mount_options").value_or(file_system.mount_options);
    file_system.first_mount_options = reader->text("first_mount_options");
    if (const auto text = reader->text("mount_point"))
        file_system.mount_point = guest_path(*reader, "mount_point", *text);
    spec_.file_system = file_system;
}

void SpecParser::read_setup()
{
    const auto reader = document_.table("setup", kSetupFields);
    if (!reader)
        return;
    if (reader->has("script") == reader->has("file"))
        reader->refuse("file", "setup has a script or a file with one");
    if (const auto text = reader->text("script"))
        spec_.setup_script = *text;
    if (const auto text = reader->text("file"))
        spec_.setup_script =
            document_.contents(*reader, "file", document_.host_path(*reader, "file", *text));
}

void SpecParser::read_source(const TableReader &reader)
{
    SourceText &source = spec_.workload.source;
    if (reader.has("text") == reader.has("file"))
        reader.refuse("file", "a workload of this kind has a text or a file with it");
    if (const auto text = reader.text("text")) {
        source = {*text, document_.name(), reader.line_of("text")};
        // A newline straight after the opening quotes is not part of the text.
        const std::string &whole = spec_.text;
        std::size_t start = 0;
        for (unsigned line = 1; line < source.first_line && start != std::string::npos; ++line)
            start = whole.find('\n', start) + 1;
        const std::string line = whole.substr(start, whole.find('\n', start) - start);
        if (line.find_last_not_of(" \t\r") != std::string::npos &&
            (line.ends_with("\"\"\"") || line.ends_with("'''")) &&
            text->find('\n') != std::string::npos)
            ++source.first_line;
    } else if (const auto file = reader.text("file")) {
        const fs::path path = document_.host_path(reader, "file", *file);
        source = {document_.contents(reader, "file", path), *file, 1};
    }
    if (source.text.find('\0') != std::string::npos)
        reader.refuse(reader.has("file") ? "file" : "text",
                      "a workload is text; this one holds a NUL character");
}

void SpecParser::read_workload()
{
    const auto reader = document_.table("workload", kWorkloadFields);
    if (!reader)
        document_.refuse("workload", "the table [workload] is missing");
    WorkloadSpec &workload = spec_.workload;
    const std::string kind = reader->text("kind").value_or("");
    if (kind == "script")
        workload.kind = WorkloadKind::script;
    else if (kind == "program")
        workload.kind = WorkloadKind::program;
    else if (kind == "ops")
        workload.kind = WorkloadKind::ops;
    else if (kind == "j-lang")
        workload.kind = WorkloadKind::j_lang;
    else
        reader->refuse("kind", "workload.kind is \"script\", \"program\", \"ops\" or \"j-lang\"");

    if (workload.kind == WorkloadKind::program) {
        workload.command = reader->texts("command").value_or(std::vector<std::string>());
        if (workload.command.empty() || workload.command.front().empty())
            reader->refuse("command", "workload.command is needed: a program and its arguments");
        for (const char *field : {"text", "file"})
            if (reader->has(field))
                reader->refuse(field, "a program has a command, and no {}", field);
    } else {
        if (reader->has("command"))
            reader->refuse("command", "only a workload of kind \"program\" has a command");
        read_source(*reader);
    }
    if (const auto text = reader->text("directory"))
        workload.directory = guest_path(*reader, "directory", *text);
    workload.environment = reader->assignments("environment").value_or(std::vector<std::string>());
    workload.system_calls = reader->flag("system_calls")
                                .value_or(workload.kind == WorkloadKind::program ||
                                          workload.kind == WorkloadKind::script);
    workload.unmount = reader->flag("unmount").value_or(false);
    if (workload.unmount && !spec_.file_system)
        reader->refuse("unmount", "there is no [file_system] to unmount");
    workload.time_limit =
        static_cast<std::uint32_t>(reader->number("time_limit", 1, 86400).value_or(60));
    workload.host_time_limit =
        static_cast<std::uint32_t>(reader->number("host_time_limit", 1, 86400).value_or(600));
}

void SpecParser::read_copies()
{
    for (const TableReader &reader : document_.tables("copy", kCopyFields)) {
        const auto from = reader.text("from");
        const auto to = reader.text("to");
        if (!from || !to)
            reader.refuse(from ? "to" : "from",
                          "copy has 'from', a file of the host, and 'to', its place in the guest");
        spec_.copies.push_back(
            {document_.host_path(reader, "from", *from), guest_path(reader, "to", *to)});
    }
}

void SpecParser::read_model()
{
    const auto reader = document_.table("model", kModelFields);
    if (!reader)
        return;
    spec_.test.incidental = reader->texts("incidental").value_or(std::vector<std::string>());
    for (const std::string &function : spec_.test.incidental)
        if (function.empty() || function.find_first_of(" ,\t\n") != std::string::npos)
            reader->refuse("incidental", "model.incidental has '{}', which is no function's name",
                           function);
}

void SpecParser::read_test()
{
    const auto reader = document_.table("test", kTestFields);
    if (!reader)
        return;
    TestSpec &test = spec_.test;
    test.oracles = reader->texts("oracles").value_or(std::vector<std::string>());
    for (std::string &oracle : test.oracles)
        if (oracle.find('/') != std::string::npos)
            oracle = document_.host_path(*reader, "oracles", oracle).string();
    test.promise = read_promise(*reader);
    test.recovery = reader->texts("recovery").value_or(std::vector<std::string>());
    if (reader->has("recovery") && (test.recovery.empty() || test.recovery.front().empty()))
        reader->refuse("recovery", "test.recovery is a program and its arguments");
    test.recovery_progress = reader->flag("recovery_progress");
    if (test.recovery_progress && test.recovery.empty())
        reader->refuse("recovery_progress",
                       "test.recovery_progress is about test.recovery, and there is none");
    test.other_file_system = reader->text("other_file_system").value_or("");
    if (reader->has("other_file_system") && test.other_file_system != "ext4" &&
        test.other_file_system != "xfs")
        reader->refuse("other_file_system", "test.other_file_system is \"ext4\" or \"xfs\"");
    test.time_limit = static_cast<std::uint32_t>(
        reader->number("time_limit", 1, 86400).value_or(test.time_limit));
    test.annotator = reader->text("annotator").value_or("");
    if (test.annotator.find('/') != std::string::npos)
        test.annotator = document_.host_path(*reader, "annotator", test.annotator).string();
    if (reader->has("annotator") && test.annotator.empty())
        reader->refuse("annotator", "test.annotator is a name, or the path of a folder");
}

void SpecParser::read_analyze()
{
    const auto reader = document_.table("analyze", kAnalyzeFields);
    if (!reader)
        return;
    const auto texts_of = [&](const std::string &field) {
        std::vector<SourceText> texts;
        for (const std::string &file : reader->texts(field).value_or(std::vector<std::string>())) {
            const fs::path path = document_.host_path(*reader, field, file);
            texts.push_back(
                {document_.contents(*reader, field, path), file, 1, path.parent_path()});
        }
        return texts;
    };
    spec_.analyze = {texts_of("transactions"), texts_of("order"), texts_of("suppressions")};
}

} // namespace

Spec parse_spec(std::string_view text, const std::string &name, const fs::path &directory,
                FilesFrom files)
{
    return SpecParser(text, name, directory, files).parse();
}

Spec load_spec(const fs::path &path, FilesFrom files)
{
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        fail(ErrorKind::usage, "{}: {}", path.string(), error ? error.message() : "not a file");
    return parse_spec(read_file(path), path.filename().string(), path.parent_path(), files);
}

std::vector<std::string> spec_fields()
{
    std::vector<std::string> result;
    auto add = [&](const std::string &name, const std::vector<std::string> &fields) {
        for (const std::string &field : fields)
            result.push_back(name + "." + field);
    };
    add("guest", kGuestFields);
    add("pm", kPmFields);
    add("file_system", kFileSystemFields);
    add("setup", kSetupFields);
    add("workload", kWorkloadFields);
    add("copy", kCopyFields);
    add("model", kModelFields);
    add("test", kTestFields);
    std::erase(result, "test.semantics"); // refused, with a hint
    for (const PromiseField &field : run::promise_fields())
        result.push_back("test.promise." + field.name);
    result.push_back("test.promise.preset");
    add("analyze", kAnalyzeFields);
    return result;
}

const char *to_string(WorkloadKind kind)
{
    switch (kind) {
    case WorkloadKind::script:
        return "script";
    case WorkloadKind::program:
        return "program";
    case WorkloadKind::ops:
        return "ops";
    case WorkloadKind::j_lang:
        return "j-lang";
    }
    return "unknown";
}

} // namespace fencepost::run
