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

// A daemon. All members but the first three are used by the RPC thread only.
struct CheckpointClient::Peer {
  std::string name;           // for messages
  std::vector<PartId> parts;  // partitions that it serves
  std::unique_ptr<Connection> connection;
  kj::Maybe<wire::Daemon::Client> daemon;
  kj::Maybe<wire::Session::Client> session;
  kj::Maybe<wire::Checkpoints::Client> service;
  kj::Maybe<wire::Making::Client> making;

  // The members that these functions return are set when the constructor of the client has
  // returned.
  wire::Session::Client& graph() { return KJ_ASSERT_NONNULL(session); }
  wire::Checkpoints::Client& checkpoints() { return KJ_ASSERT_NONNULL(service); }
  wire::Making::Client& current() { return KJ_ASSERT_NONNULL(making); }
};

// A checkpoint, complete or not, with the daemons that store its parts.
struct CheckpointClient::Found {
  Manifest manifest;
  Peer* with_manifest = nullptr;  // null: the checkpoint is incomplete
  std::map<PartId, Peer*> places;
  std::string trouble;  // description of the damage, if any
  std::string name;
};

// The time limit of calls that wait for disks.
constexpr std::chrono::hours kDiskLimit{24};

// Ids that are read in one call.
constexpr int64_t kCheckpointIdPiece = int64_t{4} << 20;

inline std::vector<std::byte> CopyBytes(capnp::Data::Reader data) {
  const auto* begin = reinterpret_cast<const std::byte*>(data.begin());
  return {begin, begin + data.size()};
}

}  // namespace graphd
