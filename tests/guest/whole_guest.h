// SPDX-License-Identifier: GPL-2.0-or-later
// More of a judged guest than oracles see: its agent, its machine.
#pragma once

#include "replayer/guest/guest.h"
#include "replayer/oracle/judge.h"

namespace fencepost::test {

inline guest::Guest &whole(guest::JudgedGuest &judged)
{
    return dynamic_cast<guest::Guest &>(judged);
}

} // namespace fencepost::test
