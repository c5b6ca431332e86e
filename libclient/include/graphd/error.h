// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

#include "graphd/export.h"

// The exception class of the project. Every failure caused by data, disks, networks, users or peers
// throws graphd::Error. Its message names the object concerned (file and offset, host, partition,
// option) and ends with a remedy. Defects of graphd itself abort the process (GRAPHD_CHECK)
// instead.

namespace GRAPHD_EXPORT graphd {

// The kind of an error. Each code maps to one exit code of graphd and graphctl (see ExitCode) and
// is sent over RPC unchanged.
enum class ErrorCode {
  kInvalid,      // an argument, option or id that is not valid
  kNotFound,     // a name, file or partition that does not exist
  kExists,       // something exists already (a port in use, a running server)
  kUnavailable,  // a peer that cannot be reached, or has exited
  kOverloaded,   // a limit was reached; try again later, or raise the limit
  kDeadline,     // a call took longer than allowed
  kVersion,      // two sides that speak different protocol versions
  kCorrupt,      // data that contradict themselves or their checksum
  kDenied,       // a missing permission or lease
  kIo,           // an error of the operating system
  kInternal,     // a defect of graphd
};

// An error with its kind; what() is the message.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  // Returns the kind of the error.
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// Returns the stable lower-case name of a code, for example "not_found".
const char* ErrorCodeName(ErrorCode code) noexcept;
// Returns the code of a name; kInternal for an unknown name.
ErrorCode ErrorCodeFromName(const std::string& name) noexcept;

// Returns the exit code of a program that ends with this error: invalid 2, not_found 3, exists 4,
// unavailable 5, overloaded 6, deadline 7, version 8, corrupt 9, denied 10, io 11, internal 70.
int ExitCode(ErrorCode code) noexcept;

}  // namespace graphd
