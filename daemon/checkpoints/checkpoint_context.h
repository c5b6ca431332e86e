// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "daemon/graph/served_graph.h"
#include "daemon/requests/request_context.h"
#include "store/checkpoint/catalog.h"
#include "store/tensor_host.h"
#include "wire/bounded.h"
#include "wire/connection.h"

namespace graphd {

// Returns a copy of a message's text. If the text has more than `most` bytes, the copy has one byte
// more than `most`, from which the caller sees that the text is too long.
inline std::string CopyOf(capnp::Text::Reader text, size_t most) {
  return {text.begin(), std::min(text.size(), most + 1)};
}

// Returns the name of a file of a checkpoint, as a request gives it. Throws an exception of KJ if
// it is too long.
inline std::string KeptFileOf(capnp::Text::Reader in) {
  return AsKj([&] { return BoundedText(in, store::kMaxKeptFileName, "a file's name"); });
}

// The stores that checkpoint calls work on, and the client that makes the calls. Each service of
// the client has a copy. Used on the connection's data thread.
struct CheckpointContext {
  std::shared_ptr<const ServedGraph> graph;  // the client's version
  // The references outlive every connection.
  store::TensorHost& tensors;
  store::CheckpointCatalog& catalog;
  std::shared_ptr<RequestContext> requests;
  std::string job;

  // Runs work() for a request on the pool `saves`, then answer(results) on this thread. The call
  // counts towards the client's CallLimit until it is done.
  template <class Context, class Work, class Answer>
  kj::Promise<void> RunOnSaves(const RequestPtr& request, Context& context, Work work,
                               Answer answer) const {
    return AsKj([&] {
      auto count = requests->calls().Enter();
      return requests
          ->RunOn(requests->pools().saves, request, 1,
                  [work = std::move(work)](size_t, WorkerScratch&) mutable { work(); })
          .then([context, answer = std::move(answer)]() mutable {
            AsKj([&] { answer(context.getResults()); });
          })
          .attach(kj::mv(count));
    });
  }
  template <class Context, class Work>
  kj::Promise<void> RunOnSaves(const RequestPtr& request, Context& context, Work work) const {
    return RunOnSaves(request, context, std::move(work), [](auto) {});
  }
};

}  // namespace graphd
