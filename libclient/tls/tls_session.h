// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "graphd/error.h"
#include "tls/tls_credentials.h"

namespace graphd {

// One TLS connection without its socket: the caller moves the encrypted bytes. Not thread-safe.
//
//   while (!session.Handshake()) { send Output(); receive into InputRoom(); }
//
// OpenSSL makes one record of 16 KiB at a time. Records are collected in a buffer of 256 KiB, and
// received through another one, so that a system call moves many of them.
class TlsSession {
 public:
  // `peer`: how messages name the other side.
  TlsSession(std::shared_ptr<const TlsCredentials> credentials, std::string peer);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Continues the handshake; returns whether it is complete. Throws Error(kDenied) if one side
  // refuses the other's certificate, or if the peer does not speak TLS 1.3; what Output() has then
  // tells the peer.
  bool Handshake();

  // Returns room for encrypted bytes from the peer; Received reports how many came. All bytes that
  // came before have been taken.
  std::span<std::byte> InputRoom();
  void Received(size_t bytes);

  // Encrypts a prefix of `plain`, at most a record, and returns its length; 0 if Output() has no
  // room for another record.
  size_t Encrypt(std::span<const std::byte> plain);
  // Returns the encrypted bytes to be sent. They stay in place until Sent, which drops them;
  // meanwhile nothing can be encrypted, but Decrypt may be called.
  std::span<const std::byte> Output();
  void Sent();

  // Decrypts at most out.size() bytes and returns their number. 0: more input is needed, or the
  // peer has closed its side (is_closed). Throws Error(kUnavailable) if a record is damaged, and
  // Error(kDenied) if the peer has refused our certificate after its handshake.
  size_t Decrypt(std::span<std::byte> out);
  bool is_closed() const noexcept { return closed_; }
  // Adds to Output() that we close our side.
  void Close();

  // Return the name and the serial number of the peer's certificate, after the handshake.
  const std::string& peer_name() const noexcept { return peer_name_; }
  const std::string& peer_serial() const noexcept { return peer_serial_; }
  const TlsCredentials& credentials() const noexcept { return *credentials_; }

  // The callback of OpenSSL that decides about the peer's certificate.
  static int CheckCertificate(int ok, X509_STORE_CTX* store);

  static constexpr size_t kRecordBytes = size_t{16} << 10;

 private:
  // Bytes in a buffer: those from begin to end are in use.
  struct Bytes {
    std::unique_ptr<std::byte[]> data;
    size_t capacity = 0, begin = 0, end = 0;
    size_t size() const noexcept { return end - begin; }
    void Reserve(size_t bytes);
  };
  static BIO_METHOD* Transport();
  static int ReadBytes(BIO* bio, char* to, int size);
  static int WriteBytes(BIO* bio, const char* from, int size);
  [[noreturn]] void ThrowFailure(int ssl_error);
  std::optional<Error> ProblemOfCertificate() const;
  std::optional<Error> RefusalByPeer(int reason) const;

  const std::shared_ptr<const TlsCredentials> credentials_;
  const std::string peer_;
  SslPtr ssl_;
  Bytes in_, out_, sending_;
  bool filled_ = false;  // the last input filled its buffer: more is waiting
  bool closed_ = false, established_ = false;
  bool has_received_ = false;
  std::string peer_name_, peer_serial_;
};

}  // namespace graphd
