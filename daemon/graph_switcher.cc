// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph_switcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "daemon/restart/switch_record.h"

namespace graphd {
namespace {

// The interval at which the thread looks for versions that nobody uses.
constexpr auto kSweepInterval = std::chrono::milliseconds(500);

// Tells whoever has called Commit, if anybody has, that the switch was given up.
void Refuse(GraphSwitch::Done done) noexcept {
  if (!done) return;
  const Error error(ErrorCode::kUnavailable,
                    "the switch was given up before it was carried out; nothing has changed");
  done({}, &error);
}

}  // namespace

enum class GraphSwitcher::Phase { kWaiting, kLoading, kReady, kCommitting, kFailed };

// A version that is being prepared for a switch. The switcher's mutex guards all members that are
// neither constant nor atomic.
struct GraphSwitcher::Preparation {
  const SwitchRequest request;
  Phase phase = Phase::kWaiting;
  LoadedVersion loaded = {};
  std::optional<Error> failure = {};
  GraphSwitch::Done on_commit = {};  // null until Commit is called
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
    if (switcher_.stopping_) Throw(ErrorCode::kUnavailable, "this graphd is shutting down");
    return {preparation_->phase == Phase::kReady, preparation_->done, preparation_->total};
  }
  void Commit(Done done) override { switcher_.Commit(preparation_, std::move(done)); }

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
  Stop();
  thread_.join();
}

void GraphSwitcher::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
}

void GraphSwitcher::CheckRequest(const SwitchRequest& request) const {
  if (request.id.empty() || request.id.size() > GraphVersion::kMaxId) {
    Throw(ErrorCode::kInvalid, "the id of a version has 1 to ", GraphVersion::kMaxId, " bytes");
  }
  if (!request.part_config.empty() && request.part_config.front() != '/') {
    Throw(ErrorCode::kInvalid, "the part config '", request.part_config,
          "' is not an absolute path");
  }
  const bool is_text = IsUtf8(request.part_config) &&
                       std::none_of(request.part_config.begin(), request.part_config.end(),
                                    [](unsigned char byte) { return byte < ' ' || byte == 127; });
  if (!is_text) {
    Throw(ErrorCode::kInvalid, "the path of the part config is not UTF-8, or has a control ",
          "character such as a line break; rename it");
  }
  for (const auto& each : versions_.All()) {
    if (each.version->id != request.id) continue;
    Throw(ErrorCode::kExists, "this graphd has a version of the graph with the id ", request.id,
          " already (", each.version->part_config, "); run graphctl server switch again");
  }
}

std::shared_ptr<GraphSwitch> GraphSwitcher::Prepare(const SwitchRequest& request) {
  CheckRequest(request);
  std::shared_ptr<Preparation> preparation(new Preparation{request});
  {
    const MutexLock lock(mutex_);
    if (stopping_) Throw(ErrorCode::kUnavailable, "this graphd is shutting down");
    const bool is_over = current_ == nullptr || current_->phase == Phase::kFailed ||
                         (current_->cancelled && current_->phase != Phase::kCommitting);
    if (!is_over) {
      Throw(ErrorCode::kExists, current_->request.by, " is switching this server to ",
            current_->request.part_config.empty() ? "the graph of its configuration"
                                                  : current_->request.part_config,
            "; wait until that has ended, and try again");
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
  LogInfo({.peer = current_->request.by, .op = "switch"}, "the switch by ", current_->request.by,
          " was given up");
  dropped_.push_back(std::exchange(current_, nullptr));
}

void GraphSwitcher::Run() {
  for (;;) {
    std::shared_ptr<Preparation> work, commit;
    std::vector<std::shared_ptr<Preparation>> dropped;
    {
      const MutexLock lock(mutex_);
      const auto has_work = [&]() GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
        return current_ != nullptr && (current_->cancelled || current_->on_commit != nullptr ||
                                       current_->phase == Phase::kWaiting);
      };
      if (!stopping_ && !has_work()) wake_.WaitFor(mutex_, kSweepInterval);
      if (current_ != nullptr && (current_->cancelled || stopping_)) Drop();
      dropped.swap(dropped_);
      if (current_ != nullptr && current_->on_commit != nullptr) {
        commit = current_;
        commit->phase = Phase::kCommitting;
      } else if (has_work()) {
        work = current_;
        work->phase = Phase::kLoading;
      }
    }
    if (commit) CarryOutCommit(commit);
    for (const auto& each : dropped) Refuse(std::exchange(each->on_commit, nullptr));
    if (stopping_) return;
    // Frees the memory of the dropped versions before the next version is loaded.
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
      // A mistake in the configuration matters when the daemon starts again, not for this switch.
      LogFailure("reading the configuration", [&] { configured = hooks_.configured(); });
    }
    const std::string part_config = request.part_config.empty() ? configured : request.part_config;
    if (!FileExists(part_config)) {
      Throw(ErrorCode::kNotFound, "there is no part config ", part_config, " on this host; copy ",
            "the partition there, or give the path that it has there");
    }
    LogInfo({.peer = request.by, .op = "switch"}, request.by, " is switching this server to ",
            part_config, ": loading");
    LoadedVersion loaded = hooks_.load(part_config, request.id, [&](uint64_t done, uint64_t total) {
      preparation->done = done;
      preparation->total = total;
      if (stopping_ || preparation->cancelled) {
        Throw(ErrorCode::kUnavailable, "the switch was given up");
      }
    });
    // The note is written now, so that an error, such as a directory that can't be written to,
    // comes before any daemon of the server commits.
    SwitchRecord{configured, part_config, request.id, loaded.version->fingerprint}.Prepare(
        record_path_);
    const MutexLock lock(mutex_);
    preparation->loaded = std::move(loaded);
    preparation->phase = Phase::kReady;
    if (!preparation->cancelled) versions_.SetComing(request.id);
  } catch (...) {
    const Error error = CurrentError();
    LogWarning({.peer = request.by, .op = "switch"}, "the switch by ", request.by,
               " has failed: ", error.what());
    const MutexLock lock(mutex_);
    preparation->failure = error;
    preparation->phase = Phase::kFailed;
  }
}

