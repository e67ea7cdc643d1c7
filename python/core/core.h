// SPDX-License-Identifier: GPL-2.0-or-later
// What the parts of the extension module `fencepost._core` have in common.
#pragma once

#include <exception>
#include <set>
#include <thread>
#include <utility>

#include <pybind11/pybind11.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/interrupt.h"

namespace fencepost::python {

namespace py = pybind11;

// One a file; each adds its classes and functions.
void add_doing(py::module_ &module);
void add_errors(py::module_ &module);
void add_guest(py::module_ &module);
void add_query(py::module_ &module);
void add_run(py::module_ &module);
void add_states(py::module_ &module);
void add_testing(py::module_ &module);
void add_trace(py::module_ &module);

// The user's functions in a long call: one that is told how it goes, and those that call() runs.
// What one of them throws stops the call, and comes out of it.
class Callback {
public:
    explicit Callback(py::object function)
        : function_(std::move(function)), wanted_(!function_.is_none())
    {
    }
    Callback(const Callback &) = delete;
    Callback &operator=(const Callback &) = delete;

    // Without the GIL, from any thread. `make` gives the arguments, with it.
    template <typename Make> void operator()(Make &&make)
    {
        if (!wanted_)
            return;
        const py::gil_scoped_acquire gil;
        if (failure_)
            return;
        try {
            function_(*make());
        } catch (const py::error_already_set &) {
            keep_failure();
        }
    }
    // Without the GIL, from any thread; `work` has it. Throws Error(interrupted) for what a user's
    // function has thrown, here or elsewhere; `excused()`: what this one throws is known already.
    template <typename Work, typename Excused> auto call(Work &&work, Excused &&excused)
    {
        const py::gil_scoped_acquire gil;
        if (failure_)
            fail(ErrorKind::interrupted, "interrupted");
        const InUserCode here(*this);
        try {
            return work();
        } catch (const py::error_already_set &) {
            if (!excused())
                keep_failure();
            fail(ErrorKind::interrupted, "interrupted");
        }
    }
    template <typename Work> auto call(Work &&work)
    {
        return call(std::forward<Work>(work), [] { return false; });
    }
    // With the GIL, from another thread: KeyboardInterrupt in all that call() runs.
    void stop_user_code() const
    {
        for (const unsigned long thread : in_user_code_)
            PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
    }
    // With the GIL.
    void rethrow() const
    {
        if (failure_)
            std::rethrow_exception(failure_);
    }

private:
    // What is still to be thrown when it ends is thrown nowhere.
    class InUserCode {
    public:
        explicit InUserCode(Callback &callback)
            : threads_(callback.in_user_code_), thread_(PyThread_get_thread_ident())
        {
            threads_.insert(thread_);
        }
        ~InUserCode()
        {
            threads_.erase(threads_.find(thread_));
            PyThreadState_SetAsyncExc(thread_, nullptr);
        }
        InUserCode(const InUserCode &) = delete;
        InUserCode &operator=(const InUserCode &) = delete;

    private:
        std::multiset<unsigned long> &threads_;
        const unsigned long thread_;
    };

    void keep_failure()
    {
        if (!failure_)
            failure_ = std::current_exception();
        interrupt();
    }

    // With the GIL.
    py::object function_;
    bool wanted_;
    std::exception_ptr failure_;
    std::multiset<unsigned long> in_user_code_;
};

// While it lives, Ctrl-C ends what a user's functions do in threads of ours, where Python raises
// nothing by itself.
class StopsUserCode {
public:
    explicit StopsUserCode(const Callback &callback);
    ~StopsUserCode();
    StopsUserCode(const StopsUserCode &) = delete;
    StopsUserCode &operator=(const StopsUserCode &) = delete;

private:
    Fd end_;
    std::thread thread_;
};

// Work that takes its time: other Python threads go on meanwhile, and Ctrl-C ends it.
template <typename Work> auto long_call(Work &&work, const Callback *callback = nullptr)
{
    const InterruptScope scope;
    try {
        const py::gil_scoped_release release;
        return work();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::interrupted)
            throw;
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
        if (callback)
            callback->rethrow();
        throw;
    }
}

} // namespace fencepost::python
