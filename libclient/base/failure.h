// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graphd/error.h"

// Functions for threads, destructors and callbacks, from which no exception may escape.

namespace graphd {

// Returns the code of the Error for a system call that has failed with this errno.
ErrorCode ErrorCodeOfErrno(int error) noexcept;

// Returns the exception that is being handled as an Error: a shortage of memory, of descriptors or
// of space is kOverloaded, another failure of the system kIo, anything else kInternal. Call it in a
// catch block only.
Error CurrentError() noexcept;

// Logs the exception that is being handled: "<what>: <message>". Call it in a catch block only.
void LogCurrentError(const char* what) noexcept;

// Calls f. If f throws, logs "<what>: <message>" and returns false.
template <class F>
bool LogFailure(const char* what, F&& f) noexcept {
  try {
    f();
    return true;
  } catch (...) {
    LogCurrentError(what);
    return false;
  }
}

}  // namespace graphd
