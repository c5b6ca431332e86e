// SPDX-License-Identifier: Apache-2.0
#include "graph/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "base/huge_pages.h"

namespace graphd {
namespace {

std::shared_ptr<const Segment> Small() {
  SegmentLayout layout;
  layout.Add("ids", DType::kUInt32, {3});
  layout.Add("rows", DType::kFloat32, {2, 2});
  SegmentWriter writer("test", std::move(layout));
  std::iota(writer.array<uint32_t>("ids").begin(), writer.array<uint32_t>("ids").end(), 5u);
  writer.array<float>("rows")[3] = 2.5f;
  return std::move(writer).Seal();
}

TEST(Segment, HasTheWrittenContents) {
  auto segment = Small();
  EXPECT_EQ(segment->array("ids").as<uint32_t>()[2], 7u);
  EXPECT_EQ(segment->array("rows").as<float>()[3], 2.5f);
  EXPECT_THROW(segment->array("nothing"), Error);
  EXPECT_THROW(segment->array("ids").as<float>(), Error);
}

TEST(Segment, ATensorOutlivesItsSegment) {
  Tensor ids = Small()->array("ids");
  EXPECT_EQ(ids.as<uint32_t>()[0], 5u);
}

TEST(Segment, CannotBeWrittenResizedOrUnsealed) {
  auto segment = Small();
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd(), 0),
            MAP_FAILED);
  EXPECT_NE(::ftruncate(segment->fd(), 0), 0);
  EXPECT_NE(::pwrite(segment->fd(), "x", 1, 0), 1);
  EXPECT_NE(::fcntl(segment->fd(), F_ADD_SEALS, F_SEAL_SEAL), 0);
}

// Returns the code of the error with which Map refuses a descriptor; kInternal if it does not.
ErrorCode CodeOfMap(UniqueFd fd, const SegmentLayout& layout) {
  try {
    Segment::Map(std::move(fd), layout);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(Segment, RefusesADescriptorThatIsNotSealed) {
  SegmentLayout layout;
  layout.Add("x", DType::kUInt8, {10});
  const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  for (const int missing : {all, F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK, 0}) {
    UniqueFd fd(::memfd_create("open", MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, all & ~missing), 0);
    EXPECT_EQ(CodeOfMap(std::move(fd), layout),
              missing != 0 ? ErrorCode::kCorrupt : ErrorCode::kInternal)
        << missing;
  }
  EXPECT_EQ(CodeOfMap(UniqueFd(::open("/proc/self/exe", O_RDONLY)), layout), ErrorCode::kCorrupt);
}

TEST(Segment, RefusesADescriptorThatIsTooSmall) {
  SegmentLayout layout;
  layout.Add("x", DType::kUInt8, {1 << 20});
  EXPECT_EQ(CodeOfMap(UniqueFd(::dup(Small()->fd())), layout), ErrorCode::kCorrupt);
}

// Returns the system's setting for huge pages of shared memory, such as "advise".
std::string ShmemSetting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string text;
  std::getline(file, text);
  const size_t begin = text.find('[');
  return begin == std::string::npos ? "" : text.substr(begin + 1, text.find(']') - begin - 1);
}

TEST(Segment, TellsHowManyBytesAreOnHugePages) {
  constexpr size_t kBytes = 4 * kHugePage + 4992;  // a multiple of 64
  SegmentLayout layout;
  layout.Add("x", DType::kUInt8, {static_cast<int64_t>(kBytes)});
  UniqueFd fd(::memfd_create("mixed", MFD_ALLOW_SEALING));
  const std::string zeros(kBytes, '\0');
  ASSERT_EQ(::write(fd.get(), zeros.data(), kBytes), static_cast<ssize_t>(kBytes));
  std::byte* const data = MapAligned(fd.get(), kBytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  ASSERT_NE(data, nullptr);
  CollapsePages(data, kHugePage);
  CollapsePages(data + 2 * kHugePage, kHugePage);
  ::munmap(data, kBytes);
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
  const SegmentPages pages = Segment::Map(std::move(fd), layout)->pages();
  EXPECT_EQ(pages.huge_bytes + pages.small_bytes, kBytes);
  const std::string setting = ShmemSetting();
  if (setting == "deny" || setting.empty()) {
    EXPECT_EQ(pages.huge_bytes, 0U);
  } else if (setting == "never" || setting == "advise") {
    EXPECT_EQ(pages.huge_bytes, 2 * kHugePage);
    EXPECT_EQ(pages.huge, PageKind::kTransparentHuge);
    EXPECT_EQ(pages.most(), PageKind::kSmall);
  } else {  // The kernel takes huge pages when they are first written.
    EXPECT_GE(pages.huge_bytes, 2 * kHugePage);
  }
  EXPECT_EQ(Small()->pages().huge_bytes, 0U);
}

// Returns how many small pages of [data, data + bytes) this process has mapped.
size_t MappedPages(const std::byte* data, size_t bytes) {
  constexpr size_t kPage = 4096;
  std::vector<uint64_t> entries(bytes / kPage);
  const UniqueFd fd = OpenFile("/proc/self/pagemap", O_RDONLY);
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(data) / kPage * 8);
  const auto size = static_cast<ssize_t>(entries.size() * 8);
  EXPECT_EQ(::pread(fd.get(), entries.data(), static_cast<size_t>(size), at), size);
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(), [](uint64_t e) { return e >> 63 != 0; }));
}

