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
  uint64_t data_id = 0;  // changes whenever the daemon's files change; 0: unknown
  std::vector<std::vector<FeatureInfo>> nodes, edges;  // [type]
};

// Returns the size of a row of a feature.
size_t RowBytesOf(const FeatureInfo& info);

// The answer of a daemon to `attach`, the request with which a process joins its job.
struct AttachInfo {
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartitionFeatures> partitions;
  RowEncodings encodings;
  // Mapped partitions, if memory was shared.
  std::vector<std::shared_ptr<const Partition>> mapped;
  // The id of the graph's version, which is the same at all daemons; none if the daemon does not
  // support versions.
  std::optional<std::string> version;
  // Identifies the files that this daemon has read for this version; empty if the daemon does not
  // send it.
  std::string fingerprint;
};

// Reads the features of a partition from a message. Throws Error(kCorrupt) for a feature that the
// schema does not allow.
PartitionFeatures ReadFeatures(wire::PartitionInfo::Reader in, const Schema& schema);
// Adds the encodings of a partition's features to `encodings`. ReadFeatures must have accepted the
// message before. Throws Error(kCorrupt) for an encoding that does not exist.
void ReadEncodings(wire::PartitionInfo::Reader in, RowEncodings& encodings);

// Throws Error(kInvalid) unless `a` and `b` describe the same graph, partitioned in the same way.
void CheckSameGraph(const GraphMeta& a, const GraphMeta& b, const std::string& peer_a,
                    const std::string& peer_b);

}  // namespace graphd
