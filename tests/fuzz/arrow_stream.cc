// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "format/arrow/feature_values.h"
#include "format/arrow/ipc_stream.h"
#include "format/input/batch_ids.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"

// Reads streams of Arrow's IPC format, and every column as a feature, with the dtypes of text and
// with its own, and as ids.

namespace graphd::fuzz {
namespace {

const std::string kTable = "table";

std::unique_ptr<ArrowStream> Open(std::string_view input) {
  return OpenIpcStream(
      [input](std::span<std::byte> out) mutable {
        const size_t size = std::min(out.size(), input.size());
        std::copy_n(reinterpret_cast<const std::byte*>(input.data()), size, out.data());
        input.remove_prefix(size);
        return size;
      },
      kTable);
}

void ReadFeatures(std::string_view input, FeatureDTypes dtypes) {
  const auto stream = Open(input);
  std::vector<FeatureValues> values;
  for (const ArrowField& field : stream->fields()) values.emplace_back(field.name, dtypes);
  std::vector<int64_t> rows(values.size());
  ArrowBatch batch;
  while (stream->Next(batch)) {
    for (size_t c = 0; c < values.size(); c++) {
      const ArrowColumn* column = &batch.columns[c];
      Attempt([&] {
        values[c].Append({&column, 1}, batch.owner, kTable, rows[c]);
        rows[c] += batch.rows;
      });
    }
  }
  for (size_t c = 0; c < values.size(); c++) {
    Attempt([&] {
      const int64_t width = std::max<int64_t>(values[c].list_size(), 1);
      const Tensor tensor = std::move(values[c]).Finish({rows[c], width}, true);
      Touch({tensor.data(), tensor.num_bytes()});
    });
  }
}

void ReadIds(std::string_view input) {
  const auto stream = Open(input);
  NodeIds ids("_N");
  ids.UseNames();
  ArrowBatch batch;
  while (stream->Next(batch)) {
    for (const ArrowColumn& column : batch.columns) {
      Attempt([&] {
        const std::string name = "ids";
        BatchIds of_rows(column, name, kTable, 0, ids);
        for (int64_t row = 0; row < batch.rows; row++) of_rows.At(row);
      });
    }
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  Attempt([&] { ReadFeatures(input, FeatureDTypes::kAsText); });
  Attempt([&] { ReadFeatures(input, FeatureDTypes::kKept); });
  Attempt([&] { ReadIds(input); });
}

std::vector<std::string> Seeds() {
  return {Fixture("arrow/types.arrows"), Fixture("arrow/edges.arrows"),
          Fixture("arrow/sliced.arrows"), Fixture("arrow/compressed.arrows")};
}

}  // namespace graphd::fuzz
