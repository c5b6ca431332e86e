// SPDX-License-Identifier: Apache-2.0
#pragma once

// GRAPHD_CHECK(condition, "what was believed"): aborts with file and line when one of our own
// beliefs is wrong. Never for data that came from disk, wire, user or peer: that is Error.

namespace graphd::detail {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* what);
}

#define GRAPHD_CHECK(condition, what) \
  ((condition) ? (void)0 : ::graphd::detail::CheckFailed(__FILE__, __LINE__, #condition, what))
