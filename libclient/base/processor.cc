// SPDX-License-Identifier: Apache-2.0
#include "base/processor.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/strings.h"

namespace graphd {
namespace {

const char* Wanted() noexcept {
  const char* const given = std::getenv(kVectorBitsVariable);
  return given != nullptr ? given : "";
}

// Returns the number of bits that the text names, or 0 if it is not a valid number of bits.
int ParseBits(std::string_view text) noexcept {
  return text == "128" ? 128 : text == "256" ? 256 : text == "512" ? 512 : 0;
}

}  // namespace

int ProcessorVectorBits() noexcept {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return 512;
  }
  return __builtin_cpu_supports("avx2") ? 256 : 128;
}

int ChosenVectorBits() noexcept {
  const int wanted = ParseBits(Wanted()), has = ProcessorVectorBits();
  return wanted != 0 ? std::min(wanted, has) : has;
}

void CheckVectorBits() {
  const std::string_view text = Wanted();
  if (text.empty() || ParseBits(text) != 0) return;
  Throw(ErrorCode::kInvalid, kVectorBitsVariable, " '", text,
        "': use 128, 256 or 512, or unset the variable");
}

std::string VectorBitsText() {
  const int chosen = ChosenVectorBits(), has = ProcessorVectorBits();
  std::string text = StrCat("vectors of up to ", chosen, " bits");
  if (chosen == has) return text;
  return StrCat(text, " of this processor's ", has, ", as ", kVectorBitsVariable, " says");
}

}  // namespace graphd
