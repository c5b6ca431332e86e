// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "graph/partition.h"
#include "wire/graphd.capnp.h"

// Conversions between graphd's types and those of messages. A peer's input is checked as it is
// read; invalid input throws Error(kCorrupt).

namespace graphd {

inline constexpr uint64_t kFeatures = 0;  // optional abilities of this version

void WriteHello(wire::Hello::Builder hello);
// Throws Error(kVersion), with both versions and what to upgrade, unless the protocols agree.
void CheckHello(wire::Hello::Reader hello, const std::string& peer);

inline constexpr size_t kMaxFeatureName = size_t{64} << 10;  // bytes, in a request

// Returns the name of a feature in a request. Throws Error(kInvalid) if it is longer than
// kMaxFeatureName.
std::string ReadFeatureName(capnp::Text::Reader in);

// Writes the graph in the form that ReceivedGraph reads. If owners are sent separately, writes only
// how many there are.
void WriteGraph(const GraphMeta& meta, wire::Graph::Builder out);

void WriteLayout(const SegmentLayout& layout, wire::SegmentInfo::Builder out);
SegmentLayout ReadLayout(wire::SegmentInfo::Reader in, const std::string& peer);

// Returns the number of bytes of an id on the wire: 4 if the type has fewer than 2^32 objects.
inline size_t IdBytes(int64_t type_count) { return DTypeSize(Partition::IdDType(type_count)); }

}  // namespace graphd
