// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "graphd/error.h"
#include "tls/record_protection.h"
#include "tls/tls_credentials.h"

namespace graphd {

// One TLS connection without its socket: the caller moves the encrypted bytes. Not thread-safe.
//
//   while (!session.Handshake()) { send Output(); receive into InputRoom(); }
//
// OpenSSL makes the handshake. After it, this class encrypts and decrypts the records, from and to
// the caller's memory. Records to be sent are collected in a buffer of 256 KiB, and records are
// received through another one, so that a system call moves many of them.
class TlsSession {
 public:
  // `peer` is the name of the other side in messages. After `records_of_a_key` records, the key for
  // sending is changed.
  TlsSession(std::shared_ptr<const TlsCredentials> credentials, std::string peer,
             uint64_t records_of_a_key = RecordProtection::kRecordsOfAKey);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Continues the handshake, and returns whether it is complete. Throws Error(kDenied) if one side
  // refuses the other's certificate, or if the peer does not speak TLS 1.3. Output() then has the
  // alert for the peer.
  bool Handshake();

  // Returns room for encrypted bytes from the peer. The caller reports by Received how many came.
  // It may call InputRoom only after Handshake or Decrypt has used all that it could of the earlier
  // bytes, and not after the peer has closed its side (is_closed): later bytes are not used.
  std::span<std::byte> InputRoom();
  void Received(size_t bytes);

  // Encrypts the beginning of `plain`, at most as much as a record holds. Returns the number of
  // bytes that it has encrypted; 0 if Output() has no room for another record. Called after the
  // handshake.
  size_t Encrypt(std::span<const std::byte> plain);
  // Returns the encrypted bytes to be sent. They stay in place until the caller calls Sent, which
  // drops them.
  std::span<const std::byte> Output();
  void Sent();
  // Returns whether bytes that Output has returned are not sent yet.
  bool is_sending() const noexcept { return sending_.size() > 0; }

  // Decrypts at most out.size() bytes and returns their number. If it returns 0, more input is
  // needed, or the peer has closed its side (is_closed). May overwrite all of `out`. Throws
  // Error(kUnavailable) if a record is damaged, and Error(kDenied) if the peer has refused our
  // certificate after its handshake. After an error, the session can't be used: Encrypt and Decrypt
  // throw the same error again. If the peer has made the error, Output() then has an alert that
  // tells it.
  size_t Decrypt(std::span<std::byte> out);
  bool is_closed() const noexcept { return closed_; }
  bool has_failed() const noexcept { return failure_.has_value(); }
  // Adds to Output() the alert that closes our side of the connection.
  void Close();

  // Return the name and the serial number of the peer's certificate, after the handshake.
  const std::string& peer_name() const noexcept { return peer_name_; }
  const std::string& peer_serial() const noexcept { return peer_serial_; }
  const TlsCredentials& credentials() const noexcept { return *credentials_; }

  // The callbacks of OpenSSL: CheckCertificate decides about the peer's certificate, and TakeSecret
  // takes the secrets of the handshake (in the form of NSS's key log).
  static int CheckCertificate(int ok, X509_STORE_CTX* store);
  static void TakeSecret(const SSL* ssl, const char* line);

  static constexpr size_t kRecordBytes = RecordProtection::kMostContent;

 private:
  // Bytes in a buffer. Those from `begin` to `end` are in use.
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
  // Ends the session with an error and, unless the peer knows it already, an alert (SSL_AD_...).
  [[noreturn]] void ThrowBroken(const std::string& why, std::optional<int> alert = std::nullopt);
  void SendAlert(int level, int description);
  void CheckHandOver() const;
  void Seal(ContentType type, std::span<const std::byte> content);
  void UpdateSendingKey();
  size_t DecryptRecord(size_t length, std::span<std::byte> out);
  size_t TakeSpare(std::span<std::byte> out);
  void HandleAlert(std::span<const std::byte> alert);
  void HandleKeyUpdate(std::span<const std::byte> message);
  std::optional<Error> ProblemOfCertificate() const;
  std::optional<Error> RefusalByPeer(int reason) const;

  const std::shared_ptr<const TlsCredentials> credentials_;
  const std::string peer_;
  const uint64_t records_of_a_key_;
  SslPtr ssl_;  // null after the handshake
  RecordProtection::Secret client_secret_{}, server_secret_{};
  int secrets_ = 0;
  std::optional<RecordProtection> encryption_, decryption_;  // after the handshake
  Bytes in_, out_, sending_;
  Bytes spare_;          // the decrypted rest of a record that did not fit into the caller's memory
  bool filled_ = false;  // the last input has filled its buffer: more may be waiting
  bool closed_ = false;
  std::optional<Error> failure_;  // the error after which nothing more is decrypted or encrypted
  bool has_received_ = false;
  bool update_is_due_ = false;     // the peer has asked us to change our key
  bool data_since_update_ = true;  // the peer has sent data since it changed its key
  // The bytes of data that the peer has sent and that changes of its key have not used up. Each
  // change takes a few microseconds, which must not cost the peer much less than us.
  static constexpr size_t kUpdateCost = 1024, kUpdateCredit = 64 * kUpdateCost;
  size_t update_credit_ = kUpdateCredit;
  std::string peer_name_, peer_serial_;
};

}  // namespace graphd
