// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/format/mutate.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "base/strings.h"

namespace graphd::test {
namespace {

class Mutator {
 public:
  Mutator(const std::string& original, const Damage& damage)
      : original_(original), damage_(damage), random_(damage.seed) {}

  // Damages `bytes` once and returns a description.
  std::string Apply(std::string& bytes) {
    const size_t at = Offset(bytes.size());
    switch (random_.Below(8)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random_.Below(8)));
        return StrCat("bit flipped at ", at);
      case 1:
        bytes[at] = static_cast<char>(random_.Below(256));
        return StrCat("byte set at ", at);
      case 2: {
        const size_t length = std::min<size_t>(1 + random_.Below(24), bytes.size() - at);
        bytes.erase(at, length);
        return StrCat(length, " bytes left out at ", at);
      }
      case 3: {
        const size_t length = std::min<size_t>(1 + random_.Below(24), bytes.size() - at);
        bytes.insert(at, bytes.substr(at, length));
        return StrCat(length, " bytes doubled at ", at);
      }
      case 4: {
        const size_t other = Offset(bytes.size());
        const size_t length = std::min<size_t>(8, bytes.size() - std::max(at, other));
        for (size_t i = 0; i < length; i++) std::swap(bytes[at + i], bytes[other + i]);
        return StrCat("bytes at ", at, " and ", other, " exchanged");
      }
      default:
        return SetNumber(bytes, at);
    }
  }

 private:
  size_t Offset(size_t size) {
    const size_t skipped = std::min(damage_.skip_end, size) - std::min(damage_.skip_begin, size);
    const size_t at = random_.Below(size - skipped);
    return at < damage_.skip_begin ? at : at + skipped;
  }

  std::string SetNumber(std::string& bytes, size_t at) {
    const uint64_t size = original_.size();
    const uint64_t values[] = {0,          1,          2,          0x7f,       0x80,
                               0xff,       0x7fff,     0x7fffffff, 0x80000000, 0xffffffff,
                               1ull << 32, 1ull << 40, 1ull << 56, 1ull << 61, 1ull << 62,
                               INT64_MAX,  1ull << 63, UINT64_MAX, size,       size - 1,
                               size + 1,   size / 8,   size / 2,   size * 2};
    const uint64_t value = values[random_.Below(std::size(values))];
    const size_t width = std::min<size_t>(size_t{1} << random_.Below(4), bytes.size() - at);
    std::memcpy(bytes.data() + at, &value, width);
    return StrCat(width, " bytes at ", at, " set to ", value);
  }

  const std::string& original_;
  const Damage& damage_;
  CounterRng random_;
};

}  // namespace

void Mutate(const std::string& bytes, const Damage& damage,
            const std::function<void(const std::string&, const std::string&)>& visit) {
  for (size_t cut = 0; cut < bytes.size(); cut += damage.cut_step) {
    if (cut >= damage.skip_begin && cut < damage.skip_end) continue;
    visit(StrCat("cut at ", cut), bytes.substr(0, cut));
  }
  if (bytes.empty()) return;
  Mutator mutator(bytes, damage);
  for (size_t i = 0; i < damage.count; i++) {
    std::string copy = bytes;
    std::string name = mutator.Apply(copy);
    if (i % 4 == 3 && !copy.empty()) name += ", " + mutator.Apply(copy);
    visit(name, copy);
  }
}

}  // namespace graphd::test
