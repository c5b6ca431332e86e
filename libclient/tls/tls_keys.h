// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/threads/mutex.h"
#include "tls/tls_credentials.h"

namespace graphd {

// The keys of one side. They are read again when their files change, so that keys can be rotated
// and revoked without a restart. Thread-safe.
class TlsKeys {
 public:
  // Reads the keys. If their files do not fit each other, tries again for a moment, because
  // somebody may be replacing them. Throws as ReadTlsCredentials and RevokedList::Parse do.
  TlsKeys(KeyDirectory directory, std::string server_name, TlsSide side);
  TlsKeys(const TlsKeys&) = delete;
  TlsKeys& operator=(const TlsKeys&) = delete;

  const KeyDirectory& directory() const noexcept { return directory_; }
  std::shared_ptr<const TlsCredentials> Current() const;
  // Reads changed files again, and returns whether there were any. If changed keys can't be used,
  // the old ones stay in use; an error is logged if the next call can't use the same files either.
  // If the list of revoked certificates can't be used or has vanished, the old list stays in force,
  // and this is logged once. Each call tries again to use a list that is there.
  bool Refresh();

 private:
  using Version = std::vector<int64_t>;
  Version KeysVersion() const;
  std::shared_ptr<const RevokedList> ReadRevoked() const;

  const KeyDirectory directory_;
  const std::string server_name_;
  const TlsSide side_;
  Mutex refreshing_;  // one thread at a time reads files
  Version keys_version_ GRAPHD_GUARDED_BY(refreshing_);
  Version revoked_version_ GRAPHD_GUARDED_BY(refreshing_);
  // The list that could not be used and was logged.
  Version failed_revoked_version_ GRAPHD_GUARDED_BY(refreshing_);
  Version failed_version_ GRAPHD_GUARDED_BY(refreshing_);  // keys that one call could not use
  mutable Mutex mutex_;
  std::shared_ptr<const TlsCredentials> current_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
