// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/edge_seeds.h"

#include <bit>
#include <unordered_map>

#include "base/index.h"
#include "base/rng.h"

namespace graphd {
namespace {

// A pair of a node and a time.
struct Event {
  int64_t node;
  int64_t time;
  uint64_t real_time;  // the bits of the number, which also distinguish NaNs
  bool operator==(const Event&) const = default;
};
struct EventHash {
  size_t operator()(const Event& event) const noexcept {
    const uint64_t when = CombineKeys(static_cast<uint64_t>(event.time), event.real_time);
    return CombineKeys(static_cast<uint64_t>(event.node), when);
  }
};

class EventNumbers {
 public:
  EventNumbers(size_t num_ntypes, const LoaderItems::ByType& eids) : eids_(eids) {
    numbers_.resize(num_ntypes);
    seeds_.nodes.resize(num_ntypes);
    if (!eids.times.empty()) seeds_.times.resize(num_ntypes);
    if (!eids.real_times.empty()) seeds_.real_times.resize(num_ntypes);
  }
  // Returns the numbers of nodes of type t at the times of the edges of type e. There may be more
  // or fewer nodes than edges.
  std::vector<int64_t> Number(size_t t, const std::vector<int64_t>& nodes, size_t e) {
    std::vector<int64_t> numbers;
    for (size_t j = 0; j < nodes.size(); j++) {
      const size_t edge = j * eids_.ids[e].size() / nodes.size();
      const int64_t time = eids_.times.empty() ? 0 : eids_.times[e][edge];
      const double real = eids_.real_times.empty() ? 0 : eids_.real_times[e][edge];
      const auto next = static_cast<int64_t>(seeds_.nodes[t].size());
      const Event event{nodes[j], time, std::bit_cast<uint64_t>(real)};
      const auto [found, is_new] = numbers_[t].try_emplace(event, next);
      numbers.push_back(found->second);
      if (!is_new) continue;
      seeds_.nodes[t].push_back(nodes[j]);
      if (!eids_.times.empty()) seeds_.times[t].push_back(time);
      if (!eids_.real_times.empty()) seeds_.real_times[t].push_back(real);
    }
    return numbers;
  }
  EdgeSeeds& seeds() noexcept { return seeds_; }

 private:
  const LoaderItems::ByType& eids_;
  std::vector<std::unordered_map<Event, int64_t, EventHash>> numbers_;  // [ntype]
  EdgeSeeds seeds_;
};

}  // namespace

EdgeSeeds NumberEnds(GraphAccess& access, const std::vector<EdgeEnds>& positive,
                     const std::vector<EdgeEnds>& negative) {
  const Schema& schema = access.meta().schema;
  GraphAccess::Loan loan(access);
  size_t total = 0;
  for (const auto* all : {&positive, &negative}) {
    for (const EdgeEnds& of_type : *all) total += 2 * of_type.src.size();
  }
  EdgeSeeds seeds;
  seeds.nodes.resize(Index(schema.num_ntypes()));
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) access.relabel(*loan, t).Start(total);
  std::vector<int32_t> local;
  const auto number = [&](NodeTypeId t, const std::vector<int64_t>& ids) {
    local.resize(ids.size());
    access.relabel(*loan, t).Add(ids, seeds.nodes[Index(t)], local.data());
    return std::vector<int64_t>(local.begin(), local.end());
  };
  for (const auto* all : {&positive, &negative}) {
    auto& pairs = all == &positive ? seeds.positive : seeds.negative;
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      PairEdges& to = pairs.emplace_back();
      to.src = number(schema.src_type(e), (*all)[Index(e)].src);
      to.dst = number(schema.dst_type(e), (*all)[Index(e)].dst);
    }
  }
  return seeds;
}

EdgeSeeds NumberEventEnds(const Schema& schema, const std::vector<EdgeEnds>& positive,
                          const std::vector<EdgeEnds>& negative, const LoaderItems::ByType& eids) {
  EventNumbers numbers(Index(schema.num_ntypes()), eids);
  for (const auto* all : {&positive, &negative}) {
    auto& pairs = all == &positive ? numbers.seeds().positive : numbers.seeds().negative;
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      PairEdges& to = pairs.emplace_back();
      const EdgeEnds& of_type = (*all)[Index(e)];
      to.src = numbers.Number(Index(schema.src_type(e)), of_type.src, Index(e));
      to.dst = numbers.Number(Index(schema.dst_type(e)), of_type.dst, Index(e));
    }
  }
  return std::move(numbers.seeds());
}

}  // namespace graphd
