// SPDX-License-Identifier: Apache-2.0
// Tests that a disk quota is treated as a full disk. Quotas do not hold for root, who runs the
// tests, so that the writes of RocksDB's files are made to fail as a quota does.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "tests/unit/store/store_helpers.h"

namespace {

std::atomic<bool> quota_is_used_up = false;

bool IsOfRocksDb(int fd) {
  char path[512] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return ::readlink(link.c_str(), path, sizeof path - 1) > 0 &&
         std::string(path).find("/pages/") != std::string::npos;
}

}  // namespace

extern "C" ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  static const auto real = reinterpret_cast<decltype(&pwrite)>(::dlsym(RTLD_NEXT, "pwrite"));
  if (quota_is_used_up && IsOfRocksDb(fd)) {
    errno = EDQUOT;
    return -1;
  }
  return real(fd, data, bytes, offset);
}
extern "C" ssize_t pwrite64(int fd, const void* data, size_t bytes, off_t offset) {
  return pwrite(fd, data, bytes, offset);
}

namespace graphd::store {
namespace {

using namespace graphd::store::testing;
using ::testing::HasSubstr;

TEST(Quota, WriteBackGoesOnWhenThereIsRoomAgain) {
  const graphd::testing::ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 10);
  quota_is_used_up = true;
  EXPECT_THAT(Failure([&] { store.WriteBackNow(); }), HasSubstr("overloaded: "));
  quota_is_used_up = false;
  ApplyRandom(store, table, 11, 12);
  std::string failure;
  for (const auto end = Clock::now() + std::chrono::minutes(1); Clock::now() < end;) {
    failure = Failure([&] { store.WriteBackNow(); });
    if (failure == "no error") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(failure, "no error");
}

}  // namespace
}  // namespace graphd::store
