// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"
#include "daemon/load.h"
#include "daemon/serving/graph_switch.h"

namespace graphd {

// The part of the daemon that switches it to other versions of its graph while it serves. Its own
// thread loads the versions, makes them the current ones, and frees those that no job uses any
// more. Owned by the main thread; Prepare and Stop may be called by any thread. The objects that
// Prepare returns must not be used after the switcher is destroyed.
class GraphSwitcher {
 public:
  struct Hooks {
    // Returns the path of the part config that the configuration names now. Throws Error for a
    // mistake in the configuration.
    std::function<std::string()> configured;
    // Loads another version, as LoadAnother (load.h) does.
    std::function<LoadedVersion(const std::string& part_config, const std::string& id,
                                const std::function<void(uint64_t, uint64_t)>& progress)>
        load;
    // Makes the main thread give the graph to the service manager soon, which keeps it for the next
    // process of this daemon. Called without a lock.
    std::function<void(std::shared_ptr<const KeptGraph>)> keep;
  };

  // `started_with` is the part config that the options name; `record_path` is the path of the
  // SwitchRecord's file.
  GraphSwitcher(GraphVersions& versions, Hooks hooks, std::string started_with,
                std::string record_path);
  // Ends a loading that is under way, and waits for the thread.
  ~GraphSwitcher();
  GraphSwitcher(const GraphSwitcher&) = delete;
  GraphSwitcher& operator=(const GraphSwitcher&) = delete;

  // Begins to load a version. Throws Error(kInvalid) for an id that is empty or longer than 64
  // bytes, and for a path that is relative, is not UTF-8 or has a control character; Error(kExists)
  // if a version with this id is in memory already, or if another switch is being prepared; and
  // Error(kUnavailable) after Stop.
  std::shared_ptr<GraphSwitch> Prepare(const SwitchRequest& request);
  // Gives up the switch that is being prepared, and refuses all later ones. Does not wait for the
  // thread.
  void Stop();

 private:
  enum class Phase;
  struct Preparation;
  class Handle;
  void Run();
  void Load(const std::shared_ptr<Preparation>& preparation);
  void FreeUnused();
  // Gives up the current preparation. The thread frees its memory later.
  void Drop() GRAPHD_REQUIRES(mutex_);
  void CheckRequest(const SwitchRequest& request) const;
  void Commit(const std::shared_ptr<Preparation>& preparation, GraphSwitch::Done done);
  Switched Publish(Preparation& preparation);
  void CarryOutCommit(const std::shared_ptr<Preparation>& preparation);
  void Cancel(const std::shared_ptr<Preparation>& preparation) noexcept;

  GraphVersions& versions_;
  const Hooks hooks_;
  const std::string started_with_, record_path_;
  Mutex mutex_;
  CondVar wake_;
  std::shared_ptr<Preparation> current_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Preparation>> dropped_ GRAPHD_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace graphd
