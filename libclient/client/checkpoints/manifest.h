// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "graphd/checkpoint.h"
#include "graphd/schema.h"

// The manifest of a checkpoint: JSON, written last, to the machine of partition 0.

namespace graphd {

struct Manifest {
  Checkpoint checkpoint;
  std::string id;  // of the making
};

// Types are written by name: their numbers may be others when the graph is cut anew.
std::string EncodeManifest(const Manifest& manifest, const Schema& schema);
// Types that the schema does not have become -1. Throws Error(kCorrupt).
Manifest DecodeManifest(const std::string& text, const Schema& schema);

}  // namespace graphd
