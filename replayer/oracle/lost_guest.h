// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest that crashed, hung or went away says about the image that it was given. The only
// place that says it, so that the same thing has the same words however it was noticed.
#pragma once

#include <optional>

#include "base/error.h"
#include "replayer/oracle/judge.h"

namespace fencepost::oracle {

// `why`: what was thrown while the guest was asked: guest::GuestLost, guest::AgentLost, or another
// trouble of the guest's. A kernel that crashed, or a server that died, need not end the guest.
Judgement judge_lost(const guest::JudgedGuest &guest, const Error &why);

// The guest answered, but its log tells a crash; nothing: it does not.
std::optional<Judgement> judge_crash(const guest::JudgedGuest &guest, std::string_view log);

// What two hangs must have in common to be the same: the step, and the last words before it.
std::string words_of_hang(const Judgement &judgement);

} // namespace fencepost::oracle
