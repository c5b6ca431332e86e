// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "client/inference/run_records.h"
#include "tests/fuzz/support/target.h"

// Reads what a run of layer-wise inference has kept on the servers. The first byte chooses the
// arguments or the marks, the second one the number of trainers and of layers. Arguments that are
// read can be kept and are read again as the same.

namespace graphd::fuzz {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void ReadArguments(std::string_view text) {
  const auto arguments = ArgumentsFromText(text);
  if (!arguments) return;
  const auto again = ArgumentsFromText(ArgumentsToText(*arguments, "run"));
  Require(again == arguments, "kept and read again, the arguments are others");
}

void ReadMarksOf(std::string_view bytes, int64_t num_trainers, int64_t num_layers) {
  const auto rows = static_cast<int64_t>(bytes.size() / 16);
  Tensor marks = Tensor::Empty(DType::kInt64, {rows, 2});
  std::memcpy(marks.data(), bytes.data(), marks.num_bytes());
  const auto places = ReadMarks(marks, num_trainers, num_layers);
  if (!places) return;
  Require(static_cast<int64_t>(places->size()) == num_trainers, "a trainer has no mark");
  for (const InferenceRun::Place& each : *places) {
    Require(each.layer >= 0 && each.layer < num_layers, "a mark names a layer that is not there");
    Require(each.batches >= 0, "a mark counts fewer than no batches");
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.size() < 2) return;
  const int sizes = static_cast<unsigned char>(input[1]);
  if (input[0] == 'm') return ReadMarksOf(input.substr(2), sizes % 16, sizes / 16);
  ReadArguments(input.substr(2));
}

std::vector<std::string> Seeds() {
  const InferenceRun::Arguments arguments{
      {"batch_size", "1024"}, {"fanouts", "5/5,all"}, {"version", "\u00e9 \"2\""}};
  const int64_t places[] = {1, 7, 0, 3};
  std::string marks(sizeof places, '\0');
  std::memcpy(marks.data(), places, sizeof places);
  return {"a " + ArgumentsToText(arguments, "run"), "a {}", "m\x22" + marks};
}

}  // namespace graphd::fuzz
