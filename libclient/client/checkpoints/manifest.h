// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "graphd/checkpoint.h"
#include "graphd/schema.h"

// The manifest of a checkpoint: JSON, written last, to the machine of partition 0.

namespace graphd {

struct Manifest {
  Checkpoint checkpoint;
  std::string id;  // random, the same in all parts of a checkpoint
};

// Encodes a manifest. Types are written by name, because their ids may change when the graph is
// partitioned again.
std::string EncodeManifest(const Manifest& manifest, const Schema& schema);
// Decodes a manifest. Types that the schema does not have become -1. Throws Error(kCorrupt).
Manifest DecodeManifest(const std::string& text, const Schema& schema);

}  // namespace graphd
