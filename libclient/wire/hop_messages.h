// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/partition.h"
#include "sampling/hop_request.h"
#include "wire/graphd.capnp.h"

// The conversion of a hop request to and from a message. Trainers write it; daemons read it list by
// list. The daemon checks what arrives, because it knows the partition and its own limits.

namespace graphd {

// The size of a hop request in words.
size_t HopWords(const HopRequest& hop);
void WriteHop(const GraphMeta& meta, PartId part, const HopRequest& hop,
              wire::Session::HopParams::Builder out);

// A seed list as it arrives. The arrays are views of the message.
struct ReceivedSeeds {
  NodeTypeId ntype;
  capnp::Data::Reader ids;      // IdBytes (of the type) for each
  capnp::Data::Reader streams;  // uint32 each; empty: the ids are used
  capnp::Data::Reader times;    // the bits of int64 or double; may be empty
};
void WriteSeeds(const GraphMeta& meta, const SeedList& seeds, wire::Seeds::Builder out);
ReceivedSeeds ReadSeeds(wire::Seeds::Reader in);

// A rule as it arrives, without its excluded edges, which are a view of the message.
struct ReceivedRule {
  AppliedRule applied;
  capnp::Data::Reader exclude;  // IdBytes (of the edge type) for each
};
void WriteRule(const GraphMeta& meta, const AppliedRule& applied, wire::SamplingRule::Builder out);
ReceivedRule ReadRule(wire::SamplingRule::Reader in);

void WriteSeedRows(const SeedRows& rows, wire::SeedRows::Builder out);
SeedRows ReadSeedRows(wire::SeedRows::Reader in);

}  // namespace graphd
