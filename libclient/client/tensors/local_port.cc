// SPDX-License-Identifier: Apache-2.0
#include "client/tensors/local_port.h"

#include <stdlib.h>

#include <filesystem>
#include <numeric>
#include <random>

#include "base/clock.h"
#include "base/file.h"
#include "base/fork.h"
#include "base/interruptions.h"
#include "base/rng.h"
#include "base/strings.h"
#include "base/threads/mutex.h"
#include "client/routing/owner_split.h"
#include "sampling/gather.h"
#include "store/rows/table_preparer.h"
#include "store/tensor_host.h"

namespace graphd {
namespace {

using store::TensorHost;

// Bytes of the rows that are read at a time.
constexpr size_t kReadBytes = size_t{2} << 20;

// A directory that is removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = std::filesystem::temp_directory_path() / "graphd-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) ThrowErrno("can't make a directory like", path);
    path_ = path;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// Returns a job id. Each session is a job of its own, so that tensors of earlier sessions that are
// not persistent are removed.
std::string NewJob() {
  std::random_device random;
  return StrCat("standalone-", std::hex, random(), random());
}

class LocalPort final : public TensorPort {
 public:
  LocalPort(std::shared_ptr<const GraphMeta> meta, const graphd::Options& options)
      : meta_(std::move(meta)),
        state_dir_(options.state_dir),
        world_size_(options.world_size),
        job_(NewJob()) {}

  Opened Open(PartId part, const TensorSpec& spec, bool create, bool caller_fills) override {
    auto opened = host().Open({job_, kKey}, part, spec, create, caller_fills);
    return {std::move(opened.share), opened.fill, opened.filling};
  }
  void Filled(uint32_t table, bool given_up) override {
    if (given_up) return host().GiveUpFilling({job_, kKey}, table);
    host().Filled({job_, kKey}, table);
  }
  uint64_t LastStep(uint32_t table) override { return host().LastSequence(StepsOf(table)); }
  bool Lease(uint32_t table, bool hold) override { return host().Lease(job_, table, hold); }
  RpcThread::Pending PrepareState(uint32_t table, OptimizerState state) override {
    const auto prepared = host().PrepareState(job_, table, state);
    const auto end = Clock::now() + store::kLongestPreparation;
    while (prepared->is_preparing() && Clock::now() < end) AwaitTime(std::chrono::milliseconds(1));
    return {};
  }
  std::vector<TensorShare> List() override { return host().List(job_); }
  void Drop(uint32_t table) override { host().Drop(job_, table); }

  RpcThread::Pending ReadRows(uint32_t table, const RowsToRead& wanted) override {
    std::promise<void> done;
    try {
      const auto share = host().FindToRead(job_, table);
      const size_t most = std::max<size_t>(1, kReadBytes / wanted.row_bytes);
      std::vector<int64_t> rows;
      std::vector<std::byte> values(std::min(most, wanted.ids.size()) * wanted.row_bytes);
      for (size_t begin = 0; begin < wanted.ids.size(); begin += most) {
        const size_t count = std::min(most, wanted.ids.size() - begin);
        LocalRows(share->rows.ids(), share->record.part, wanted.ids.subspan(begin, count), rows);
        share->table->Read(rows, values.data());
        ScatterRows(values.data(), wanted.row_bytes, wanted.positions.subspan(begin, count),
                    wanted.out);
      }
      done.set_value();
    } catch (const Error&) {
      done.set_exception(std::current_exception());
    }
    return RpcThread::Pending(done.get_future());
  }

  RpcThread::Pending Push(uint32_t table, const UpdateRule& rule, const store::ClientId& client,
                          uint64_t sequence, const RowsToPush& rows) override {
    struct Work {
      std::vector<int64_t> rows;
      std::vector<std::byte> payload;
      std::promise<void> done;
    };
    auto work = std::make_shared<Work>();
    auto done = work->done.get_future();
    try {
      const auto share = host().FindToWrite(job_, table);
      LocalRows(share->rows.ids(), share->record.part, rows.ids, work->rows);
      work->payload.resize(rows.ids.size() * rows.row_bytes);
      GatherRows(rows.payload, rows.row_bytes, rows.positions, {}, work->payload.data());
      store::Push push;
      push.rule = rule;
      push.client = client;
      push.sequence = sequence;
      push.rows = work->rows;
      push.payload = work->payload;
      host().Submit(job_, share, push, [work](const Error* error) {
        if (error == nullptr) return work->done.set_value();
        work->done.set_exception(std::make_exception_ptr(*error));
      });
    } catch (const Error&) {
      work->done.set_exception(std::current_exception());
    }
    return RpcThread::Pending(std::move(done));
  }

  RpcThread::Pending Stage(uint32_t table, const UpdateRule& rule, uint64_t step,
                           const RowsToPush& rows) override {
    if (world_size_ > 1) {
      Throw(ErrorCode::kInvalid, "a synchronous step of ", world_size_,
            " trainers needs servers; in standalone mode each trainer has separate tables");
    }
    return Push(table, rule, StepsOf(table), step, rows);
  }

  std::unique_ptr<store::ArenaReader> Map(uint32_t, int64_t, size_t) override { return nullptr; }
  void Reconnect() override {}
  uint64_t generation() const noexcept override { return 1; }

 private:
  static constexpr uint64_t kKey = 1;  // key of the only caller

  // Returns the client id under which steps of a table are pushed.
  store::ClientId StepsOf(uint32_t table) const {
    store::ClientId client{CombineKeys(1, table), CombineKeys(2, table)};
    for (const char c : job_) client.high = CombineKeys(client.high, static_cast<uint8_t>(c));
    return client;
  }

  TensorHost& host() {
    const MutexLock lock(mutex_);
    if (host_) return *host_;
    if (state_dir_.empty() && !temporary_) temporary_ = std::make_unique<TemporaryDirectory>();
    const std::string& parent = temporary_ ? temporary_->path() : state_dir_;
    std::vector<PartId> parts(static_cast<size_t>(meta_->book.num_partitions()));
    std::iota(parts.begin(), parts.end(), 0);
    TensorHost::Options options;
    options.store.directory = StrCat(parent, "/standalone/", meta_->graph_name);
    // The times for attaching again are 0, because a process has the store for its whole lifetime.
    options.lease_seconds = 0;
    options.orphan_seconds = 0;
    if (temporary_) options.store.durability = store::Durability::kNone;
    SkipDestructorsInChildren();  // RocksDB
    host_ = std::make_unique<TensorHost>(meta_, std::move(parts), std::move(options));
    host_->OnJobJoined(job_);
    return *host_;
  }

  const std::shared_ptr<const GraphMeta> meta_;
  const std::string state_dir_;
  const int world_size_;
  const std::string job_;
  Mutex mutex_;
  std::unique_ptr<TemporaryDirectory> temporary_ GRAPHD_GUARDED_BY(mutex_);
  // The host stores its files in temporary_. The mutex guards the creation of the host, not its
  // use.
  std::unique_ptr<TensorHost> host_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<TensorPort> MakeLocalPort(std::shared_ptr<const GraphMeta> meta,
                                          const Options& options) {
  return MakeAbandonedInChildren<LocalPort>(std::move(meta), options);
}

}  // namespace graphd
