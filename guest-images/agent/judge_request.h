// SPDX-License-Identifier: GPL-2.0-or-later
// One image judged in the server process itself, without starting another (but for a command of the
// user's): every process costs an emulated guest more than a mount does.
#pragma once

#include <functional>
#include <optional>

#include "guest-images/agent/kernel_log.h"
#include "guest-images/agent/outcome.h"

namespace fencepost::agent {

using TellStep = std::function<void(JudgeStep)>;

// What went wrong with the image is part of the reply, never a failure. `log` is opened by the
// first request and kept for the next: what is logged between two images belongs to the second.
// `tell` is called before each step.
Outcome<JudgeReply> judge_image(const JudgeRequest &request, std::optional<KernelLogTail> &log,
                                TellStep &tell);

} // namespace fencepost::agent
