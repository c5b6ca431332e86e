// SPDX-License-Identifier: Apache-2.0
#include "client/link/link_port.h"

#include <optional>

#include "base/strings.h"
#include "base/threads/mutex.h"
#include "client/link/push_regions.h"
#include "client/link/row_calls.h"
#include "client/link/take_descriptor.h"
#include "sampling/gather.h"
#include "store/rows/table_preparer.h"
#include "wire/id_arrays.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

using Lane = DaemonLink::Lane;

// The size in bytes of the smallest payload that is sent through shared memory; smaller payloads
// travel in messages.
constexpr uint64_t kLeastShared = uint64_t{64} << 10;

// Rows to send, in shared memory or not yet copied.
struct RowsOnTheWay {
  RowsToPush rows;
  store::ClientId sender;  // client of the push, and the push's number
  uint64_t number = 0;
  std::shared_ptr<PushRegions> memory = nullptr;  // the session's, if it has any
  std::optional<PushRegions::Region> region = {};

  uint64_t bytes() const { return rows.ids.size() * rows.row_bytes; }
};

// Writes ids and rows of a request; copies rows that are not in shared memory.
template <class Request>
void WriteRows(const RowsOnTheWay& on_the_way, Request& request) {
  const RowsToPush& rows = on_the_way.rows;
  const size_t count = rows.ids.size();
  WriteIds(rows.ids, rows.id_bytes, request.initIds(static_cast<kj::uint>(count * rows.id_bytes)));
  if (on_the_way.region) {
    auto shared = request.initShared();
    shared.setMemory(on_the_way.memory->id());
    shared.setOffset(on_the_way.region->offset);
    shared.setBytes(on_the_way.bytes());
    return;
  }
  auto payload = request.initPayload(static_cast<kj::uint>(count * rows.row_bytes));
  GatherRows(rows.payload, rows.row_bytes, rows.positions, {},
             reinterpret_cast<std::byte*>(payload.begin()));
}

capnp::MessageSize SizeOf(const RowsOnTheWay& rows) {
  const uint64_t payload = rows.region ? 0 : rows.bytes();
  return {(rows.rows.ids.size() * rows.rows.id_bytes + payload) / 8 + 64, 0};
}

// Sends a request. Gives back the shared memory when the daemon's answer shows that the daemon does
// not read it any more. Keeps it if the call was dropped or the answer is "unavailable", because
// the daemon may still read it then.
template <class Request>
kj::Promise<void> SendRows(Request& request, const RowsOnTheWay& rows) {
  auto sent = request.send().ignoreResult();
  if (rows.memory == nullptr) return kj::mv(sent);
  return sent.then(
      [memory = rows.memory, sender = rows.sender, number = rows.number]() -> kj::Promise<void> {
        memory->GiveUpTo(sender, number);
        return kj::READY_NOW;
      },
      [memory = rows.memory, region = rows.region](kj::Exception&& error) -> kj::Promise<void> {
        if (region && FromKj(error, "").code() != ErrorCode::kUnavailable) memory->Give(*region);
        return kj::mv(error);
      });
}

class LinkPort final : public TensorPort {
 public:
  explicit LinkPort(std::shared_ptr<DaemonLink> link) : link_(std::move(link)) {}

  Opened Open(PartId part, const TensorSpec& spec, bool create, bool caller_fills) override {
    Opened opened;
    Call([&](wire::Session::Client& session) {
      auto request = session.openTensorRequest();
      request.setPart(part);
      WriteTensorSpec(spec, request.initSpec());
      request.setCreate(create);
      request.setCallerFills(caller_fills);
      return request.send().then([&](auto&& response) {
        AsKj([&] {
          opened = {ReadShare(response.getInfo()), response.getFill(), response.getFilling()};
        });
      });
    });
    return opened;
  }

  void Filled(uint32_t table, bool given_up) override {
    Call([&](wire::Session::Client& session) {
      auto request = session.filledRequest();
      request.setTable(table);
      request.setGivenUp(given_up);
      return request.send().ignoreResult();
    });
  }

