// SPDX-License-Identifier: Apache-2.0
#include "base/failure.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "base/log.h"
#include "base/strings.h"

namespace graphd {
namespace {

// Made before it is needed, because making it takes memory; copying it does not.
const Error kNoMemory(ErrorCode::kOverloaded, "not enough memory");

Error FromSystemError(const std::system_error& error) {
  const std::error_category& category = error.code().category();
  const bool is_errno = category == std::generic_category() || category == std::system_category();
  return Error(is_errno ? ErrorCodeOfErrno(error.code().value()) : ErrorCode::kIo, error.what());
}

}  // namespace

ErrorCode ErrorCodeOfErrno(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return ErrorCode::kOverloaded;
    default:
      return ErrorCode::kIo;
  }
}

Error CurrentError() noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      return error;
    } catch (const std::bad_alloc&) {
      return kNoMemory;
    } catch (const std::system_error& error) {
      return FromSystemError(error);
    } catch (const std::exception& error) {
      return Error(ErrorCode::kInternal, error.what());
    } catch (...) {
      return Error(ErrorCode::kInternal, "an exception of an unknown type");
    }
  } catch (...) {
    return kNoMemory;
  }
}

void LogCurrentError(const char* what) noexcept {
  const Error error = CurrentError();
  try {
    LogError(what, ": ", error.what());
  } catch (...) {
    // Without memory for the line, write its parts.
    for (const char* part : {what, ": ", error.what(), "\n"}) {
      [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, part, std::strlen(part));
    }
  }
}

}  // namespace graphd
