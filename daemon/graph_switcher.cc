// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph_switcher.h"

#include <chrono>
#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "daemon/switch_record.h"

namespace graphd {
namespace {

constexpr size_t kMostId = 64;
// The interval at which versions that nobody uses are looked for.
constexpr auto kSweepInterval = std::chrono::milliseconds(500);

uint64_t BytesOf(const ServedGraph& graph) {
  uint64_t bytes = 0;
  for (const PartitionStatus& partition : graph.status()) {
    bytes += partition.bytes + partition.index_bytes;
  }
  return bytes;
}

}  // namespace

enum class GraphSwitcher::Phase { kWaiting, kLoading, kReady, kFailed };

// A version on its way to be served. The switcher's mutex guards what is not atomic.
struct GraphSwitcher::Preparation {
  const SwitchRequest request;
  Phase phase = Phase::kWaiting;
  LoadedVersion loaded = {};
  std::optional<Error> failure = {};
  std::atomic<uint64_t> done = 0, total = 0;
  std::atomic<bool> cancelled = false;
};

class GraphSwitcher::Handle final : public GraphSwitch {
 public:
  Handle(GraphSwitcher& switcher, std::shared_ptr<Preparation> preparation)
      : switcher_(switcher), preparation_(std::move(preparation)) {}
  ~Handle() override { switcher_.Cancel(preparation_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  SwitchProgress Progress() const override {
    const MutexLock lock(switcher_.mutex_);
    if (preparation_->failure) throw Error(*preparation_->failure);
    return {preparation_->phase == Phase::kReady, preparation_->done, preparation_->total};
  }
  Switched Commit() override { return switcher_.Commit(preparation_); }

 private:
  GraphSwitcher& switcher_;
  const std::shared_ptr<Preparation> preparation_;
};

GraphSwitcher::GraphSwitcher(GraphVersions& versions, Hooks hooks, std::string started_with,
                             std::string record_path)
    : versions_(versions),
      hooks_(std::move(hooks)),
      started_with_(std::move(started_with)),
      record_path_(std::move(record_path)),
      thread_([this] {
        while (!LogFailure("versions of the graph", [this] { Run(); })) {
        }
      }) {}

GraphSwitcher::~GraphSwitcher() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

std::shared_ptr<GraphSwitch> GraphSwitcher::Prepare(const SwitchRequest& request) {
  if (request.id.empty() || request.id.size() > kMostId) {
    Throw(ErrorCode::kInvalid, "the id of a version has 1 to ", kMostId, " bytes");
  }
  if (!request.part_config.empty() && request.part_config.front() != '/') {
    Throw(ErrorCode::kInvalid, "the part config '", request.part_config,
          "' is not an absolute path");
  }
  std::shared_ptr<Preparation> preparation(new Preparation{request});
  {
    const MutexLock lock(mutex_);
    if (stopping_) Throw(ErrorCode::kUnavailable, "this graphd is shutting down");
    const bool is_over =
        current_ == nullptr || current_->cancelled || current_->phase == Phase::kFailed;
    if (!is_over) {
      Throw(ErrorCode::kExists, current_->request.by, " switches this server to ",
            current_->request.part_config.empty() ? "the graph of its configuration"
                                                  : current_->request.part_config,
            " just now; wait until that has ended, or try again");
    }
    if (current_ != nullptr) Drop();
    current_ = preparation;
  }
  wake_.NotifyAll();
  return std::make_shared<Handle>(*this, std::move(preparation));
}

void GraphSwitcher::Cancel(const std::shared_ptr<Preparation>& preparation) noexcept {
  preparation->cancelled = true;
  wake_.NotifyAll();
}

void GraphSwitcher::Drop() {
  SwitchRecord::Discard(record_path_);
  versions_.SetComing("");
  LogInfo("the switch by ", current_->request.by, " was given up");
  dropped_.push_back(std::exchange(current_, nullptr));
}

void GraphSwitcher::Run() {
  for (;;) {
    std::shared_ptr<Preparation> work;
    std::vector<std::shared_ptr<Preparation>> dropped;
    {
      const MutexLock lock(mutex_);
      const auto has_work = [&]() GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
        return current_ != nullptr && (current_->cancelled || current_->phase == Phase::kWaiting);
      };
      if (!stopping_ && !has_work()) wake_.WaitFor(mutex_, kSweepInterval);
      if (stopping_) {
        if (current_ != nullptr) SwitchRecord::Discard(record_path_);
        return;
      }
      if (current_ != nullptr && current_->cancelled) Drop();
      dropped.swap(dropped_);
      if (has_work()) {
        work = current_;
        work->phase = Phase::kLoading;
      }
    }
    // Their memory is free before the next one is loaded.
    dropped.clear();
    FreeUnused();
    if (work) Load(work);
  }
}

void GraphSwitcher::Load(const std::shared_ptr<Preparation>& preparation) {
  const SwitchRequest& request = preparation->request;
  try {
    std::string configured = started_with_;
    if (request.part_config.empty()) {
      configured = hooks_.configured();
    } else {
      // A mistake in the configuration concerns the next start, not this switch.
      LogFailure("reading the configuration", [&] { configured = hooks_.configured(); });
    }
    const std::string part_config = request.part_config.empty() ? configured : request.part_config;
    LogInfo(request.by, " switches this server to ", part_config, ": loading");
    LoadedVersion loaded = hooks_.load(part_config, request.id, [&](uint64_t done, uint64_t total) {
      preparation->done = done;
      preparation->total = total;
      if (stopping_ || preparation->cancelled) {
        Throw(ErrorCode::kUnavailable, "the switch was given up");
      }
    });
    // Now, so that a directory that can't be written is an error before all daemons commit.
    SwitchRecord{configured, part_config, request.id}.Prepare(record_path_);
    const MutexLock lock(mutex_);
    preparation->loaded = std::move(loaded);
    preparation->phase = Phase::kReady;
    if (!preparation->cancelled) versions_.SetComing(request.id);
  } catch (...) {
    const Error error = CurrentError();
    LogWarning("the switch by ", request.by, " has failed: ", error.what());
    const MutexLock lock(mutex_);
    preparation->failure = error;
    preparation->phase = Phase::kFailed;
  }
}

Switched GraphSwitcher::Commit(const std::shared_ptr<Preparation>& preparation) {
  std::shared_ptr<const KeptGraph> kept;
  Switched switched;
  {
    const MutexLock lock(mutex_);
    if (preparation->failure) throw Error(*preparation->failure);
    if (current_ != preparation || preparation->phase != Phase::kReady || stopping_) {
      Throw(ErrorCode::kUnavailable, "this version of the graph is not ready to be served");
    }
    SwitchRecord::Publish(record_path_);
    const VersionPtr version = std::exchange(preparation->loaded.version, nullptr);
    kept = std::exchange(preparation->loaded.kept, nullptr);
    versions_.Switch(version);
    current_ = nullptr;
    switched.part_config = version->part_config;
    switched.fingerprint = version->fingerprint;
    for (const auto& each : versions_.All()) {
      if (!each.is_current) switched.jobs += static_cast<uint32_t>(each.jobs);
    }
  }
  LogInfo(preparation->request.by, " has switched this server to ", switched.part_config,
          " (fingerprint ", switched.fingerprint, "); ", switched.jobs,
          switched.jobs == 1 ? " job keeps" : " jobs keep", " an earlier version");
  if (kept) hooks_.keep(std::move(kept));
  return switched;
}

void GraphSwitcher::FreeUnused() {
  for (VersionPtr& version : versions_.TakeUnused()) {
    LogInfo("no job uses the graph of ", version->part_config, " (fingerprint ",
            version->fingerprint, ") any more: ", HumanBytes(BytesOf(*version->graph)),
            " are given back");
    version = nullptr;
  }
}

}  // namespace graphd
