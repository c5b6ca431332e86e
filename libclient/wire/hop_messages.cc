// SPDX-License-Identifier: Apache-2.0
#include "wire/hop_messages.h"

#include <cstring>

#include "wire/graph_messages.h"
#include "wire/id_arrays.h"

namespace graphd {

size_t HopWords(const HopRequest& hop) {
  size_t bytes = 256 + hop.rows.size() * 64;
  for (const SeedList& seeds : hop.seeds) {
    bytes += seeds.nodes.ids.size() * 8 + seeds.nodes.streams.size() * 4 +
             (seeds.nodes.times.size() + seeds.nodes.real_times.size()) * 8 + 64;
  }
  for (const AppliedRule& applied : hop.rules) bytes += applied.exclude.size() * 8 + 160;
  return bytes / 8;
}

void WriteHop(const GraphMeta& meta, PartId part, const HopRequest& hop,
              wire::Session::HopParams::Builder out) {
  out.setPart(part);
  auto seeds = out.initSeeds(static_cast<kj::uint>(hop.seeds.size()));
  for (kj::uint i = 0; i < seeds.size(); i++) WriteSeeds(meta, hop.seeds[i], seeds[i]);
  auto rules = out.initRules(static_cast<kj::uint>(hop.rules.size()));
  for (kj::uint i = 0; i < rules.size(); i++) WriteRule(meta, hop.rules[i], rules[i]);
  auto rows = out.initRows(static_cast<kj::uint>(hop.rows.size()));
  for (kj::uint i = 0; i < rows.size(); i++) WriteSeedRows(hop.rows[i], rows[i]);
}

void WriteSeeds(const GraphMeta& meta, const SeedList& seeds, wire::Seeds::Builder out) {
  const HopSeeds& nodes = seeds.nodes;
  const size_t width = IdBytes(meta.book.nodes().count(seeds.ntype)), count = nodes.ids.size();
  out.setNtype(seeds.ntype);
  WriteIds(nodes.ids, width, out.initIds(static_cast<kj::uint>(count * width)));
  if (!nodes.streams.empty()) {
    WriteIds(nodes.streams, 4, out.initStreams(static_cast<kj::uint>(count * 4)));
  }
  const auto times =
      nodes.times.empty() ? std::as_bytes(nodes.real_times) : std::as_bytes(nodes.times);
  if (!times.empty()) {
    std::memcpy(out.initTimes(static_cast<kj::uint>(times.size())).begin(), times.data(),
                times.size());
  }
}

ReceivedSeeds ReadSeeds(wire::Seeds::Reader in) {
  return {in.getNtype(), in.getIds(), in.getStreams(), in.getTimes()};
}

void WriteRule(const GraphMeta& meta, const AppliedRule& applied, wire::SamplingRule::Builder out) {
  const SamplingRule& rule = applied.rule;
  out.setSeeds(static_cast<uint16_t>(applied.seeds));
  out.setEtype(rule.etype);
  out.setOutward(rule.direction == Direction::kOut);
  out.setMethod(static_cast<uint8_t>(rule.method));
  out.setFanout(rule.fanout);
  out.setReplace(rule.replace);
  out.setColumn(rule.column);
  out.setLargest(rule.largest);
  out.setInclusive(rule.inclusive);
  out.setKey(applied.key);
  out.setEdgeIds(applied.edge_ids);
  const size_t width = IdBytes(meta.book.edges().count(rule.etype));
  WriteIds(applied.exclude, width,
           out.initExclude(static_cast<kj::uint>(applied.exclude.size() * width)));
}

ReceivedRule ReadRule(wire::SamplingRule::Reader in) {
  ReceivedRule received;
  received.exclude = in.getExclude();
  AppliedRule& applied = received.applied;
  applied.seeds = in.getSeeds();
  applied.key = in.getKey();
  applied.edge_ids = in.getEdgeIds();
  SamplingRule& rule = applied.rule;
  rule.etype = in.getEtype();
  rule.direction = in.getOutward() ? Direction::kOut : Direction::kIn;
  rule.method = static_cast<SamplingMethod>(in.getMethod());
  rule.fanout = in.getFanout();
  rule.replace = in.getReplace();
  rule.column = ReadFeatureName(in.getColumn());
  rule.largest = in.getLargest();
  rule.inclusive = in.getInclusive();
  return received;
}

void WriteSeedRows(const SeedRows& rows, wire::SeedRows::Builder out) {
  out.setSeeds(static_cast<uint16_t>(rows.seeds));
  out.setName(rows.name);
  out.setBegin(static_cast<uint32_t>(rows.begin));
}

SeedRows ReadSeedRows(wire::SeedRows::Reader in) {
  return {in.getSeeds(), in.getBegin(), ReadFeatureName(in.getName())};
}

}  // namespace graphd
