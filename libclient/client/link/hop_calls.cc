// SPDX-License-Identifier: Apache-2.0
// The sampling calls of a link, one message each.
#include "client/link/daemon_connections.h"
#include "client/link/wire_arrays.h"
#include "sampling/gather.h"

namespace graphd {
namespace {

void WriteSeeds(const PartHop::Seeds& seeds, wire::Seeds::Builder out) {
  const size_t width = IdBytes(seeds.type_count), count = seeds.nodes.ids.size();
  out.setNtype(seeds.ntype);
  WriteIds(seeds.nodes.ids, width, out.initIds(static_cast<kj::uint>(count * width)));
  if (!seeds.nodes.streams.empty()) {
    WriteIds(seeds.nodes.streams, 4, out.initStreams(static_cast<kj::uint>(count * 4)));
  }
  const auto times = seeds.nodes.times.empty() ? std::as_bytes(seeds.nodes.real_times)
                                               : std::as_bytes(seeds.nodes.times);
  if (!times.empty()) {
    std::memcpy(out.initTimes(static_cast<kj::uint>(times.size())).begin(), times.data(),
                times.size());
  }
}

void WritePick(const PartHop::Pick& from, wire::Pick::Builder out) {
  const SamplingRule& pick = from.pick.pick;
  out.setSeeds(static_cast<uint16_t>(from.seeds));
  out.setEtype(pick.etype);
  out.setOutward(pick.direction == Direction::kOut);
  out.setMethod(static_cast<uint8_t>(pick.method));
  out.setFanout(pick.fanout);
  out.setReplace(pick.replace);
  out.setColumn(pick.column);
  out.setLargest(pick.largest);
  out.setInclusive(pick.inclusive);
  out.setKey(from.pick.key);
  out.setEdgeIds(from.pick.edge_ids);
  const size_t width = IdBytes(from.edge_count);
  WriteIds(from.pick.exclude, width,
           out.initExclude(static_cast<kj::uint>(from.pick.exclude.size() * width)));
}

size_t RequestWords(const PartHop& hop) {
  size_t bytes = 256 + hop.rows.size() * 64;
  for (const auto& seeds : hop.seeds) {
    bytes += seeds.nodes.ids.size() * 8 + seeds.nodes.streams.size() * 4 +
             (seeds.nodes.times.size() + seeds.nodes.real_times.size()) * 8 + 64;
  }
  for (const auto& pick : hop.picks) bytes += pick.pick.exclude.size() * 8 + 160;
  return bytes / 8;
}

// Checks one pick's answer and unpacks it.
void TakeSample(wire::Sampled::Reader answer, const std::string& peer, size_t num_seeds,
                const PartHop::Pick& pick) {
  SampledEdges<int64_t>& out = *pick.answer;
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
  const size_t neighbor_width = IdBytes(pick.neighbor_count), edge_width = IdBytes(pick.edge_count);
  const auto neighbors = answer.getNeighbors();
  CheckBytes(peer, "bytes of neighbours", neighbors.size(), total * neighbor_width);
  out.neighbors.resize(total);
  ReadIds(neighbors, neighbor_width, out.neighbors.data(), total);
  int64_t largest = -1;  // tables are indexed by them
  for (int64_t id : out.neighbors) largest = std::max(largest, id);
  if (largest >= pick.neighbor_count) {
    Throw(ErrorCode::kCorrupt, "the graphd at ", peer, " answered with node ", largest, " of ",
          pick.neighbor_count);
  }
  out.edge_ids.resize(pick.pick.edge_ids ? total : 0);
  CheckBytes(peer, "bytes of edge ids", answer.getEdges().size(), out.edge_ids.size() * edge_width);
  ReadIds(answer.getEdges(), edge_width, out.edge_ids.data(), out.edge_ids.size());
  const bool outward = pick.pick.pick.direction == Direction::kOut;
  out.races.resize(outward ? total : 0);
  CheckBytes(peer, "bytes of races", answer.getRaces().size(), out.races.size() * sizeof(Race));
  if (!out.races.empty()) {
    std::memcpy(out.races.data(), answer.getRaces().begin(), answer.getRaces().size());
  }
}

}  // namespace

RpcThread::Pending DaemonLink::Hop(PartId part, const PartHop& hop) {
  auto step = [this, part, &hop](wire::Session::Client& session, size_t) -> kj::Promise<void> {
    auto request = session.hopRequest(capnp::MessageSize{RequestWords(hop), 0});
    request.setPart(part);
    auto seeds = request.initSeeds(static_cast<kj::uint>(hop.seeds.size()));
    for (kj::uint i = 0; i < seeds.size(); i++) WriteSeeds(hop.seeds[i], seeds[i]);
    auto picks = request.initPicks(static_cast<kj::uint>(hop.picks.size()));
    for (kj::uint i = 0; i < picks.size(); i++) WritePick(hop.picks[i], picks[i]);
    auto rows = request.initRows(static_cast<kj::uint>(hop.rows.size()));
    for (kj::uint i = 0; i < rows.size(); i++) {
      rows[i].setSeeds(static_cast<uint16_t>(hop.rows[i].seeds));
      rows[i].setName(hop.rows[i].name);
      rows[i].setBegin(static_cast<uint32_t>(hop.rows[i].begin));
    }
    const uint64_t asked = request.totalSize().wordCount * 8;
    return request.send().then(
        [this, &hop, asked](auto&& response) { AsKj([&] { TakeHop(response, hop, asked); }); });
  };
  return StartSteps(Lane::kSmall, 1, step);
}

void DaemonLink::TakeHop(wire::Session::HopResults::Reader answer, const PartHop& hop,
                         uint64_t asked_bytes) {
  const auto samples = answer.getSamples();
  const auto rows = answer.getRows();
  CheckBytes(peer_, "samples", samples.size(), hop.picks.size());
  CheckBytes(peer_, "lists of rows", rows.size(), hop.rows.size());
  uint64_t bytes = asked_bytes + answer.totalSize().wordCount * 8;
  for (kj::uint i = 0; i < samples.size(); i++) {
    TakeSample(samples[i], peer_, hop.seeds[hop.picks[i].seeds].nodes.ids.size(), hop.picks[i]);
  }
  for (kj::uint i = 0; i < rows.size(); i++) {
    const PartHop::Rows& want = hop.rows[i];
    CheckBytes(peer_, "bytes of rows", rows[i].size(), want.to.size() * want.row_bytes);
    ScatterRows(reinterpret_cast<const std::byte*>(rows[i].begin()), want.row_bytes, want.to,
                want.out);
    traffic_->row_bytes += rows[i].size();
    bytes -= rows[i].size();
  }
  // Without picks its ids only name rows.
  (hop.picks.empty() ? traffic_->row_bytes : traffic_->sampling_bytes) += bytes;
}

}  // namespace graphd
