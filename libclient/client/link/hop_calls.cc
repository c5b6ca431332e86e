// SPDX-License-Identifier: Apache-2.0
// The sampling calls of a link, one message each.
#include "client/link/daemon_connections.h"
#include "client/link/wire_arrays.h"
#include "sampling/gather.h"
#include "sampling/rule_traits.h"

namespace graphd {
namespace {

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

size_t RequestWords(const HopRequest& hop) {
  size_t bytes = 256 + hop.rows.size() * 64;
  for (const SeedList& seeds : hop.seeds) {
    bytes += seeds.nodes.ids.size() * 8 + seeds.nodes.streams.size() * 4 +
             (seeds.nodes.times.size() + seeds.nodes.real_times.size()) * 8 + 64;
  }
  for (const AppliedRule& applied : hop.rules) bytes += applied.exclude.size() * 8 + 160;
  return bytes / 8;
}

// Checks the answer to one rule and unpacks it.
void ReadSample(wire::Sampled::Reader answer, const std::string& peer, const GraphMeta& meta,
                size_t num_seeds, const AppliedRule& applied, SampledEdges<int64_t>& out) {
  const SamplingRule& rule = applied.rule;
  const auto counts = answer.getCounts();
  const size_t width = answer.getCountBytes();
  if ((width != 1 && width != 2 && width != 4) || counts.size() != num_seeds * width) {
    BadAnswer(peer, "bytes of counts", counts.size(), num_seeds * std::max<size_t>(width, 1));
  }
  size_t total = 0;
  out.counts.resize(num_seeds);
  for (size_t i = 0; i < num_seeds; i++) {
    uint32_t count = 0;
    std::memcpy(&count, counts.begin() + i * width, width);  // little-endian
    out.counts[i] = count;
    total += count;
  }
  const int64_t num_neighbors = meta.book.nodes().count(NeighborType(meta.schema, rule));
  const size_t neighbor_width = IdBytes(num_neighbors);
  const size_t edge_width = IdBytes(meta.book.edges().count(rule.etype));
  const auto neighbors = answer.getNeighbors();
  CheckBytes(peer, "bytes of neighbours", neighbors.size(), total * neighbor_width);
  out.neighbors.resize(total);
  ReadIds(neighbors, neighbor_width, out.neighbors.data(), total);
  int64_t largest = -1;  // tables are indexed by neighbours
  for (int64_t id : out.neighbors) largest = std::max(largest, id);
  if (largest >= num_neighbors) {
    Throw(ErrorCode::kCorrupt, "the graphd at ", peer, " answered with node ", largest, " of ",
          num_neighbors);
  }
  out.edge_ids.resize(applied.edge_ids ? total : 0);
  CheckBytes(peer, "bytes of edge ids", answer.getEdges().size(), out.edge_ids.size() * edge_width);
  ReadIds(answer.getEdges(), edge_width, out.edge_ids.data(), out.edge_ids.size());
  out.arrival_keys.resize(rule.direction == Direction::kOut ? total : 0);
  const auto keys = answer.getArrivalKeys();
  CheckBytes(peer, "bytes of arrival keys", keys.size(),
             out.arrival_keys.size() * sizeof(ArrivalKey));
  if (!out.arrival_keys.empty()) std::memcpy(out.arrival_keys.data(), keys.begin(), keys.size());
}

}  // namespace

RpcThread::Pending DaemonLink::Hop(PartId part, const GraphMeta& meta, const HopRequest& hop,
                                   const HopAnswer& answer) {
  auto step = [this, part, &meta, &hop, &answer](wire::Session::Client& session,
                                                 size_t) -> kj::Promise<void> {
    auto request = session.hopRequest(capnp::MessageSize{RequestWords(hop), 0});
    request.setPart(part);
    auto seeds = request.initSeeds(static_cast<kj::uint>(hop.seeds.size()));
    for (kj::uint i = 0; i < seeds.size(); i++) WriteSeeds(meta, hop.seeds[i], seeds[i]);
    auto rules = request.initRules(static_cast<kj::uint>(hop.rules.size()));
    for (kj::uint i = 0; i < rules.size(); i++) WriteRule(meta, hop.rules[i], rules[i]);
    auto rows = request.initRows(static_cast<kj::uint>(hop.rows.size()));
    for (kj::uint i = 0; i < rows.size(); i++) {
      rows[i].setSeeds(static_cast<uint16_t>(hop.rows[i].seeds));
      rows[i].setName(hop.rows[i].name);
      rows[i].setBegin(static_cast<uint32_t>(hop.rows[i].begin));
    }
    const uint64_t asked = request.totalSize().wordCount * 8;
    return request.send().then([this, &meta, &hop, &answer, asked](auto&& response) {
      AsKj([&] { ReadHopAnswer(response, meta, hop, answer, asked); });
    });
  };
  return StartSteps(Lane::kSmall, 1, step);
}

void DaemonLink::ReadHopAnswer(wire::Session::HopResults::Reader results, const GraphMeta& meta,
                               const HopRequest& hop, const HopAnswer& answer,
                               uint64_t asked_bytes) {
  const auto samples = results.getSamples();
  const auto rows = results.getRows();
  CheckBytes(peer_, "samples", samples.size(), hop.rules.size());
  CheckBytes(peer_, "lists of rows", rows.size(), hop.rows.size());
  uint64_t bytes = asked_bytes + results.totalSize().wordCount * 8;
  for (kj::uint i = 0; i < samples.size(); i++) {
    const AppliedRule& applied = hop.rules[i];
    ReadSample(samples[i], peer_, meta, hop.seeds[applied.seeds].nodes.ids.size(), applied,
               *answer.samples[i]);
  }
  for (kj::uint i = 0; i < rows.size(); i++) {
    const HopAnswer::Rows& to = answer.rows[i];
    CheckBytes(peer_, "bytes of rows", rows[i].size(), to.to.size() * to.row_bytes);
    ScatterRows(reinterpret_cast<const std::byte*>(rows[i].begin()), to.row_bytes, to.to, to.out);
    traffic_->row_bytes += rows[i].size();
    bytes -= rows[i].size();
  }
  // Without rules the ids only name rows.
  (hop.rules.empty() ? traffic_->row_bytes : traffic_->sampling_bytes) += bytes;
}

}  // namespace graphd
