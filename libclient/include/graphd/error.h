// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

#include "graphd/export.h"

// The one exception of the project. Everything that can go wrong through data, disk, network, user
// or peer throws graphd::Error; its message names the object concerned (file and offset, host,
// partition, option) and ends with what to do. Bugs of our own abort with GRAPHD_CHECK instead.

namespace GRAPHD_EXPORT graphd {

// What kind of thing went wrong. Each code maps to one exit code of graphd and graphctl (see
// ExitCode) and travels over RPC unchanged.
enum class ErrorCode {
  kInvalid,      // an argument, option or id that makes no sense
  kNotFound,     // a name, file or partition that does not exist
  kExists,       // something that must not exist does (a port in use, a living server)
  kUnavailable,  // a peer that can't be reached, or has gone
  kOverloaded,   // a limit was reached: try again later, or raise the limit
  kDeadline,     // it took longer than allowed
  kVersion,      // two sides that don't speak the same version
  kCorrupt,      // data that contradicts itself or its checksum
  kDenied,       // no permission
  kIo,           // the operating system said no
  kInternal,     // a defect of graphd
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// Stable lower-case name of a code ("not_found"), and back (unknown names give kInternal).
const char* ErrorCodeName(ErrorCode code) noexcept;
ErrorCode ErrorCodeFromName(const std::string& name) noexcept;

// The exit code of a program that ends with this error: invalid 2, not_found 3, exists 4,
// unavailable 5, overloaded 6, deadline 7, version 8, corrupt 9, denied 10, io 11, internal 70.
int ExitCode(ErrorCode code) noexcept;

}  // namespace graphd
