// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/open_connections.h"

#include <algorithm>
#include <utility>

namespace graphd {

OpenConnection::OpenConnection(std::string source, uint64_t number, size_t thread,
                               std::shared_ptr<std::atomic<size_t>> num_candidates)
    : source_(std::move(source)),
      number_(number),
      thread_(thread),
      num_candidates_(std::move(num_candidates)) {
  ++*num_candidates_;
}

bool OpenConnection::Leave(State to) noexcept {
  State from = State::kMayGiveWay;
  if (!state_.compare_exchange_strong(from, to)) return false;
  --*num_candidates_;
  return true;
}

std::shared_ptr<OpenConnection> OpenConnections::Add(const std::string& source, size_t thread) {
  Source& of = sources_[source];
  const uint64_t number = next_number_++;
  auto added = std::make_shared<OpenConnection>(source, number, thread, of.num_candidates);
  of.candidates.emplace(number, added);
  of.open++;
  return added;
}

void OpenConnections::Remove(const std::shared_ptr<OpenConnection>& connection) {
  if (connection->gives_way()) giving_way_--;
  connection->Close();
  const auto found = sources_.find(connection->source());
  found->second.candidates.erase(connection->number());
  if (--found->second.open == 0) sources_.erase(found);
}

std::shared_ptr<OpenConnection> OpenConnections::MakeRoomFor(const std::string& source) {
  if (giving_way_ >= kMostGivingWay) return nullptr;
  const auto largest =
      std::max_element(sources_.begin(), sources_.end(), [](const auto& a, const auto& b) {
        return a.second.num_candidates->load() < b.second.num_candidates->load();
      });
  if (largest == sources_.end()) return nullptr;
  const auto own = sources_.find(source);
  const size_t own_count = own == sources_.end() ? 0 : own->second.num_candidates->load();
  if (*largest->second.num_candidates < own_count + 2) return nullptr;
  auto& ones = largest->second.candidates;
  while (!ones.empty()) {
    std::shared_ptr<OpenConnection> oldest = ones.begin()->second;
    ones.erase(ones.begin());
    if (!oldest->GiveWay()) continue;
    giving_way_++;
    return oldest;
  }
  return nullptr;
}

}  // namespace graphd
