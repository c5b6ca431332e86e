// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "daemon/serving/graph_session.h"

namespace graphd {

// Whose checkpoints: the client's connection.
struct CheckpointClientOf {
  ServiceContext& context;
  std::string job;
  std::shared_ptr<CallLimit> calls;
  std::shared_ptr<Outbox> outbox;
};

// Checkpoints as a client reaches them. Lives on its connection's data thread; the work is done by
// the threads of ServiceContext::saves, because it is the disk's.
class CheckpointService final : public wire::Checkpoints::Server {
 public:
  explicit CheckpointService(CheckpointClientOf client)
      : client_(std::move(client)), context_(client_.context) {}

 protected:
  kj::Promise<void> prepare(PrepareContext context) override;
  kj::Promise<void> list(ListContext context) override;
  kj::Promise<void> readRows(ReadRowsContext context) override;
  kj::Promise<void> readFile(ReadFileContext context) override;
  kj::Promise<void> delete_(DeleteContext context) override;
  kj::Promise<void> originalIds(OriginalIdsContext context) override;
  kj::Promise<void> loading(LoadingContext context) override;

 private:
  const CheckpointClientOf client_;
  ServiceContext& context_;
};

}  // namespace graphd
