// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace graphd::test {

// The damage that Mutate() does to a file; the same in every run.
struct Damage {
  uint64_t seed = 1;
  size_t count = 1000;
  size_t cut_step = 7;
  size_t skip_begin = 0, skip_end = 0;
};

// Calls `visit(name, bytes)` with damaged copies of `bytes`, to test readers of files: copies cut
// at every `cut_step`th offset, and `count` (seeded) copies with flipped bytes, with numbers of 1
// to 8 bytes set to extremes, or with pieces left out, doubled or exchanged. `name` describes the
// damage. Offsets in [skip_begin, skip_end) are not damaged.
void Mutate(const std::string& bytes, const Damage& damage,
            const std::function<void(const std::string& name, const std::string& bytes)>& visit);

}  // namespace graphd::test
