// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <rocksdb/file_system.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace graphd::store {

// Returns the status that RocksDB takes for a full disk if it is that of an exhausted disk quota
// (EDQUOT). RocksDB itself takes this for an error of the disk, after which it refuses all changes
// until it is opened again.
inline rocksdb::IOStatus WithoutQuota(rocksdb::IOStatus status) {
  if (status.ok() || status.IsNoSpace() ||
      status.ToString().find(std::strerror(EDQUOT)) == std::string::npos) {
    return status;
  }
  rocksdb::IOStatus full = rocksdb::IOStatus::NoSpace(status.ToString());
  full.SetRetryable(true);
  return full;
}

// A file that RocksDB writes, and that reports an exhausted quota as a full disk. Used as its
// target is.
class QuotaFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using rocksdb::FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Append(data, options, debug));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& sums,
                           rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Append(data, options, sums, debug));
  }
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset,
                                     const rocksdb::IOOptions& options,
                                     rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::PositionedAppend(data, offset, options, debug));
  }
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset,
                                     const rocksdb::IOOptions& options,
                                     const rocksdb::DataVerificationInfo& sums,
                                     rocksdb::IODebugContext* debug) override {
    return WithoutQuota(
        FSWritableFileWrapper::PositionedAppend(data, offset, options, sums, debug));
  }
  rocksdb::IOStatus Allocate(uint64_t offset, uint64_t bytes, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Allocate(offset, bytes, options, debug));
  }
  rocksdb::IOStatus Flush(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Flush(options, debug));
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Sync(options, debug));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Fsync(options, debug));
  }
  rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    return WithoutQuota(FSWritableFileWrapper::Close(options, debug));
  }
};

}  // namespace graphd::store
