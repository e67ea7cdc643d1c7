// SPDX-License-Identifier: GPL-2.0-or-later
// A guest by hand: restored from its template, its PM formatted and mounted, commands run in it.
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/byte_size.h"
#include "base/places.h"
#include "base/scratch.h"
#include "python/core/core.h"
#include "python/core/guest_calls.h"
#include "python/core/options.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/template_store.h"

namespace fencepost::python {

namespace {

using namespace fencepost::guest;

constexpr const char *kMountPoint = "/mnt/pm";
constexpr std::size_t kMostFile = std::size_t{1} << 30;
constexpr std::chrono::seconds kPatience(120); // beyond a command's own time limit

template <typename Reply> const Reply &need(const Answer<Reply> &answer, const std::string &what)
{
    if (!answer)
        fail(ErrorKind::guest, "{}: {}", what, answer.message());
    return *answer;
}

py::bytes as_bytes(const std::string &text)
{
    return py::bytes(text);
}

// One request at a time; without the GIL. It ends with the thread that made it: QEMU is that one's
// child.
class PyGuest {
    // First: their results are deduced.
    static Deadline deadline(std::uint32_t more_ms = 0)
    {
        return Deadline::after(kPatience + std::chrono::milliseconds(more_ms));
    }

    Guest &checked()
    {
        if (!guest_)
            fail(ErrorKind::usage, "the guest is closed");
        return *guest_;
    }

    template <typename Talk> auto talk(const std::string &what, Talk &&talk)
    {
        return long_call([&] {
            const std::lock_guard lock(mutex_);
            return need(checked().with_agent(std::forward<Talk>(talk)), what);
        });
    }

public:
    PyGuest(const Options &options, Callback &told)
        : cache_(cache_directory()), scratch_(cache_), file_system_(options.text("file_system")),
          mount_options_(no_zero(options.text("mount_options"), "the mount options"))
    {
        options.take("image", config_.image);
        options.take("cpus", config_.cpus);
        options.take("kernel_arguments", config_.kernel_arguments);
        config_.ram = parse_size(options.text("ram"));
        config_.pm = {{parse_size(options.text("pm_size")),
                       options.text("attach") == "e820" ? PmAttach::e820 : PmAttach::nvdimm}};
        const std::string backend = options.text("backend");
        long_call(
            [&] {
                validate(config_);
                check_backend_name(backend);
                backend_ = make_backend(backend, cache_);
                start(told);
            },
            &told);
        told.rethrow();
    }

    py::dict run(const std::vector<std::string> &command, const std::string &directory,
                 const std::map<std::string, std::string> &environment, const std::string &input,
                 double seconds)
    {
        const RunRequest request = run_request(command, directory, environment, input, seconds);
        return run_result(talk("the command", [&](AgentClient &agent) {
            return agent.run(request, deadline(request.time_limit_ms));
        }));
    }

    py::bytes read(const std::string &path)
    {
        no_zero(path, "the path");
        return as_bytes(talk("reading " + path, [&](AgentClient &agent) {
            return agent.read_whole_file(path, kMostFile, deadline());
        }));
    }

    void write(const std::string &path, const std::string &data, std::uint32_t mode)
    {
        no_zero(path, "the path");
        talk("writing " + path, [&](AgentClient &agent) {
            return agent.write_whole_file(path, data, mode, deadline());
        });
    }

    void mount()
    {
        const MountRequest what = {"/dev/" + template_.pm_devices.at(0).name, kMountPoint,
                                   file_system_, mount_options_};
        talk("mount", [&](AgentClient &agent) { return agent.mount(what, deadline()); });
    }

    void unmount()
    {
        talk("unmount", [&](AgentClient &agent) { return agent.unmount(kMountPoint, deadline()); });
    }

    std::string kernel_log()
    {
        const std::lock_guard lock(mutex_);
        return checked().kernel_log();
    }

    std::string pm_file() const { return pm_file_.string(); }
    std::string kernel_release() const { return template_.kernel_release; }

    // Unmounting is the user's; the machine is just ended.
    void close()
    {
        const std::lock_guard lock(mutex_);
        guest_.reset();
        scratch_.reset();
    }

    bool closed()
    {
        const std::lock_guard lock(mutex_);
        return !guest_;
    }

private:
    void start(Callback &told)
    {
        scratch_.emplace(cache_);
        pm_file_ = scratch_->path() / "pm0";
        TemplateStore store(cache_, *backend_);
        template_ = store.ensure(config_, lines_to(told));
        create_pm_file(pm_file_, config_.pm[0]);
        if (!file_system_.empty())
            make_file_system(pm_file_, config_.pm[0], file_system_);
        guest_ = store.restore(template_, {pm_file_}, deadline());
    }

    std::filesystem::path cache_;
    std::optional<ScratchDirectory> scratch_; // until it is closed
    GuestConfig config_;
    std::string file_system_;
    std::string mount_options_;
    std::unique_ptr<Backend> backend_;
    Template template_;
    std::filesystem::path pm_file_;
    std::mutex mutex_;
    std::unique_ptr<Guest> guest_;
};

} // namespace

void add_guest(py::module_ &module)
{
    // Others may have to wait for a command that another thread runs.
    const py::call_guard<py::gil_scoped_release> unlocked = {};
    py::class_<PyGuest>(module, "Guest")
        .def(py::init([](py::dict options, py::object progress) {
            Callback told(std::move(progress));
            return std::make_unique<PyGuest>(Options(std::move(options)), told);
        }))
        .def("run", &PyGuest::run, py::arg("command"), py::arg("directory"), py::arg("environment"),
             py::arg("input"), py::arg("seconds"))
        .def("read", &PyGuest::read, py::arg("path"))
        .def("write", &PyGuest::write, py::arg("path"), py::arg("data"), py::arg("mode"))
        .def("mount", &PyGuest::mount)
        .def("unmount", &PyGuest::unmount)
        .def_property_readonly("kernel_log", py::cpp_function(&PyGuest::kernel_log, unlocked))
        .def_property_readonly("pm_file", &PyGuest::pm_file)
        .def_property_readonly("kernel_release", &PyGuest::kernel_release)
        .def_property_readonly("closed", py::cpp_function(&PyGuest::closed, unlocked))
        .def("close", &PyGuest::close, unlocked);
}

} // namespace fencepost::python
