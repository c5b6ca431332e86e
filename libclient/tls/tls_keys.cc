// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_keys.h"

#include <chrono>
#include <utility>

#include "base/interruptions.h"
#include "base/log.h"
#include "base/strings.h"

namespace graphd {
namespace {

// The length of a pause between attempts to read keys that fit each other, and the number of
// attempts.
constexpr std::chrono::milliseconds kPause{50};
constexpr int kAttempts = 10;

TlsCredentials ReadWhole(const KeyDirectory& keys, const std::string& server_name, TlsSide side) {
  for (int attempt = 1;; attempt++) {
    try {
      return ReadTlsCredentials(keys, server_name, side);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalid || attempt == kAttempts) throw;
    }
    AwaitTime(kPause);
  }
}

}  // namespace

TlsKeys::TlsKeys(KeyDirectory directory, std::string server_name, TlsSide side)
    : directory_(std::move(directory)), server_name_(std::move(server_name)), side_(side) {
  // The versions are taken before the files are read, so that the next Refresh sees a change
  // meanwhile.
  keys_version_ = KeysVersion();
  revoked_version_ = directory_.Version({"revoked"});
  auto credentials = std::make_shared<TlsCredentials>(ReadWhole(directory_, server_name_, side_));
  credentials->revoked = ReadRevoked();
  current_ = std::move(credentials);
}

TlsKeys::Version TlsKeys::KeysVersion() const {
  const std::string name = side_ == TlsSide::kServer ? "server" : "client";
  return directory_.Version({"ca.pem", name + ".pem", name + ".key"});
}

std::shared_ptr<const RevokedList> TlsKeys::ReadRevoked() const {
  if (!directory_.Has("revoked")) return std::make_shared<RevokedList>();
  return std::make_shared<RevokedList>(
      RevokedList::Parse(directory_.Read("revoked"), directory_.PathOf("revoked")));
}

std::shared_ptr<const TlsCredentials> TlsKeys::Current() const {
  const MutexLock lock(mutex_);
  return current_;
}

bool TlsKeys::Refresh() {
  const MutexLock refreshing(refreshing_);
  Version keys = KeysVersion(), revoked = directory_.Version({"revoked"});
  if (keys == keys_version_ && revoked == revoked_version_) return false;
  auto next = std::make_shared<TlsCredentials>(*Current());
  if (revoked != revoked_version_) {
    try {
      if (directory_.Has("revoked")) {
        next->revoked = ReadRevoked();
        LogInfo("read ", directory_.PathOf("revoked"), ": ", next->revoked->names().size(),
                " certificates are revoked");
      } else {
        LogWarning(directory_.PathOf("revoked"),
                   " has vanished; the certificates that it named stay revoked until a restart");
      }
      revoked_version_ = std::move(revoked);
    } catch (const Error& error) {
      // There may be no descriptor at this moment, so the next call reads the list again.
      if (revoked != failed_revoked_version_) {
        LogError(error.what(), " (the list read before stays in force)");
      }
      failed_revoked_version_ = std::move(revoked);
    }
  }
  if (keys != keys_version_) {
    try {
      TlsCredentials read = ReadTlsCredentials(directory_, server_name_, side_);
      read.revoked = next->revoked;
      *next = std::move(read);
      keys_version_ = std::move(keys);
      LogInfo("read new keys in ", directory_.path());
    } catch (const Error& error) {
      // Somebody may be replacing the files one after another, so the next call reads them again.
      if (keys == failed_version_) {
        LogError(error.what(), " (the old keys stay in use)");
        keys_version_ = keys;
      }
      failed_version_ = std::move(keys);
    }
  }
  const MutexLock lock(mutex_);
  current_ = std::move(next);
  return true;
}

}  // namespace graphd