  uint64_t LastStep(uint32_t table) override {
    uint64_t step = 0;
    Call([&](wire::Session::Client& session) {
      auto request = session.lastStepRequest();
      request.setTable(table);
      return request.send().then([&](auto&& response) { step = response.getStep(); });
    });
    return step;
  }

  bool Lease(uint32_t table, bool hold) override {
    bool changed = false;
    Call([&](wire::Session::Client& session) {
      auto request = session.leaseRequest();
      request.setTable(table);
      request.setHold(hold);
      return request.send().then([&](auto&& response) { changed = response.getChanged(); });
    });
    return changed;
  }

  RpcThread::Pending PrepareState(uint32_t table, OptimizerState state) override {
    const auto prepare = [=](wire::Session::Client& session, size_t) {
      auto request = session.prepareStateRequest();
      request.setTable(table);
      request.setState(static_cast<uint8_t>(state));
      return request.send().ignoreResult();
    };
    // The daemon may take kLongestPreparation before it answers.
    return link_->StartSteps(Lane::kSmall, 1, prepare,
                             link_->timeout() + store::kLongestPreparation);
  }

  std::vector<TensorShare> List() override {
    std::vector<TensorShare> shares;
    Call([&](wire::Session::Client& session) {
      return session.listTensorsRequest().send().then(
          [&](auto&& response) { AsKj([&] { shares = ReadShares(response.getTensors()); }); });
    });
    return shares;
  }

  void Drop(uint32_t table) override {
    Call([&](wire::Session::Client& session) {
      auto request = session.dropTensorRequest();
      request.setTable(table);
      return request.send().ignoreResult();
    });
  }

  RpcThread::Pending ReadRows(uint32_t table, const RowsToRead& rows) override {
    return StartReading(*link_, rows,
                        [table](wire::Session::Client& session, capnp::MessageSize size) {
                          auto request = session.readRowsRequest(size);
                          request.setTable(table);
                          return request;
                        });
  }

  void Prepare(const store::ClientId& client, uint64_t sequence, const RowsToPush& rows) override {
    const RowsOnTheWay all = WithMemory(rows, client, sequence);
    if (all.memory == nullptr) return;
    if (const auto region = all.memory->Prepare(all.bytes(), client, sequence)) {
      GatherRows(rows.payload, rows.row_bytes, rows.positions, {}, region->data);
    }
  }

  RpcThread::Pending Push(uint32_t table, const UpdateRule& rule, const store::ClientId& client,
                          uint64_t sequence, const RowsToPush& rows) override {
    return Start(Lane::kBulk,
                 [=, on_the_way = Share(rows, client, sequence)](wire::Session::Client& session) {
                   auto request = session.pushRequest(SizeOf(on_the_way));
                   request.setTable(table);
                   WriteUpdateRule(rule, request.initRule());
                   request.initClient().setHigh(client.high);
                   request.getClient().setLow(client.low);
                   request.setSequence(sequence);
                   WriteRows(on_the_way, request);
                   return SendRows(request, on_the_way);
                 });
  }

  RpcThread::Pending Stage(uint32_t table, const UpdateRule& rule, uint64_t step,
                           const RowsToPush& rows) override {
    if (link_->is_worker()) {
      Throw(ErrorCode::kInvalid,
            "a synchronous step has a part of each trainer, and this process is ",
            "a worker of one (GRAPHD_TRAINER); make the step in the trainer");
    }
    const store::ClientId sender{0, table};  // no client has this id: ids of clients are random
    return Start(Lane::kBulk,
                 [=, on_the_way = Share(rows, sender, step)](wire::Session::Client& session) {
                   auto request = session.stageRequest(SizeOf(on_the_way));
                   request.setTable(table);
                   WriteUpdateRule(rule, request.initRule());
                   request.setStep(step);
                   WriteRows(on_the_way, request);
                   return SendRows(request, on_the_way);
                 });
  }

