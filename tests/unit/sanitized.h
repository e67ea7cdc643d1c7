// SPDX-License-Identifier: GPL-2.0-or-later
// FENCEPOST_ASAN: whether AddressSanitizer is in this build, for tests that mean nothing with it.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define FENCEPOST_ASAN 1
#elif defined(__has_feature)
#define FENCEPOST_ASAN __has_feature(address_sanitizer)
#else
#define FENCEPOST_ASAN 0
#endif
