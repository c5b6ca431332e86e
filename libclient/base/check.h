// SPDX-License-Identifier: Apache-2.0
#pragma once

// GRAPHD_CHECK(condition, "assumption") aborts with file and line if an assumption of our own code
// does not hold. Invalid data from a disk, the wire, a user or a peer is no reason to abort: code
// that checks such data throws Error.

namespace graphd::detail {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* what);
}

#define GRAPHD_CHECK(condition, what) \
  ((condition) ? (void)0 : ::graphd::detail::CheckFailed(__FILE__, __LINE__, #condition, what))
