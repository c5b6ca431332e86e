// SPDX-License-Identifier: Apache-2.0
#include "format/io/checksum.h"

#include <xxhash.h>

#include <cstddef>
#include <new>

namespace graphd {

struct Checksum::State {
  State() : xxh3(XXH3_createState()) {
    if (!xxh3) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(xxh3); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  XXH3_state_t* xxh3;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { Reset(); }
Checksum::~Checksum() = default;

void Checksum::Reset() noexcept { XXH3_64bits_reset(state_->xxh3); }

void Checksum::Update(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) XXH3_64bits_update(state_->xxh3, bytes.data(), bytes.size());
}

uint64_t Checksum::Digest() const noexcept { return XXH3_64bits_digest(state_->xxh3); }

}  // namespace graphd
