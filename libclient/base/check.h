// SPDX-License-Identifier: Apache-2.0
#pragma once

// GRAPHD_CHECK(condition, "assumption"): aborts with file and line if an assumption of our own code
// does not hold. Data that came from disk, wire, user or peer is checked with Error instead.

namespace graphd::detail {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* what);
}

#define GRAPHD_CHECK(condition, what) \
  ((condition) ? (void)0 : ::graphd::detail::CheckFailed(__FILE__, __LINE__, #condition, what))
