// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/graph_service.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "daemon/graph/hop_job.h"
#include "daemon/graph/index_builds.h"
#include "daemon/graph/sent_rows.h"
#include "daemon/requests/wire_ids.h"
#include "wire/graph_messages.h"
#include "wire/received_graph.h"

namespace graphd {
namespace {

// The number of bytes in a slice of a gather: enough to be worth waking a thread, and few enough to
// let other requests in between.
constexpr size_t kSliceBytes = size_t{1} << 20;

// The rows that one gather request asks for. Any number of threads copy them, slice by slice.
struct GatherJob {
  std::shared_ptr<const Partition> partition;
  SentRows table;
  TypeIds all_ids;
  WireIds ids;
  Outbox::Room room;
  PooledBuffer out;
  size_t rows_per_slice;

  void Run(size_t slice, WorkerScratch& scratch) {
    const size_t begin = slice * rows_per_slice;
    const size_t end = std::min(ids.size(), begin + rows_per_slice);
    ids.CopyRows(begin, end, all_ids, partition->id(), scratch.rows);
    table.Gather(scratch.rows, out.data() + begin * table.row_bytes());
  }
};

}  // namespace

kj::Promise<void> GraphService::Hop(HopContext context, const RequestPtr& request) {
  auto params = context.getParams();
  auto partition = graph_.Find(params.getPart());
  auto indexes = graph_.indexes(params.getPart());
  requests_.counters().CountCached(params.getCached(), params.getNotCached());
  auto job = std::make_shared<HopJob>(partition, indexes, requests_.buffers(), params);
  auto room = std::make_shared<Outbox::Room>(requests_.outbox()->Reserve(job->row_bytes()));
  context.releaseParams();
  auto sample = [this, job, request] {
    return requests_.Execute(
        request, job->work(), job->num_slices(),
        [job](size_t slice, WorkerScratch& scratch) { job->RunSlice(slice, scratch); });
  };
  std::vector<EdgeIndexSpec> missing = job->MissingIndexes();
  kj::Promise<void> sampled = nullptr;
  if (missing.empty() && job->num_excluded() == 0) {
    sampled = sample();
  } else {
    request->SetState(RequestState::kWaitsForIndex);
    sampled = BuildIndexes(requests_.pools().builds, requests_.job(), indexes, std::move(missing))
                  .then([this, job, request] {
                    const size_t rules = job->num_excluded() == 0 ? 0 : job->num_rules();
                    return requests_.Execute(
                        request, job->num_excluded() * 64, rules,
                        [job](size_t rule, WorkerScratch&) { job->PrepareExcluded(rule); });
                  })
                  .then(std::move(sample));
  }
  return sampled
      .then([this, job, request] {
        return requests_.Execute(request, job->sampled_bytes(), job->num_rules(),
                                 [job](size_t rule, WorkerScratch&) { job->Join(rule); });
      })
      .then([this, context, job, room]() mutable {
        AsKj([&] {
          *room = {};
          auto results = context.getResults(job->message_size());
          job->Write(results, requests_.Sender(capnp::Orphanage::getForMessageContaining(results),
                                               job->answer_bytes()));
          requests_.CountEdges(job->edges());
          requests_.CountRows(job->rows());
        });
      });
}

kj::Promise<void> GraphService::Gather(GatherContext context, const RequestPtr& request) {
  auto params = context.getParams();
  auto partition = graph_.Find(params.getPart());
  requests_.counters().CountCached(params.getCached(), params.getNotCached());
  const bool is_edge = params.getIsEdge();
  const bool encoded = params.getTakesEncoded();
  const SentRows table(
      FindFeature(*partition, is_edge, params.getType(), ReadFeatureName(params.getName())),
      encoded);
  const TypeIds all_ids(partition->meta().book, is_edge, params.getType());
  WireIds ids(params.getIds(), all_ids.count(), *requests_.buffers());
  const size_t rows = ids.size(), row_bytes = std::max<size_t>(table.row_bytes(), 1);
  const size_t bytes = rows * table.row_bytes();
  CheckResponse(bytes);
  auto job = std::make_shared<GatherJob>(
      GatherJob{partition, table, all_ids, std::move(ids), requests_.outbox()->Reserve(bytes),
                requests_.buffers()->Get(bytes + 8), std::max<size_t>(1, kSliceBytes / row_bytes)});
  context.releaseParams();
  requests_.CountRows(rows);
  const size_t slices = (rows + job->rows_per_slice - 1) / job->rows_per_slice;
  return requests_
      .Execute(request, bytes + rows * 64, slices,
               [job](size_t slice, WorkerScratch& scratch) { job->Run(slice, scratch); })
      .then([this, context, job, bytes, encoded]() mutable {
        AsKj([&] {
          auto results = context.getResults(capnp::MessageSize{16, 0});
          results.setEncoded(encoded);
          results.adoptRows(requests_.Adopt(capnp::Orphanage::getForMessageContaining(results),
                                            std::move(job->out), bytes, std::move(job->room)));
        });
      });
}

kj::Promise<void> GraphService::Slice(SliceContext context, const RequestPtr& request) {
  auto params = context.getParams();
  auto partition = graph_.Find(params.getPart());
  const bool encoded = params.getTakesEncoded();
  const SentRows table(FindFeature(*partition, params.getIsEdge(), params.getType(),
                                   ReadFeatureName(params.getName())),
                       encoded);
  const int64_t begin = params.getBegin(), count = params.getCount();
  if (begin < 0 || count < 0 || begin > table.num_rows() || count > table.num_rows() - begin) {
    Throw(ErrorCode::kInvalid, "rows ", begin, " to ", begin, "+", count, " are outside 0..",
          table.num_rows() - 1);
  }
  requests_.CountRows(static_cast<uint64_t>(count));
  return Answer(
      request, context, static_cast<size_t>(count) * table.row_bytes(),
      [partition, table, begin, count](std::byte* out) { table.Read(begin, count, out); },
      [encoded](auto results, auto rows) {
        results.setEncoded(encoded);
        results.adoptRows(kj::mv(rows));
      });
}

kj::Promise<void> GraphService::Owners(OwnersContext context, const RequestPtr& request) {
  auto params = context.getParams();
  const auto all = graph_.meta().book.map(params.getIsEdge()).owners();
  const int64_t begin = params.getBegin(), count = params.getCount();
  const auto size = static_cast<int64_t>(all.size());
  if (count < 0 || count > kMaxOwnersPerCall || begin < 0 || begin > size || count > size - begin) {
    Throw(ErrorCode::kInvalid, "owners ", begin, " to ", begin, "+", count, " are not ",
          kMaxOwnersPerCall, " at most of the ", size, " that this partition book has");
  }
  const auto some = all.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  return Answer(
      request, context, some.size_bytes(),
      [some, meta = graph_.partitions()[0]->shared_meta()](std::byte* out) {
        std::memcpy(out, some.data(), some.size_bytes());
      },
      [](auto results, auto owners) { results.adoptOwners(kj::mv(owners)); });
}

template <class Context, class Fill, class Set>
kj::Promise<void> GraphService::Answer(const RequestPtr& request, Context context, size_t size,
                                       Fill fill, Set adopt) {
  CheckResponse(size);
  struct Pending {
    Outbox::Room room;
    PooledBuffer out;
  };
  auto answer = std::make_shared<Pending>(
      Pending{requests_.outbox()->Reserve(size), requests_.buffers()->Get(size + 8)});
  return requests_
      .Execute(request, size, 1,
               [answer, size, fill](size_t, WorkerScratch&) {
                 if (size != 0) fill(answer->out.data());
               })
      .then([this, context, answer, size, adopt]() mutable {
        AsKj([&] {
          auto results = context.getResults(capnp::MessageSize{16, 0});
          adopt(results, requests_.Adopt(capnp::Orphanage::getForMessageContaining(results),
                                         std::move(answer->out), size, std::move(answer->room)));
        });
      });
}

}  // namespace graphd
