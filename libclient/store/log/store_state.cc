// SPDX-License-Identifier: Apache-2.0
#include "store/log/store_state.h"

#include <xxhash.h>

#include <cstring>
#include <type_traits>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd::store {
namespace {

constexpr char kMagic[8] = {'g', 'r', 'p', 'h', 'd', 's', 't', '2'};

struct Head {
  char magic[8];
  uint64_t checksum;  // checksum of all that follows
  uint64_t lsn;
  uint64_t next_id;
};
static_assert(kMaxStateBytes ==
              sizeof(Head) + ClientTable::kMaxClients * sizeof(ClientTable::Entry));
static_assert(std::is_trivially_copyable_v<ClientTable::Entry> && sizeof(ClientTable::Entry) == 32);

uint64_t ChecksumOf(const std::string& text) {
  constexpr size_t kBegin = offsetof(Head, lsn);
  return XXH3_64bits(text.data() + kBegin, text.size() - kBegin);
}

}  // namespace

std::string EncodeState(const StoreState& state) {
  Head head{{}, 0, state.lsn, state.next_id};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text.append(reinterpret_cast<const char*>(state.clients.data()),
              state.clients.size() * sizeof(ClientTable::Entry));
  head.checksum = ChecksumOf(text);
  std::memcpy(text.data(), &head, sizeof head);
  return text;
}

StoreState DecodeState(const std::string& text) {
  Head head;
  const size_t clients = text.size() - std::min(text.size(), sizeof head);
  if (text.size() < sizeof head || clients % sizeof(ClientTable::Entry) != 0 ||
      std::memcmp(text.data(), kMagic, sizeof kMagic) != 0) {
    Throw(ErrorCode::kCorrupt, "the state of the store is damaged, or of another version");
  }
  std::memcpy(&head, text.data(), sizeof head);
  if (head.checksum != ChecksumOf(text)) {
    Throw(ErrorCode::kCorrupt, "the state of the store is damaged: its checksum is wrong");
  }
  StoreState state;
  state.lsn = head.lsn;
  state.next_id = static_cast<uint32_t>(head.next_id);
  state.clients.resize(clients / sizeof(ClientTable::Entry));
  if (clients != 0) std::memcpy(state.clients.data(), text.data() + sizeof head, clients);
  return state;
}

}  // namespace graphd::store
