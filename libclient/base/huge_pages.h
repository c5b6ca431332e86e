// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace graphd {

// The size of a huge page (2 MiB). With small pages, random access to gigabytes of memory spends
// half of its time on TLB misses.
constexpr size_t kHugePage = size_t{2} << 20;

// Maps a file, or anonymous memory if `fd` is -1, as mmap(2) does. The address is a multiple of
// kHugePage, so that the kernel can use huge pages, unless `bytes` is less than kHugePage. Returns
// null and sets errno on failure.
std::byte* MapAligned(int fd, size_t bytes, int protection, int flags) noexcept;

// Allocates all pages of a writable mapping, as huge pages where possible: touches one small page
// of each huge page and collapses it. This costs less than half of allocating the small pages, and
// works unless the system's setting for transparent huge pages is "deny". Returns false and sets
// errno if there is too little memory. Threads that populate parts of one mapping may share
// `none_left`: it is set once the kernel has no huge page left, and no others are asked for then.
bool PopulateHugePages(std::byte* data, size_t bytes,
                       std::atomic<bool>* none_left = nullptr) noexcept;

// Enters pages of a shared mapping that are in memory into the page table of this process, from the
// beginning of the mapping on, as long as that is cheap. This takes 1 ms per GiB of huge pages. It
// takes 80 ms per GiB of small pages, which is no less than when they are first read. So this
// function ends at the first piece that takes longer than huge pages would, and after 20 ms of
// processor time. The kernel maps the other pages when they are first read. Does nothing before
// Linux 5.14.
void MapPagesAhead(std::byte* data, size_t bytes) noexcept;

// Asks the kernel to collapse the small pages in [data, data + bytes) into huge pages, where all
// small pages of a huge page are in memory. This takes a millisecond or more per huge page, and
// readers and writers of the page wait meanwhile. Does nothing if the kernel cannot do it (before
// Linux 6.1) or has no free huge page, or if the system's setting for transparent huge pages is
// "deny".
void CollapsePages(std::byte* data, size_t bytes) noexcept;

}  // namespace graphd
