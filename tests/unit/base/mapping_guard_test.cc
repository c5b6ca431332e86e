// SPDX-License-Identifier: Apache-2.0
#include "base/mapping_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "base/file.h"

namespace graphd {
namespace {

constexpr size_t kPage = 4096, kPages = 16, kBytes = kPages * kPage;

// A mapped file of a tmpfs, each of whose pages begins with its number and 1.
class MappedPages {
 public:
  MappedPages() {
    char name[] = "/dev/shm/graphd_guard_XXXXXX";
    fd_ = UniqueFd(::mkstemp(name));
    path_ = name;
    Truncate(kBytes);
    data_ = static_cast<volatile unsigned char*>(
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    for (size_t page = 0; page < kPages; page++) data_[page * kPage] = Mark(page);
  }
  ~MappedPages() {
    ::munmap(begin(), kBytes);
    ::unlink(path_.c_str());
  }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  static unsigned char Mark(size_t page) { return static_cast<unsigned char>(page + 1); }
  void* begin() const { return const_cast<unsigned char*>(data_); }
  unsigned char Read(size_t page) const { return data_[page * kPage]; }
  void Write(size_t page, unsigned char value) { data_[page * kPage] = value; }
  void Truncate(size_t bytes) { EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0); }

 private:
  UniqueFd fd_;
  std::string path_;
  volatile unsigned char* data_ = nullptr;
};

TEST(MappingGuard, ATruncatedFileReadsAsZerosAndIsReported) {
  MappedPages pages, others;
  const MappingGuard guard(pages.begin(), kBytes), other(others.begin(), kBytes);
  EXPECT_FALSE(guard.damaged());
  EXPECT_EQ(guard.intact_bytes(), kBytes);
  pages.Truncate(4 * kPage);
  EXPECT_EQ(pages.Read(3), MappedPages::Mark(3));
  EXPECT_FALSE(guard.damaged());
  EXPECT_EQ(pages.Read(9), 0);
  EXPECT_TRUE(guard.damaged());
  EXPECT_EQ(guard.intact_bytes(), 9 * kPage);
  EXPECT_EQ(pages.Read(15), 0);
  EXPECT_EQ(pages.Read(5), 0);
  EXPECT_EQ(guard.intact_bytes(), 5 * kPage);
  pages.Write(5, 7);
  EXPECT_EQ(pages.Read(5), 7);
  EXPECT_EQ(pages.Read(3), MappedPages::Mark(3));
  EXPECT_FALSE(other.damaged());
  EXPECT_EQ(others.Read(9), MappedPages::Mark(9));
}

TEST(MappingGuard, ManyThreadsMayMeetTheDamageAtOnce) {
  for (int round = 0; round < 20; round++) {
    MappedPages pages;
    const MappingGuard guard(pages.begin(), kBytes);
    pages.Truncate(0);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        for (size_t page = t; page < kPages; page += 4) EXPECT_EQ(pages.Read(page), 0);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(guard.intact_bytes(), 0U);
  }
}

TEST(MappingGuardDeathTest, AnotherBusErrorEndsTheProcessAsBefore) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);  // a sanitizer's handler would print a report and exit
        MappedPages guarded;
        MappedPages unguarded;
        const MappingGuard guard(guarded.begin(), kBytes);
        unguarded.Truncate(0);
        unguarded.Read(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);
        MappedPages pages;
        { const MappingGuard gone(pages.begin(), kBytes); }
        pages.Truncate(0);
        pages.Read(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

TEST(MappingGuardDeathTest, AnotherBusErrorGoesToTheHandlerThatWasThereBefore) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_sigaction = [](int, siginfo_t* info, void*) {
          ::_exit(info->si_code == BUS_ADRERR ? 42 : 1);
        };
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGBUS, &action, nullptr);
        MappedPages guarded;
        MappedPages unguarded;
        const MappingGuard guard(guarded.begin(), kBytes);
        guarded.Truncate(0);
        guarded.Read(0);
        unguarded.Truncate(0);
        unguarded.Read(0);
      },
      ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace graphd
