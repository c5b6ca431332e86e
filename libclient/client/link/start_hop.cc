// SPDX-License-Identifier: Apache-2.0
#include "client/link/start_hop.h"

#include <algorithm>
#include <cstring>

#include "client/link/answer_checks.h"
#include "client/link/row_calls.h"
#include "sampling/rule_traits.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/hop_messages.h"
#include "wire/id_arrays.h"

namespace graphd {
namespace {

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
  CheckIds(peer, "node", out.neighbors, num_neighbors);
  out.edge_ids.resize(applied.edge_ids ? total : 0);
  CheckBytes(peer, "bytes of edge ids", answer.getEdges().size(), out.edge_ids.size() * edge_width);
  ReadIds(answer.getEdges(), edge_width, out.edge_ids.data(), out.edge_ids.size());
  out.arrival_keys.resize(rule.direction == Direction::kOut ? total : 0);
  const auto keys = answer.getArrivalKeys();
  CheckBytes(peer, "bytes of arrival keys", keys.size(),
             out.arrival_keys.size() * sizeof(ArrivalKey));
  if (!out.arrival_keys.empty()) std::memcpy(out.arrival_keys.data(), keys.begin(), keys.size());
}

FeatureRef FeatureOf(const HopRequest& hop, const SeedRows& rows) {
  return {hop.seeds[rows.seeds].ntype, rows.name};
}

void ReadAnswer(wire::Session::HopResults::Reader results, DaemonLink& link, PartId part,
                const GraphMeta& meta, const HopRequest& hop, const HopAnswer& answer,
                uint64_t asked_bytes) {
  const auto samples = results.getSamples();
  const auto rows = results.getRows();
  CheckBytes(link.peer(), "samples", samples.size(), hop.rules.size());
  CheckBytes(link.peer(), "lists of rows", rows.size(), hop.rows.size());
  uint64_t bytes = asked_bytes + results.totalSize().wordCount * 8;
  for (kj::uint i = 0; i < samples.size(); i++) {
    const AppliedRule& applied = hop.rules[i];
    ReadSample(samples[i], link.peer(), meta, hop.seeds[applied.seeds].nodes.ids.size(), applied,
               *answer.samples[i]);
  }
  for (kj::uint i = 0; i < rows.size(); i++) {
    const HopAnswer::Rows& place = answer.rows[i];
    const Encoding sent = results.getEncoded()
                              ? link.encodings().Find(part, FeatureOf(hop, hop.rows[i]))
                              : Encoding();
    PlaceRows(link.peer(), rows[i], sent, place.row_bytes, place.to, place.out);
    link.traffic().row_bytes += rows[i].size();
    bytes -= rows[i].size();
  }
  // Without rules, the ids only say which rows are requested.
  (hop.rules.empty() ? link.traffic().row_bytes : link.traffic().sampling_bytes) += bytes;
}

}  // namespace

RpcThread::Pending StartHop(DaemonLink& link, PartId part, const GraphMeta& meta,
                            const HopRequest& hop, const HopAnswer& answer) {
  auto step = [&link, part, &meta, &hop, &answer](wire::Session::Client& session,
                                                  size_t) -> kj::Promise<void> {
    auto request = session.hopRequest(capnp::MessageSize{HopWords(hop), 0});
    WriteHop(meta, part, hop, request);
    link.WriteCached(request);
    request.setTakesEncoded(!link.encodings().empty());
    const uint64_t asked = request.totalSize().wordCount * 8;
    return request.send().then([&link, part, &meta, &hop, &answer, asked](auto&& response) {
      AsKj([&] { ReadAnswer(response, link, part, meta, hop, answer, asked); });
    });
  };
  return link.StartSteps(DaemonLink::Lane::kSmall, 1, step);
}

}  // namespace graphd