  std::unique_ptr<store::ArenaReader> Map(uint32_t table, int64_t rows, size_t row_bytes) override {
    if (!link_->shares_memory()) return nullptr;
    UniqueFd fd;
    Call([&](wire::Session::Client& session) {
      auto request = session.mapTensorRequest();
      request.setTable(table);
      return request.send().then([&](auto&& response) {
        return TakeDescriptor(response.getHandle(), fd).attach(kj::mv(response));
      });
    });
    if (!fd) {
      Throw(ErrorCode::kCorrupt, "the graphd at ", link_->peer(),
            " sent no descriptor for a tensor");
    }
    return std::make_unique<store::ArenaReader>(std::move(fd), rows, row_bytes);
  }

  void Reconnect() override {
    if (link_->is_broken()) link_->ReconnectIfBroken();
  }
  uint64_t generation() const noexcept override { return link_->generation(); }

 private:
  using CallOnce = std::function<kj::Promise<void>(wire::Session::Client&)>;

  RpcThread::Pending Start(Lane lane, CallOnce call) {
    return link_->StartSteps(
        lane, 1,
        [call = std::move(call)](wire::Session::Client& session, size_t) { return call(session); });
  }
  void Call(const CallOnce& call) {
    link_->RetryWhileUnavailable([&] { Start(Lane::kSmall, call).Wait(); });
  }

  RowsOnTheWay WithMemory(const RowsToPush& rows, const store::ClientId& sender, uint64_t number) {
    RowsOnTheWay all{rows, sender, number};
    if (all.bytes() >= kLeastShared && link_->shares_memory()) all.memory = Regions();
    return all;
  }

  // Copies rows into memory that the daemon can read, unless the rows are there already or the
  // memory is full.
  RowsOnTheWay Share(const RowsToPush& rows, const store::ClientId& sender, uint64_t number) {
    RowsOnTheWay all = WithMemory(rows, sender, number);
    if (all.memory == nullptr) return all;
    all.region = all.memory->TakePrepared(all.bytes(), sender, number);
    if (all.region) return all;
    all.region = all.memory->Take(all.bytes(), sender, number);
    if (all.region) {
      GatherRows(rows.payload, rows.row_bytes, rows.positions, {}, all.region->data);
    }
    return all;
  }

  // Returns the regions of the current session; null if the session has none, so that payloads
  // travel in messages.
  std::shared_ptr<PushRegions> Regions() {
    const MutexLock lock(mutex_);
    const uint64_t generation = link_->generation();
    if (generation == regions_generation_) return regions_;
    UniqueFd fd;
    uint64_t id = 0;
    try {
      Start(Lane::kBulk, [&](wire::Session::Client& session) {
        return session.pushMemoryRequest().send().then([&](auto&& response) {
          id = response.getId();
          return TakeDescriptor(response.getHandle(), fd).attach(kj::mv(response));
        });
      }).Wait();
      // The answer may come from a newer session than that of `generation`. The next call then asks
      // again, and gets the memory that is already known.
      const bool known = regions_ != nullptr && regions_->id() == id;
      if (!known) regions_ = fd ? std::make_shared<PushRegions>(std::move(fd), id) : nullptr;
    } catch (const Error& error) {
      regions_.reset();
      if (error.code() == ErrorCode::kDeadline) throw;
      if (error.code() == ErrorCode::kUnavailable) return nullptr;  // asked again later
    }
    regions_generation_ = generation;
    return regions_;
  }

  std::shared_ptr<DaemonLink> link_;
  Mutex mutex_;
  std::shared_ptr<PushRegions> regions_ GRAPHD_GUARDED_BY(mutex_);
  uint64_t regions_generation_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::shared_ptr<TensorPort> MakeLinkPort(std::shared_ptr<DaemonLink> link) {
  return std::make_shared<LinkPort>(std::move(link));
}

}  // namespace graphd
