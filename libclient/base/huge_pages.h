// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace graphd {

// Large pages of the processor: random access to gigabytes spends half of its time on finding small
// ones.
constexpr size_t kHugePage = size_t{2} << 20;

// mmap at a multiple of kHugePage, so that the file's large pages, or large anonymous ones, can be
// mapped as such; anywhere, if it is less than one. `fd` may be -1, as mmap has it. Null, with
// errno, if it fails.
std::byte* MapAligned(int fd, size_t bytes, int protection, int flags) noexcept;

// Takes memory for all of a mapping that can be written, on large pages where there are any: one
// small page is taken of each large one and made large, which costs less than half of taking the
// small ones, and which only the setting "deny" forbids. False, with errno, if there is too little.
bool PopulateHugePages(std::byte* data, size_t bytes) noexcept;

// Has the kernel make large pages of the small ones in [data, data + bytes), where all of one is in
// memory, unless the system's setting is "deny". A millisecond or more for each; whoever reads or
// writes it waits. A kernel that has no way to (before 6.1), or no large page to give, leaves it as
// it is.
void CollapsePages(std::byte* data, size_t bytes) noexcept;

}  // namespace graphd