TEST(Segment, HugePagesCanBeMappedAheadOfReads) {
  constexpr size_t kBytes = 16 * kHugePage, kPages = kBytes / 4096;
  SegmentLayout layout;
  layout.Add("x", DType::kUInt8, {static_cast<int64_t>(kBytes)});
  const auto segment = std::move(SegmentWriter("ahead", std::move(layout))).Seal();
  const std::byte* const data = segment->array("x").data();
  const size_t mapped_before = MappedPages(data, kBytes);
  segment->MapAhead();
  // If memory is too fragmented for huge pages now, mapping ahead ends at the small ones.
  if (segment->pages().huge_bytes != kBytes) return;
  EXPECT_EQ(mapped_before, 0U);
  // A call also ends early where a piece took long, as it may in a virtual machine.
  for (int i = 0; i < 10 && MappedPages(data, kBytes) < kPages; i++) segment->MapAhead();
  EXPECT_EQ(MappedPages(data, kBytes), kPages);
}

TEST(Segment, LargeSegmentsAreAlignedToHugePagesAndReportTheirPages) {
  SegmentLayout layout;
  layout.Add("x", DType::kUInt8, {8 << 20});
  SegmentWriter writer("large", std::move(layout));
  auto segment = std::move(writer).Seal();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->array("x").data()) % (2 << 20), 0u);
  const SegmentPages pages = segment->pages();
  EXPECT_EQ(pages.huge_bytes + pages.small_bytes, segment->size());
}

TEST(SegmentLayout, TablesWithFalseClaimsAreRefused) {
  SegmentLayout good;
  good.Add("a", DType::kInt64, {10});
  good.Add("b", DType::kInt8, {3, 3});
  EXPECT_NO_THROW(SegmentLayout::FromTable(good.arrays(), good.total_bytes(), "test"));
  auto table = good.arrays();
  table[1].offset += 64;
  EXPECT_THROW(SegmentLayout::FromTable(table, good.total_bytes(), "test"), Error);
  table = good.arrays();
  table[0].shape = {INT64_MAX};
  EXPECT_THROW(SegmentLayout::FromTable(table, good.total_bytes(), "test"), Error);
  EXPECT_THROW(SegmentLayout::FromTable(good.arrays(), good.total_bytes() + 1, "test"), Error);
}

}  // namespace
}  // namespace graphd
