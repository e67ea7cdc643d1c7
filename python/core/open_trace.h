// SPDX-License-Identifier: GPL-2.0-or-later
// A trace that Python has opened, and may close while something still reads it.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "analyzer/tables/model_tables.h"
#include "base/error.h"
#include "trace/query.h"
#include "trace/reader.h"

namespace fencepost::python {

class OpenTrace {
public:
    // What iterators share with the trace that made them.
    class State {
    public:
        explicit State(const std::filesystem::path &path)
            : reader_(new trace::TraceReader(path)), recording_(reader_->recording())
        {
            tables::add_model_tables(*reader_);
        }
        // Waits for nobody who reads.
        void check_open() const
        {
            if (closed_)
                fail(ErrorKind::usage, "the trace is closed");
        }

    private:
        friend class OpenTrace;

        std::atomic<bool> closed_ = false;
        mutable std::mutex mutex_;
        std::unique_ptr<trace::TraceReader> reader_;
        const trace::Recording recording_;
    };

    explicit OpenTrace(const std::filesystem::path &path)
        : path_(path), state_(std::make_shared<State>(path))
    {
    }

    const std::filesystem::path &path() const { return path_; }
    std::shared_ptr<const State> shared() const { return state_; }
    bool closed() const { return state_->closed_; }
    const trace::Recording &recording() const
    {
        state_->check_open();
        return state_->recording_;
    }
    // Without the GIL: whoever reads has it to the end.
    void close()
    {
        state_->closed_ = true;
        const std::lock_guard lock(state_->mutex_);
        state_->reader_.reset();
    }

    // One at a time; without the GIL.
    template <typename Use> auto with_reader(Use &&use) const
    {
        const std::lock_guard lock(state_->mutex_);
        state_->check_open();
        return use(*state_->reader_);
    }

private:
    std::filesystem::path path_;
    std::shared_ptr<State> state_;
};

} // namespace fencepost::python
