// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

// Owners of OpenSSL's objects, and its errors as text.

namespace graphd {

template <auto Free>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using X509Ptr = std::unique_ptr<X509, OpenSslFree<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, OpenSslFree<BIO_free>>;
using SslPtr = std::unique_ptr<SSL, OpenSslFree<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>>;

// Initialises OpenSSL without its cleanup at exit, which would run while other threads may still
// use OpenSSL. Called before any other function of OpenSSL.
void InitializeOpenSsl();

// Returns the newest error in this thread's queue of errors as text, and clears the queue.
std::string TakeOpenSslError();
// Throws Error(kInternal) "<what>: <OpenSSL's error>".
[[noreturn]] void ThrowOpenSsl(const std::string& what);
// Throws Error(kInternal) "<what>: <OpenSSL's error>" if `done`, the success of a call, is false.
void RequireDone(bool done, const char* what);

}  // namespace graphd
