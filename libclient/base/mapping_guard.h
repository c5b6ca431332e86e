// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <utility>

namespace graphd {

// Keeps the process alive if mapped memory loses its file: somebody truncates it, or the memory
// itself is defective. The kernel then raises SIGBUS in the thread that uses the memory. A handler
// finds the guard, maps zeroed memory of this process over the mapping, from the page used to its
// end, and lets the thread go on; whoever used the memory then asks whether it is damaged, before
// it trusts what it has read or reports that it has written. A SIGBUS elsewhere goes to the handler
// that was installed before, or ends the process if there was none. The handler is installed with
// the first guard. The methods can be called by any thread.
class MappingGuard {
 public:
  MappingGuard() = default;
  // Guards a mapping, which is unmapped after the guard is destroyed. Throws
  // Error(kOverloaded) if there are too many guards (65,536).
  MappingGuard(void* begin, size_t bytes);
  MappingGuard(MappingGuard&& o) noexcept : slot_(std::exchange(o.slot_, nullptr)) {}
  MappingGuard& operator=(MappingGuard&& o) noexcept {
    std::swap(slot_, o.slot_);
    return *this;
  }
  ~MappingGuard();

  // Returns whether a part of the memory was replaced.
  bool damaged() const noexcept;
  // Returns the number of bytes at the beginning that are still the file's.
  size_t intact_bytes() const noexcept;

  struct Slot;

 private:
  Slot* slot_ = nullptr;  // null: guards nothing
};

}  // namespace graphd
