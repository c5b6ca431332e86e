// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/checkpoints/client.h"
#include "client/checkpoints/manifest.h"
#include "wire/connection.h"

namespace graphd {

// A daemon; all but the first three members belong to the RPC thread.
struct CheckpointClient::Peer {
  std::string name;           // for messages
  std::vector<PartId> parts;  // that it serves
  int index = 0;
  std::unique_ptr<Connection> connection;
  kj::Maybe<wire::Daemon::Client> daemon;
  kj::Maybe<wire::Session::Client> session;
  kj::Maybe<wire::Checkpoints::Client> service;
  kj::Maybe<wire::Making::Client> making;

  // What is there once the client has been made.
  wire::Session::Client& graph() { return KJ_ASSERT_NONNULL(session); }
  wire::Checkpoints::Client& checkpoints() { return KJ_ASSERT_NONNULL(service); }
  wire::Making::Client& current() { return KJ_ASSERT_NONNULL(making); }
};

struct CheckpointClient::Found {
  Manifest manifest;
  Peer* with_manifest = nullptr;  // null: something that is not whole
  std::map<PartId, Peer*> places;
  std::vector<Peer*> all;  // who has anything of this name
  std::string trouble;     // what of it is damaged
  std::string name;
};

// Long steps: the disk's time, not an answer's.
constexpr std::chrono::hours kDiskLimit{24};

}  // namespace graphd
