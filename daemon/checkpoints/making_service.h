// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <utility>

#include "daemon/checkpoints/checkpoint_context.h"
#include "daemon/checkpoints/checkpoint_making.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// The calls of a client that makes one checkpoint. Lives on its connection's data thread and is
// owned by the client's capability; the work is done by the pool `saves`. A checkpoint that was not
// committed is removed when the client releases the capability.
class MakingService final : public wire::Making::Server {
 public:
  MakingService(CheckpointContext context, std::shared_ptr<CheckpointMaking> making)
      : context_(std::move(context)), making_(std::move(making)) {}
  ~MakingService();

 protected:
  kj::Promise<void> hold(HoldContext context) override;
  kj::Promise<void> take(TakeContext context) override;
  kj::Promise<void> addFile(AddFileContext context) override;
  kj::Promise<void> commit(CommitContext context) override;

 private:
  // Throws Error(kDenied) if a reload has taken away the client's right to make checkpoints.
  void Require() const { context_.requests->Require(Role::kWriter, "make checkpoints"); }
  // Returns a promise that is fulfilled when the job may hold pushes again (a job may not hold them
  // all the time).
  kj::Promise<void> AwaitTurnToHold();

  const CheckpointContext context_;
  std::shared_ptr<CheckpointMaking> making_;
};

}  // namespace graphd
