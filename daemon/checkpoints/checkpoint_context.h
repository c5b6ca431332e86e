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

// Returns a text of a message or, if it has more than `most` bytes, as many as show that.
inline std::string CopyOf(capnp::Text::Reader text, size_t most) {
  return {text.begin(), std::min(text.size(), most + 1)};
}

// Returns the name of a file in a checkpoint that a request has. Throws an exception of KJ.
inline std::string KeptFileOf(capnp::Text::Reader in) {
  return AsKj([&] { return BoundedText(in, store::kMaxKeptFileName, "a file's name"); });
}

// The stores that checkpoint calls work on, and the client whose calls they are. Copied by each
// service of the client; used on the connection's data thread.
struct CheckpointContext {
  std::shared_ptr<const ServedGraph> graph;  // the client's version
  // The references outlive every connection.
  store::TensorHost& tensors;
  store::CheckpointCatalog& catalog;
  std::shared_ptr<RequestContext> requests;
  std::string job;

  // Runs work() for a request on the pool `saves`, then answer(results) on this thread. Counts the
  // call until it is done.
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
