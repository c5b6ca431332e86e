// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "daemon/access/access_rules.h"
#include "daemon/graph/graph_versions.h"
#include "daemon/handshakes/secret_server.h"
#include "daemon/handshakes/tls_server.h"
#include "daemon/requests/job_board.h"
#include "daemon/requests/job_registry.h"
#include "daemon/requests/peer_memory.h"
#include "daemon/requests/request_counters.h"
#include "daemon/requests/requests_in_flight.h"
#include "daemon/requests/worker_pools.h"
#include "daemon/serving/status_cache.h"
#include "daemon/tensors/step_gate.h"
#include "store/checkpoint/catalog.h"
#include "store/tensor_host.h"
#include "wire/memory/buffer_pool.h"

namespace graphd {

// The parts of the daemon that all connections share. The main thread owns them, and they outlive
// every connection; each is thread-safe.
struct ServiceContext {
  const AccessRules& access;
  GraphVersions& graphs;
  store::TensorHost& tensors;
  store::CheckpointCatalog& checkpoints;
  StepGate& steps;
  FairPushes& pushes;
  JobRegistry& jobs;
  JobBoard& board;
  WorkerPools& pools;
  RequestCounters& counters;
  RequestsInFlight& in_flight;
  PeerMemory& memory;
  std::shared_ptr<BufferPool> buffers;
  TlsServer* tls = nullptr;        // null: TCP without TLS
  SecretServer* secret = nullptr;  // null: TCP without a shared secret
  std::shared_ptr<StatusCache> statuses = std::make_shared<StatusCache>();
};

}  // namespace graphd
