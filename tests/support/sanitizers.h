// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd::testing {

// Whether this program runs under AddressSanitizer or ThreadSanitizer. They keep several bytes for
// each byte of a program, and freed memory for a while.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace graphd::testing
