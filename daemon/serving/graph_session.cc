// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/graph_session.h"

#include <capnp/orphan.h>

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "daemon/graph/hop_job.h"
#include "sampling/gather.h"

namespace graphd {
namespace {

// What takes less than about 100 us is done on the data thread: a hop to the pool and back
// costs 15.
constexpr size_t kInlineBytes = size_t{256} << 10;
// A slice of a gather: large enough to be worth a hop, small enough to let others in between.
constexpr size_t kSliceBytes = size_t{1} << 20;

}  // namespace

struct GraphSession::GatherJob {
  std::shared_ptr<const Partition> partition;
  const Tensor* table;
  const IdMap* map;
  int32_t type;
  WireIds ids;
  Outbox::Room room;
  PooledBuffer out;
  size_t rows_per_slice;

  void Run(size_t slice, WorkerScratch& scratch) {
    const size_t begin = slice * rows_per_slice;
    const size_t end = std::min(ids.size(), begin + rows_per_slice);
    ids.CopyRows(begin, end, *map, partition->id(), type, scratch.rows);
    GatherRows(table->data(), table->row_bytes(), scratch.rows, {},
               out.data() + begin * table->row_bytes());
  }
};

GraphSession::GraphSession(ServiceContext& context, const TensorStream& stream,
                           WorkerScratch& scratch, kj::Timer& timer,
                           std::unique_ptr<JobRegistry::Membership> membership, bool is_unix)
    : context_(context),
      outbox_(stream.outbox()),
      inbox_(stream.inbox()),
      scratch_(scratch),
      timer_(timer),
      membership_(std::move(membership)),
      is_unix_(is_unix) {}

GraphSession::~GraphSession() { context_.tensors.CallerLeft(membership_->key()); }

kj::Promise<void> GraphSession::Execute(size_t work, size_t num_slices, ComputePool::Slice run) {
  if (work > kInlineBytes) return context_.pool.Run(num_slices, std::move(run));
  for (size_t slice = 0; slice < num_slices; slice++) run(slice, scratch_);
  return kj::READY_NOW;
}

capnp::Orphan<capnp::Data> GraphSession::Adopt(capnp::Orphanage orphanage, PooledBuffer buffer,
                                               size_t bytes, Outbox::Room room) {
  context_.graph.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  return AdoptBuffer(*outbox_, orphanage, std::move(buffer), bytes, std::move(room));
}

AnswerWriter::Send GraphSession::Sender(capnp::Orphanage orphanage, size_t bytes) {
  CheckResponse(bytes);
  auto room = std::make_shared<Outbox::Room>(outbox_->Reserve(bytes));
  return [this, orphanage, room](PooledBuffer buffer, size_t size) {
    return Adopt(orphanage, std::move(buffer), size, room->Take(size));
  };
}

kj::Promise<void> GraphSession::gather(GatherContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    auto partition = context_.graph.Find(params.getPart());
    const bool is_edge = params.getIsEdge();
    const Tensor& table =
        FindFeature(*partition, is_edge, params.getType(), params.getName().cStr());
    const PartitionBook& book = partition->meta().book;
    const IdMap& map = is_edge ? book.edges() : book.nodes();
    WireIds ids(params.getIds(), map.count(params.getType()), *context_.buffers);
    const size_t rows = ids.size(), row_bytes = std::max<size_t>(table.row_bytes(), 1);
    const size_t bytes = rows * table.row_bytes();
    CheckResponse(bytes);
    auto job = std::make_shared<GatherJob>(GatherJob{
        partition, &table, &map, params.getType(), std::move(ids), outbox_->Reserve(bytes),
        context_.buffers->Get(bytes + 8), std::max<size_t>(1, kSliceBytes / row_bytes)});
    context.releaseParams();
    context_.graph.rows_served.fetch_add(rows, std::memory_order_relaxed);
    const size_t slices = (rows + job->rows_per_slice - 1) / job->rows_per_slice;
    return Execute(bytes + rows * 64, slices,
                   [job](size_t slice, WorkerScratch& scratch) { job->Run(slice, scratch); })
        .then([this, context, job, bytes]() mutable {
          AsKj([&] {
            auto results = context.getResults(capnp::MessageSize{16, 0});
            results.adoptRows(Adopt(capnp::Orphanage::getForMessageContaining(results),
                                    std::move(job->out), bytes, std::move(job->room)));
          });
        });
  });
}

kj::Promise<void> GraphSession::slice(SliceContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    auto partition = context_.graph.Find(params.getPart());
    const Tensor& table =
        FindFeature(*partition, params.getIsEdge(), params.getType(), params.getName().cStr());
    const int64_t begin = params.getBegin(), count = params.getCount();
    if (begin < 0 || count < 0 || begin > table.num_rows() || count > table.num_rows() - begin) {
      Throw(ErrorCode::kInvalid, "rows ", begin, " to ", begin, "+", count, " are outside 0..",
            table.num_rows() - 1);
    }
    const size_t bytes = static_cast<size_t>(count) * table.row_bytes();
    CheckResponse(bytes);
    struct Answer {
      Outbox::Room room;
      PooledBuffer out;
    };
    auto answer =
        std::make_shared<Answer>(Answer{outbox_->Reserve(bytes), context_.buffers->Get(bytes + 8)});
    const std::byte* from = table.data() + static_cast<size_t>(begin) * table.row_bytes();
    context_.graph.rows_served.fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
    return Execute(bytes, 1,
                   [partition, answer, from, bytes](size_t, WorkerScratch&) {
                     if (bytes > 0) std::memcpy(answer->out.data(), from, bytes);
                   })
        .then([this, context, answer, bytes]() mutable {
          AsKj([&] {
            auto results = context.getResults(capnp::MessageSize{16, 0});
            results.adoptRows(Adopt(capnp::Orphanage::getForMessageContaining(results),
                                    std::move(answer->out), bytes, std::move(answer->room)));
          });
        });
  });
}

kj::Promise<void> GraphSession::MakeIndexes(std::shared_ptr<EdgeIndexes> indexes,
                                            std::vector<EdgeIndexSpec> specs) {
  if (specs.empty()) return kj::READY_NOW;
  return context_.builds.Run(1, [indexes, specs](size_t, WorkerScratch&) {
    for (const EdgeIndexSpec& spec : specs) indexes->Get(spec);
  });
}

kj::Promise<void> GraphSession::hop(HopContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    auto partition = context_.graph.Find(params.getPart());
    auto indexes = context_.graph.indexes(params.getPart());
    auto job = std::make_shared<HopJob>(partition, indexes, context_.buffers, params);
    auto room = std::make_shared<Outbox::Room>(outbox_->Reserve(job->row_bytes()));
    context.releaseParams();
    return MakeIndexes(indexes, job->MissingIndexes())
        .then([this, job] {
          return Execute(
              job->work(), job->num_slices(),
              [job](size_t slice, WorkerScratch& scratch) { job->RunSlice(slice, scratch); });
        })
        .then([this, context, job, room]() mutable {
          AsKj([&] {
            *room = {};
            auto results = context.getResults(job->message_size());
            job->Write(results, Sender(capnp::Orphanage::getForMessageContaining(results),
                                       job->answer_bytes()));
            context_.graph.edges_sampled.fetch_add(job->edges(), std::memory_order_relaxed);
            context_.graph.rows_served.fetch_add(job->rows(), std::memory_order_relaxed);
          });
        });
  });
}

kj::Promise<void> GraphSession::barrier(BarrierContext context) {
  return Guarded(context, [&] { return membership_->Barrier(); });
}

}  // namespace graphd
