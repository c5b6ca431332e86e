// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/link/row_encodings.h"
#include "graph/partition.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// Names, dtypes and row shapes of one partition's features.
struct PartitionFeatures {
  PartId part = 0;
  uint64_t data_id = 0;  // changes when the files of its daemon do; 0: unknown
  std::vector<std::vector<FeatureInfo>> nodes, edges;  // [type]
};

// Returns the size of a row of a feature.
size_t RowBytesOf(const FeatureInfo& info);

// The answer of a daemon to an attach.
struct AttachInfo {
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartitionFeatures> partitions;
  RowEncodings encodings;
  // Mapped partitions, if memory was shared.
  std::vector<std::shared_ptr<const Partition>> mapped;
  // The id of the version of the graph, the same at all daemons; none: the daemon has no versions.
  std::optional<std::string> version;
  // Tells the files that this daemon has read for it; empty: the daemon does not say.
  std::string fingerprint;
};

// Throws Error(kCorrupt) for a feature that the schema does not allow.
PartitionFeatures ReadFeatures(wire::PartitionInfo::Reader in, const Schema& schema);
// Adds the encodings of a partition's features, which ReadFeatures has accepted. Throws
// Error(kCorrupt) for one that does not exist.
void ReadEncodings(wire::PartitionInfo::Reader in, RowEncodings& encodings);

// Throws Error(kInvalid) unless both describe the same graph, cut the same way.
void CheckSameGraph(const GraphMeta& a, const GraphMeta& b, const std::string& peer_a,
                    const std::string& peer_b);

}  // namespace graphd
