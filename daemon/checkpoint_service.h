// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "daemon/graph_session.h"

namespace graphd {

// Checkpoints as a client reaches them. Lives on its connection's data thread; the work is done by
// the threads of ServiceContext::saves, because it is the disk's.
class CheckpointService final : public wire::Checkpoints::Server {
 public:
  CheckpointService(ServiceContext& context, std::string job)
      : context_(context), job_(std::move(job)) {}

 protected:
  kj::Promise<void> prepare(PrepareContext context) override;
  kj::Promise<void> list(ListContext context) override;
  kj::Promise<void> readRows(ReadRowsContext context) override;
  kj::Promise<void> readFile(ReadFileContext context) override;
  kj::Promise<void> delete_(DeleteContext context) override;
  kj::Promise<void> originalIds(OriginalIdsContext context) override;
  kj::Promise<void> loading(LoadingContext context) override;

 private:
  ServiceContext& context_;
  const std::string job_;
};

}  // namespace graphd
