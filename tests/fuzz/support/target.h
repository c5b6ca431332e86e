// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/error.h"

// A fuzz target is a program of one source file that defines the two functions below; main.cc joins
// them to libFuzzer. libFuzzer and the sanitizers report a crash, a leak, undefined behaviour, a
// large allocation and an input that takes too long.

namespace graphd::fuzz {

// Reads one input. An Error that is not kInternal is the right answer to a bad input, any other
// exception is a fault.
void ReadInput(std::string_view input);

// Returns valid inputs, from which libFuzzer begins.
std::vector<std::string> Seeds();

// Aborts if the error is of a kind that no input may cause.
void CheckError(const Error& error);

// Calls f, which reads an input and may throw Error as ReadInput may. Used by targets that read one
// input in several ways.
template <class F>
void Attempt(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    CheckError(error);
  }
}

// Reads every byte, so that a sanitizer sees those that must not be read.
void Touch(std::span<const std::byte> bytes);

}  // namespace graphd::fuzz
