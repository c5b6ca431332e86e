// SPDX-License-Identifier: Apache-2.0
#include "store/store_state.h"

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd::store {

std::string EncodeState(const StoreState& state) {
  nlohmann::json clients = nlohmann::json::array();
  for (const auto& [id, client] : state.clients) {
    clients.push_back({id.high, id.low, client.sequence, client.lsn});
  }
  return nlohmann::json({{"lsn", state.lsn}, {"next_id", state.next_id}, {"clients", clients}})
      .dump();
}

StoreState DecodeState(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    StoreState state;
    state.lsn = json.at("lsn");
    state.next_id = json.at("next_id");
    for (const nlohmann::json& client : json.at("clients")) {
      state.clients[{client.at(0), client.at(1)}] = {client.at(2), client.at(3)};
    }
    return state;
  } catch (const nlohmann::json::exception& error) {
    Throw(ErrorCode::kCorrupt, "the state of the store is damaged: ", error.what());
  }
}

}  // namespace graphd::store
