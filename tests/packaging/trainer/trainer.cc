// SPDX-License-Identifier: Apache-2.0
// The README's trainer with a model that only counts. readme.inc is the README's code, which
// use_library.sh extracts.
#include <graphd/data_loader.h>
#include <graphd/dist_graph.h>
#include <graphd/initialize.h>
#include <graphd/node_split.h>
#include <graphd/samplers.h>

#include <cstdint>
#include <cstdio>

namespace {

int64_t seeds_seen = 0, edges_seen = 0, labels_sum = 0, rows_read = 0;

void Step(const graphd::MiniBatch& batch) {
  seeds_seen += static_cast<int64_t>(batch.seeds.at(0).size());
  for (const graphd::Block& block : batch.blocks) edges_seen += block.num_edges();
  for (const int64_t label : batch.seed_features.at(0).as<int64_t>()) labels_sum += label;
  rows_read += batch.input_features.at(0).num_rows();
}

}  // namespace

int main() {
#include "readme.inc"
  std::printf("%lld seeds, %lld edges, labels %lld, %lld rows\n",
              static_cast<long long>(seeds_seen), static_cast<long long>(edges_seen),
              static_cast<long long>(labels_sum), static_cast<long long>(rows_read));
}
