// SPDX-License-Identifier: GPL-2.0-or-later
// The extension module `fencepost._core`: the library as the Python package uses it.
#include "python/core/core.h"

#include <array>

#include <poll.h>
#include <sys/eventfd.h>

namespace fencepost::python {

namespace {

constexpr int kAgainMs = 100; // user's code may catch what is raised in it

void stop_when_interrupted(const Callback &callback, int end)
{
    for (bool interrupted = false;;) {
        std::array<pollfd, 2> waited = {
            {{end, POLLIN, 0}, {interrupted ? -1 : interrupt_fd(), POLLIN, 0}}};
        const int ready = poll(waited.data(), waited.size(), interrupted ? kAgainMs : -1);
        if (waited[0].revents != 0)
            return;
        if (ready < 0)
            continue;
        interrupted = true;
        const py::gil_scoped_acquire gil;
        callback.stop_user_code();
    }
}

} // namespace

StopsUserCode::StopsUserCode(const Callback &callback)
    : end_(eventfd(0, EFD_CLOEXEC)),
      thread_([&callback, end = end_.get()] { stop_when_interrupted(callback, end); })
{
}

StopsUserCode::~StopsUserCode()
{
    eventfd_write(end_.get(), 1);
    thread_.join();
}

} // namespace fencepost::python

PYBIND11_MODULE(_core, module)
{
    module.doc() = "The C++ side of fencepost; use the package, not this.";
    module.attr("version") = FENCEPOST_VERSION;
    fencepost::python::add_errors(module);
    fencepost::python::add_trace(module);
    fencepost::python::add_query(module);
    fencepost::python::add_run(module);
    fencepost::python::add_doing(module);
    fencepost::python::add_testing(module);
    fencepost::python::add_states(module);
    fencepost::python::add_guest(module);
}
