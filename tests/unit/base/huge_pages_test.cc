// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/file.h"

namespace graphd {
namespace {

// Collapsing pages preserves the contents, in this mapping and in others.
TEST(HugePages, CollapsingKeepsTheContents) {
  const UniqueFd fd(::memfd_create("huge-pages-test", MFD_CLOEXEC));
  ASSERT_TRUE(fd);
  constexpr size_t kBytes = 3 * kHugePage + 4096;
  ASSERT_EQ(::ftruncate(fd.get(), kBytes), 0);
  std::byte* data = MapAligned(fd.get(), kBytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kHugePage, 0U);
  std::byte* other = MapAligned(fd.get(), kBytes, PROT_READ, MAP_SHARED);
  ASSERT_NE(other, nullptr);
  const auto value = [](size_t i) { return static_cast<std::byte>(i * 2654435761U >> 13); };
  // Write all of the first huge page, little of the second, nothing of the third.
  for (size_t i = 0; i < kHugePage + 5000; i++) data[i] = value(i);
  CollapsePages(data + 10, 10);  // contains no huge page
  CollapsePages(data, kBytes);
  data[kBytes - 1] = std::byte{7};
  for (const std::byte* all : {data, other}) {
    for (size_t i = 0; i < kHugePage + 5000; i++) ASSERT_EQ(all[i], value(i)) << i;
    for (size_t i = kHugePage + 5000; i < kBytes - 1; i++) ASSERT_EQ(all[i], std::byte{0}) << i;
    EXPECT_EQ(all[kBytes - 1], std::byte{7});
  }
  ::munmap(data, kBytes);
  ::munmap(other, kBytes);
}

TEST(HugePages, PopulatedPagesAreAllocatedAndZero) {
  const UniqueFd fd(::memfd_create("huge-pages-test", MFD_CLOEXEC));
  ASSERT_TRUE(fd);
  constexpr size_t kBytes = 2 * kHugePage + 5 * 4096;
  ASSERT_EQ(::ftruncate(fd.get(), kBytes), 0);
  std::byte* data = MapAligned(fd.get(), kBytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  ASSERT_NE(data, nullptr);
  ASSERT_TRUE(PopulateHugePages(data, kBytes));
  struct stat status {};
  ASSERT_EQ(::fstat(fd.get(), &status), 0);
  EXPECT_GE(static_cast<size_t>(status.st_blocks) * 512, kBytes);
  for (size_t i = 0; i < kBytes; i++) ASSERT_EQ(data[i], std::byte{0}) << i;
  ::munmap(data, kBytes);
}

TEST(HugePages, PopulatingBeyondTheFileFails) {
  const UniqueFd fd(::memfd_create("huge-pages-test", MFD_CLOEXEC));
  ASSERT_TRUE(fd);
  ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
  std::byte* data = MapAligned(fd.get(), 2 * kHugePage, PROT_READ | PROT_WRITE, MAP_SHARED);
  ASSERT_NE(data, nullptr);
  EXPECT_FALSE(PopulateHugePages(data, 2 * kHugePage));  // the file is smaller
  EXPECT_EQ(errno, EFAULT);
  ::munmap(data, 2 * kHugePage);
}

TEST(HugePages, MappingImpossibleSizesReturnsNull) {
  EXPECT_EQ(MapAligned(-1, SIZE_MAX - 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(MapAligned(-1, 4096, PROT_READ, MAP_SHARED), nullptr);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace graphd
