// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace graphd {

// Size of a huge page (2 MiB). With small pages, random access to gigabytes spends half of its time
// on TLB misses.
constexpr size_t kHugePage = size_t{2} << 20;

// Calls mmap(2) for an address that is a multiple of kHugePage, so that the kernel can use huge
// pages, of the file or anonymous; mappings smaller than kHugePage may be anywhere. `fd` may be -1,
// as for mmap. Returns null and sets errno on failure.
std::byte* MapAligned(int fd, size_t bytes, int protection, int flags) noexcept;

// Allocates all pages of a writable mapping, as huge pages where possible: touches one small page
// of each huge page and collapses it. This costs less than half of allocating the small pages, and
// works unless the system's setting for transparent huge pages is "deny". Returns false and sets
// errno if there is too little memory.
bool PopulateHugePages(std::byte* data, size_t bytes) noexcept;

// Maps pages that are in memory for readers of a shared mapping, from its beginning on, as long as
// that is cheap. Mapping huge pages takes 1 ms per GiB; mapping small ones takes 80 ms, as much as
// when readers use them for the first time. So this function ends at the first piece that takes
// longer than huge pages would, and after 20 ms of processor time. The other pages are mapped when
// they are first read. Does nothing before Linux 5.14.
void MapPagesAhead(std::byte* data, size_t bytes) noexcept;

// Asks the kernel to collapse the small pages in [data, data + bytes) into huge pages, where all
// small pages of a huge page are in memory. This takes a millisecond or more per huge page, and
// readers and writers of the page wait meanwhile. Does nothing if the kernel cannot do it (before
// 6.1), has no free huge page, or the system's setting is "deny".
void CollapsePages(std::byte* data, size_t bytes) noexcept;

}  // namespace graphd
