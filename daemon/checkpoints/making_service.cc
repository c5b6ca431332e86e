// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/making_service.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/strings.h"
#include "wire/tensor_messages.h"

namespace graphd {

MakingService::~MakingService() {
  // The pool abandons the checkpoint, because this waits for the disk.
  try {
    context_.requests->pools().saves.Run(
        context_.requests->job(), 1,
        [making = std::move(making_)](size_t, WorkerScratch&) { making->Abandon(); });
  } catch (...) {
    // The daemon stops, this thread no longer has an event loop, or there is no memory. The
    // checkpoint is then abandoned by the destructor of its last owner.
  }
}

kj::Promise<void> MakingService::hold(HoldContext context) {
  AsKj([&] { Require(); });
  store::HoldOptions options;
  options.job = context_.job;
  options.holder = StrCat("job ", context_.job, " (", context_.requests->peer().text, ")");
  RequestPtr request = context_.requests->Begin("checkpoint hold");
  request->SetState(RequestState::kWaitsToHold);
  // The wait for its turn counts towards the client's CallLimit, too.
  auto count = AsKj([&] { return context_.requests->calls().Enter(); });
  auto turn = AwaitTurnToHold().attach(kj::mv(count));
  return turn.then([this, context, options, request]() mutable {
    return context_.RunOnSaves(request, context,
                               [making = making_, options] { making->Hold(options); });
  });
}

kj::Promise<void> MakingService::AwaitTurnToHold() {
  // This wait occupies no thread of the pool `saves`, which other checkpoints need.
  const auto wait = context_.tensors.store().TimeToNextHold(context_.job);
  if (wait.count() == 0) return kj::READY_NOW;
  return context_.requests->timer().afterDelay(wait.count() * kj::MILLISECONDS).then([this] {
    return AwaitTurnToHold();
  });
}

kj::Promise<void> MakingService::take(TakeContext context) {
  AsKj([&] { Require(); });
  auto bytes = std::make_shared<uint64_t>(0);
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint take"), context,
      [making = making_, bytes] { *bytes = making->Take(); },
      [requests = context_.requests, making = making_, bytes](TakeResults::Builder results) {
        requests->counters().checkpoints.fetch_add(1, std::memory_order_relaxed);
        const std::vector<TensorShare>& shares = making->shares();
        auto out = results.initTensors(static_cast<kj::uint>(shares.size()));
        for (kj::uint i = 0; i < out.size(); i++) WriteShare(shares[i], out[i]);
        results.setBytes(*bytes);
      });
}

kj::Promise<void> MakingService::addFile(AddFileContext context) {
  AsKj([&] { Require(); });
  auto params = context.getParams();
  const auto data = params.getData();
  auto copy = std::make_shared<PooledBuffer>(
      AsKj([&] { return context_.requests->buffers()->Get(data.size()); }));
  std::copy_n(reinterpret_cast<const std::byte*>(data.begin()), data.size(), copy->data());
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint add_file"), context,
      [making = making_, copy, size = data.size(), file = KeptFileOf(params.getFile()),
       offset = params.getOffset()] { making->AddFile(file, offset, copy->first(size)); });
}

kj::Promise<void> MakingService::commit(CommitContext context) {
  AsKj([&] { Require(); });
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint commit"), context,
      [making = making_,
       manifest = CopyOf(context.getParams().getManifest(), store::CheckpointSet::kMaxManifest)] {
        making->Commit(manifest);
      });
}

}  // namespace graphd
