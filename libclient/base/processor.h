// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// The environment variable that limits the bits of the vectors that code uses: 128, 256 or 512.
inline constexpr const char* kVectorBitsVariable = "GRAPHD_VECTOR_BITS";

// Returns the bits of the widest vectors that this machine's processor has and that some code here
// has a version for: 512 (AVX-512 F, DQ and VL), 256 (AVX2), or the 128 that every build requires.
int ProcessorVectorBits() noexcept;

// Returns the bits of ProcessorVectorBits(), but no more than the environment variable allows.
// Ignores invalid values of the variable.
int ChosenVectorBits() noexcept;

// Throws Error(kInvalid) if the environment variable has an invalid value. Programs call it when
// they start, and `Initialize` calls it for each session.
void CheckVectorBits();

// Returns a text for logs with the bits that are chosen and, if they are fewer, the processor's.
std::string VectorBitsText();

// ChosenVectorBits() when the process began; initialised before main(). Code chooses its version by
// it, so that tests can run every version on one machine. Results are the same bit for bit.
inline const int kVectorBits = ChosenVectorBits();

}  // namespace graphd
