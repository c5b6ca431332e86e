// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <utility>

namespace graphd {

// A guard of a mapped file, which keeps the process alive if somebody truncates the file or its
// memory is defective. The kernel then raises SIGBUS in a thread that uses the memory. A handler
// finds the guard, maps zeroed memory of this process over the mapping, from the page that was used
// to the end of the mapping, and lets the thread go on. So code that uses the memory must call
// damaged() before it trusts what it has read, or reports that it has written. A SIGBUS elsewhere
// goes to the handler that was installed before, or ends the process if there was none. The first
// guard installs the handler. The methods can be called by any thread.
class MappingGuard {
 public:
  MappingGuard() = default;
  // Guards a mapping, which must not be unmapped before the guard is destroyed. Throws
  // Error(kOverloaded) if there are 65,536 guards already.
  MappingGuard(void* begin, size_t bytes);
  MappingGuard(MappingGuard&& o) noexcept : slot_(std::exchange(o.slot_, nullptr)) {}
  MappingGuard& operator=(MappingGuard&& o) noexcept {
    std::swap(slot_, o.slot_);
    return *this;
  }
  ~MappingGuard();

  // Returns whether a part of the memory was replaced.
  bool damaged() const noexcept;
  // Returns the number of bytes at the beginning of the mapping that were not replaced.
  size_t intact_bytes() const noexcept;

  struct Slot;

 private:
  Slot* slot_ = nullptr;  // null: guards nothing
};

}  // namespace graphd
