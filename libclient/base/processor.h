// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// The environment variable that limits the bits of the vectors that code uses: 128, 256 or 512.
inline constexpr const char* kVectorBitsVariable = "GRAPHD_VECTOR_BITS";

// Returns the number of bits of the widest vectors that this machine's processor supports and that
// a version of our code uses: 512 (AVX-512 F, DQ and VL), 256 (AVX2), or the 128 that every build
// requires.
int ProcessorVectorBits() noexcept;

// Returns the bits of ProcessorVectorBits(), but no more than the environment variable allows.
// Ignores invalid values of the variable.
int ChosenVectorBits() noexcept;

// Throws Error(kInvalid) if the environment variable has an invalid value. Programs call it when
// they start, and `Initialize` calls it for each session.
void CheckVectorBits();

// Returns a text for logs with the chosen number of bits and, if it is smaller than the number of
// ProcessorVectorBits, with that number, too.
std::string VectorBitsText();

// The result of ChosenVectorBits() before main(). Functions that have a version for each number of
// bits choose the version by it, so that tests can run every version on one machine. All versions
// have the same results, bit for bit.
inline const int kVectorBits = ChosenVectorBits();

}  // namespace graphd
