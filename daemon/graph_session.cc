// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph_session.h"

#include <capnp/orphan.h>

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "sampling/gather.h"
#include "wire/convert.h"

namespace graphd {
namespace {

// What takes less than about 100 us is done on the data thread: a hop to the pool and back
// costs 15.
constexpr size_t kInlineBytes = size_t{256} << 10;
// A slice of a gather: large enough to be worth a hop, small enough to let others in between.
constexpr size_t kSliceBytes = size_t{1} << 20;

// Ids as they came, copied out of the message.
struct WireIds {
  PooledBuffer buffer;
  size_t count = 0;
  bool narrow = true;

  WireIds(capnp::Data::Reader data, int64_t type_count, BufferPool& pool) {
    const size_t width = IdBytes(type_count);
    narrow = width == 4;
    count = data.size() / width;
    if (data.size() % width != 0) {
      Throw(ErrorCode::kInvalid, data.size(), " bytes of ids, expected a multiple of ", width);
    }
    if (count > GraphSession::kMaxIds) {
      Throw(ErrorCode::kOverloaded, count, " ids in one request, at most ", GraphSession::kMaxIds,
            " are taken; cut it");
    }
    buffer = pool.Get(data.size());
    std::memcpy(buffer.data(), data.begin(), data.size());
  }
  int64_t operator[](size_t i) const {
    if (narrow) return reinterpret_cast<const uint32_t*>(buffer.data())[i];
    return reinterpret_cast<const int64_t*>(buffer.data())[i];
  }
};

// Local rows of ids[begin, end) that `part` must own. The client is not trusted: each id is
// checked.
void ToLocalRows(const IdMap& map, PartId part, int32_t type, const WireIds& ids, size_t begin,
                 size_t end, std::vector<int64_t>& rows) {
  rows.resize(end - begin);
  const auto refuse = [&](int64_t id) {
    Throw(ErrorCode::kInvalid, "id ", id, " does not belong to partition ", part);
  };
  if (map.is_range()) {
    const int64_t first = map.type_begin(part, type), count = map.count_in(part, type);
    for (size_t i = begin; i < end; i++) {
      const int64_t row = ids[i] - first;
      if (row < 0 || row >= count) refuse(ids[i]);
      rows[i - begin] = row;
    }
  } else {
    for (size_t i = begin; i < end; i++) {
      if (map.Owner(type, ids[i]) != part) refuse(ids[i]);
      rows[i - begin] = map.LocalRow(type, ids[i]);
    }
  }
}

void CheckType(int32_t type, int32_t types, const char* what) {
  if (type < 0 || type >= types) {
    Throw(ErrorCode::kInvalid, what, " type ", type, " is outside 0..", types - 1);
  }
}

// The feature that a request names.
const Tensor& FindFeature(const Partition& partition, bool is_edge, int32_t type,
                          const std::string& name) {
  const Schema& schema = partition.meta().schema;
  if (is_edge) {
    CheckType(type, schema.num_etypes(), "edge");
    return partition.edge_feature(type, name);
  }
  CheckType(type, schema.num_ntypes(), "node");
  return partition.node_feature(type, name);
}

void CheckResponse(size_t bytes) {
  if (bytes > kMaxResponseBytes) {
    Throw(ErrorCode::kOverloaded, "the answer would have ", HumanBytes(bytes), ", at most ",
          HumanBytes(kMaxResponseBytes), " are sent; ask for less at once");
  }
}

uint8_t WidthFor(uint32_t largest) {
  if (largest <= UINT8_MAX) return 1;
  return largest <= UINT16_MAX ? 2 : 4;
}

template <class T>
void Narrow(std::span<const uint32_t> from, kj::byte* to) {
  for (size_t i = 0; i < from.size(); i++) {
    const T value = static_cast<T>(from[i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

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
    const size_t end = std::min(ids.count, begin + rows_per_slice);
    ToLocalRows(*map, partition->id(), type, ids, begin, end, scratch.rows);
    GatherRows(table->data(), table->row_bytes(), scratch.rows, {},
               out.data() + begin * table->row_bytes());
  }
};

struct GraphSession::SampleJob {
  std::shared_ptr<const Partition> partition;
  EdgeTypeId etype;
  UniformParams params;
  bool want_edges;
  std::shared_ptr<BufferPool> pool;
  WireIds seeds;
  std::vector<uint32_t> counts = {};
  PooledBuffer neighbors = {}, edges = {};
  size_t neighbor_bytes = 0, edge_bytes = 0, total = 0;
  uint32_t largest = 0;

  void Run(WorkerScratch& scratch) {
    const GraphMeta& meta = partition->meta();
    const NodeTypeId dst = meta.schema.dst_type(etype);
    ToLocalRows(meta.book.nodes(), partition->id(), dst, seeds, 0, seeds.count, scratch.rows);
    scratch.ids.resize(seeds.count);
    for (size_t i = 0; i < seeds.count; i++) scratch.ids[i] = seeds[i];
    counts.resize(seeds.count);
    const Csc& csc = partition->csc(etype);
    total = scratch.sampler.Plan(csc, scratch.rows, scratch.ids, params, counts);
    for (uint32_t count : counts) largest = std::max(largest, count);
    neighbor_bytes = total * (csc.indices.is_narrow() ? 4 : 8);
    edge_bytes = want_edges ? total * IdBytes(meta.book.edges().count(etype)) : 0;
    CheckResponse(neighbor_bytes + edge_bytes + counts.size() * sizeof(uint32_t));
    neighbors = pool->Get(neighbor_bytes);
    uint64_t* positions = nullptr;
    if (want_edges) {
      scratch.positions.resize(total);
      positions = scratch.positions.data();
    }
    if (csc.indices.is_narrow()) {
      scratch.sampler.Pick(reinterpret_cast<uint32_t*>(neighbors.data()), positions);
    } else {
      scratch.sampler.Pick(reinterpret_cast<uint64_t*>(neighbors.data()), positions);
    }
    if (want_edges) WriteEdges(scratch.positions);
  }

  void WriteEdges(std::vector<uint64_t>& positions) {
    PositionsToEdgeIds(*partition, etype, positions);
    edges = pool->Get(edge_bytes);
    if (edge_bytes == total * 4) {
      Narrow<uint32_t>(positions, edges.data());
    } else {
      std::memcpy(edges.data(), positions.data(), edge_bytes);
    }
  }
  template <class T>
  static void Narrow(const std::vector<uint64_t>& from, std::byte* to) {
    T* out = reinterpret_cast<T*>(to);
    for (size_t i = 0; i < from.size(); i++) out[i] = static_cast<T>(from[i]);
  }
};

GraphSession::GraphSession(ServiceContext& context, std::shared_ptr<Outbox> outbox,
                           WorkerScratch& scratch,
                           std::unique_ptr<JobRegistry::Membership> membership)
    : context_(context),
      outbox_(std::move(outbox)),
      scratch_(scratch),
      membership_(std::move(membership)) {}

template <class Context, class F>
kj::Promise<void> GraphSession::Guarded(Context& context, F&& f) {
  // Without it a call runs on after its client has gone, and a barrier for ever.
  context.allowCancellation();
  context_.graph.requests.fetch_add(1, std::memory_order_relaxed);
  try {
    if (in_flight_ >= kMaxInFlight) {
      Throw(ErrorCode::kOverloaded, "this client has ", in_flight_,
            " requests in flight already; wait for answers");
    }
    in_flight_++;
    auto count = kj::defer([this, self = thisCap()] { in_flight_--; });
    return f().attach(kj::mv(count));
  } catch (const Error& error) {
    return ToKj(error);
  }
}

kj::Promise<void> GraphSession::Execute(size_t work, size_t num_slices, ComputePool::Slice run) {
  if (work > kInlineBytes) return context_.pool.Run(num_slices, std::move(run));
  for (size_t slice = 0; slice < num_slices; slice++) run(slice, scratch_);
  return kj::READY_NOW;
}

capnp::Orphan<capnp::Data> GraphSession::Adopt(capnp::Orphanage orphanage, PooledBuffer buffer,
                                               size_t bytes, Outbox::Room room) {
  context_.graph.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes == 0) return orphanage.newOrphan<capnp::Data>(0);
  // The message sends whole words: what lies behind the last byte must not be another client's.
  std::memset(buffer.data() + bytes, 0, (8 - bytes % 8) % 8);
  const auto* data = reinterpret_cast<const kj::byte*>(buffer.data());
  outbox_->ReleaseWhenWritten(std::move(buffer), std::move(room));
  return orphanage.referenceExternalData(capnp::Data::Reader(data, bytes));
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
    const size_t rows = ids.count, row_bytes = std::max<size_t>(table.row_bytes(), 1);
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

kj::Promise<void> GraphSession::sample(SampleContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    auto partition = context_.graph.Find(params.getPart());
    const GraphMeta& meta = partition->meta();
    CheckType(params.getEtype(), meta.schema.num_etypes(), "edge");
    if (params.getFanout() < -1) {
      Throw(ErrorCode::kInvalid, "fanout ", params.getFanout(), ": use -1 for all, or 0 and more");
    }
    const NodeTypeId dst = meta.schema.dst_type(params.getEtype());
    auto job = std::make_shared<SampleJob>(
        SampleJob{partition, params.getEtype(),
                  UniformParams{params.getFanout(), params.getReplace(), params.getKey()},
                  params.getEdgeIds(), context_.buffers,
                  WireIds(params.getSeeds(), meta.book.nodes().count(dst), *context_.buffers)});
    if (job->seeds.count > kMaxSeeds) {
      Throw(ErrorCode::kOverloaded, job->seeds.count, " seeds in one request, at most ", kMaxSeeds,
            " are taken; cut it");
    }
    // With replacement a row may grow to any fanout: bounded before anything is planned.
    const auto fanout = static_cast<size_t>(std::max(job->params.fanout, 0));
    if (job->params.replace &&
        fanout > kMaxResponseBytes / 4 / std::max<size_t>(job->seeds.count, 1)) {
      Throw(ErrorCode::kOverloaded, "fanout ", fanout, " for ", job->seeds.count,
            " seeds exceeds what one answer may hold; ask for fewer seeds at once");
    }
    context.releaseParams();
    // How many neighbours "all" will be is not known before the pool has looked.
    const size_t work = job->params.fanout < 0 ? SIZE_MAX : job->seeds.count * (fanout + 1) * 64;
    return Execute(work, 1, [job](size_t, WorkerScratch& scratch) { job->Run(scratch); })
        .then([this, context, job]() mutable {
          AsKj([&] {
            context_.graph.edges_sampled.fetch_add(job->total, std::memory_order_relaxed);
            auto results = context.getResults(capnp::MessageSize{job->counts.size() / 2 + 32, 0});
            const uint8_t width = WidthFor(job->largest);
            auto counts = results.initCounts(static_cast<kj::uint>(job->counts.size() * width));
            if (width == 1) Narrow<uint8_t>(job->counts, counts.begin());
            if (width == 2) Narrow<uint16_t>(job->counts, counts.begin());
            if (width == 4) Narrow<uint32_t>(job->counts, counts.begin());
            results.setCountBytes(width);
            auto orphanage = capnp::Orphanage::getForMessageContaining(results);
            results.adoptNeighbors(Adopt(orphanage, std::move(job->neighbors), job->neighbor_bytes,
                                         outbox_->Reserve(job->neighbor_bytes)));
            if (job->want_edges) {
              results.adoptEdges(Adopt(orphanage, std::move(job->edges), job->edge_bytes,
                                       outbox_->Reserve(job->edge_bytes)));
            }
          });
        });
  });
}

kj::Promise<void> GraphSession::barrier(BarrierContext context) {
  return Guarded(context, [&] { return membership_->Barrier(); });
}

}  // namespace graphd
