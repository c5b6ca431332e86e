// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

#include "daemon/checkpoints/checkpoint_context.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// The calls of one client that make, list, read and delete checkpoints. Lives on its connection's
// data thread and is owned by the client's capability; the work is done by the pool `saves`,
// because it waits for the disk.
class CheckpointService final : public wire::Checkpoints::Server {
 public:
  explicit CheckpointService(CheckpointContext context) : context_(std::move(context)) {}

 protected:
  kj::Promise<void> prepare(PrepareContext context) override;
  kj::Promise<void> list(ListContext context) override;
  kj::Promise<void> readRows(ReadRowsContext context) override;
  kj::Promise<void> readFile(ReadFileContext context) override;
  kj::Promise<void> delete_(DeleteContext context) override;
  kj::Promise<void> originalIds(OriginalIdsContext context) override;
  kj::Promise<void> loading(LoadingContext context) override;

 private:
  const CheckpointContext context_;
};

}  // namespace graphd
