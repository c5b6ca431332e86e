// SPDX-License-Identifier: Apache-2.0
#include "tls/openssl.h"

#include <openssl/err.h>

#include "base/strings.h"

namespace graphd {

void InitializeOpenSsl() {
  static const bool initialized = [] {
    return OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1;
  }();
  if (!initialized) ThrowOpenSsl("can't initialise OpenSSL");
}

std::string TakeOpenSslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : StrCat("error ", code);
}

void ThrowOpenSsl(const std::string& what) {
  Throw(ErrorCode::kInternal, what, ": ", TakeOpenSslError());
}

void RequireDone(bool done, const char* what) {
  if (!done) ThrowOpenSsl(what);
}

}  // namespace graphd