void GraphSwitcher::Commit(const std::shared_ptr<Preparation>& preparation,
                           GraphSwitch::Done done) {
  {
    const MutexLock lock(mutex_);
    if (preparation->failure) throw Error(*preparation->failure);
    if (current_ != preparation || preparation->phase != Phase::kReady ||
        preparation->on_commit != nullptr || preparation->cancelled || stopping_) {
      Throw(ErrorCode::kUnavailable, "this version of the graph is not ready to be served");
    }
    preparation->on_commit = std::move(done);
  }
  wake_.NotifyAll();
}

// Makes a version the current one. Does not hold the mutex while it waits for the disk, because
// data threads take the mutex. The preparation is safe without it: in the phase kCommitting, no
// other thread changes it.
Switched GraphSwitcher::Publish(Preparation& preparation) {
  SwitchRecord::Publish(record_path_);
  const VersionPtr version = std::exchange(preparation.loaded.version, nullptr);
  Switched switched{version->part_config, version->fingerprint, 0};
  {
    const MutexLock lock(mutex_);
    versions_.Switch(version);
    current_ = nullptr;
  }
  for (const auto& each : versions_.All()) {
    if (!each.is_current) switched.jobs += static_cast<uint32_t>(each.jobs);
  }
  return switched;
}

void GraphSwitcher::CarryOutCommit(const std::shared_ptr<Preparation>& preparation) {
  const GraphSwitch::Done done = std::exchange(preparation->on_commit, nullptr);
  const std::string& by = preparation->request.by;
  Switched switched;
  try {
    switched = Publish(*preparation);
  } catch (...) {
    const Error error = CurrentError();
    LogWarning({.peer = by, .op = "switch"}, "the switch by ", by, " has failed: ", error.what());
    {
      const MutexLock lock(mutex_);
      preparation->failure = error;
      preparation->phase = Phase::kFailed;
    }
    done({}, &error);
    return;
  }
  LogInfo({.peer = by, .op = "switch"}, by, " has switched this server to ", switched.part_config,
          " (fingerprint ", switched.fingerprint, "); ", switched.jobs,
          switched.jobs == 1 ? " job keeps" : " jobs keep", " an earlier version");
  done(switched, nullptr);
  auto kept = std::exchange(preparation->loaded.kept, nullptr);
  if (kept) hooks_.keep(std::move(kept));
}

void GraphSwitcher::FreeUnused() {
  for (VersionPtr& version : versions_.TakeUnused()) {
    LogInfo("no job uses the graph of ", version->part_config, " (fingerprint ",
            version->fingerprint, ") any more: ", HumanBytes(version->graph->bytes()),
            " are given back");
    version = nullptr;
  }
}

}  // namespace graphd
