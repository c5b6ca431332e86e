// SPDX-License-Identifier: Apache-2.0
#include "graphd/error.h"

#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace graphd {
namespace {

struct CodeRow {
  ErrorCode code;
  const char* name;
  int exit_code;
};

// All error codes: their names on the wire and in --json, and the exit codes of the programs.
constexpr CodeRow kCodes[] = {
    {ErrorCode::kInvalid, "invalid", 2},       {ErrorCode::kNotFound, "not_found", 3},
    {ErrorCode::kExists, "exists", 4},         {ErrorCode::kUnavailable, "unavailable", 5},
    {ErrorCode::kOverloaded, "overloaded", 6}, {ErrorCode::kDeadline, "deadline", 7},
    {ErrorCode::kVersion, "version", 8},       {ErrorCode::kCorrupt, "corrupt", 9},
    {ErrorCode::kDenied, "denied", 10},        {ErrorCode::kIo, "io", 11},
    {ErrorCode::kInternal, "internal", 70},
};

}  // namespace

const char* ErrorCodeName(ErrorCode code) noexcept {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row.name;
  }
  return "internal";
}

ErrorCode ErrorCodeFromName(const std::string& name) noexcept {
  for (const CodeRow& row : kCodes) {
    if (name == row.name) return row.code;
  }
  return ErrorCode::kInternal;
}

int ExitCode(ErrorCode code) noexcept {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row.exit_code;
  }
  return 70;
}

namespace detail {
void CheckFailed(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "%s:%d: defect in graphd: %s (%s)\n", file, line, what, condition);
  std::abort();
}
}  // namespace detail

}  // namespace graphd
