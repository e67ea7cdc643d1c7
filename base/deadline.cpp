// SPDX-License-Identifier: GPL-2.0-or-later
// See deadline.h.
#include "base/deadline.h"

#include <algorithm>
#include <climits>

namespace fencepost {

using std::chrono::steady_clock;

Deadline Deadline::after(std::chrono::milliseconds span)
{
    Deadline deadline;
    deadline.at_ = steady_clock::now() + span;
    return deadline;
}

bool Deadline::passed() const
{
    return at_ && steady_clock::now() >= *at_;
}

int Deadline::poll_timeout() const
{
    if (!at_)
        return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - steady_clock::now());
    return static_cast<int>(std::clamp<long long>(left.count(), 0, INT_MAX));
}

Deadline Deadline::earlier_of(std::chrono::milliseconds span) const
{
    Deadline other = after(span);
    return at_ && *at_ < *other.at_ ? *this : other;
}

double Stopwatch::seconds() const
{
    return std::chrono::duration<double>(steady_clock::now() - start_).count();
}

} // namespace fencepost
