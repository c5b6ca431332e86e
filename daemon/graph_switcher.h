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

// Switches the daemon to other versions of its graph while it serves. A thread of its own loads
// them, makes them the current ones, and frees those that no job uses any more. Owned by the main
// thread; Prepare and Stop may be called by any thread. What Prepare returns must not be used after
// the switcher has ended.
class GraphSwitcher {
 public:
  struct Hooks {
    // Returns the part config that the configuration names now. Throws Error for a mistake in it.
    std::function<std::string()> configured;
    // Loads another version as LoadAnother does.
    std::function<LoadedVersion(const std::string& part_config, const std::string& id,
                                const std::function<void(uint64_t, uint64_t)>& progress)>
        load;
    // Makes the daemon give the graph to the service manager soon. Called without a lock.
    std::function<void(std::shared_ptr<const KeptGraph>)> keep;
  };

  // `started_with` is the part config of the options; `record_path` the file of the SwitchRecord.
  GraphSwitcher(GraphVersions& versions, Hooks hooks, std::string started_with,
                std::string record_path);
  // Ends a loading that is under way.
  ~GraphSwitcher();
  GraphSwitcher(const GraphSwitcher&) = delete;
  GraphSwitcher& operator=(const GraphSwitcher&) = delete;

  // Begins to load. Throws Error(kInvalid) for an id that is empty or longer than 64 bytes, and for
  // a path that is relative, is not UTF-8 or has a control character; Error(kExists) for the id of
  // a version that is in memory already, and while another switch is being prepared.
  std::shared_ptr<GraphSwitch> Prepare(const SwitchRequest& request);
  // Gives up the switch that is being prepared, and refuses all later switches. Does not wait for
  // the thread.
  void Stop();

 private:
  enum class Phase;
  struct Preparation;
  class Handle;
  void Run();
  void Load(const std::shared_ptr<Preparation>& preparation);
  void FreeUnused();
  // Gives up the current preparation; the thread frees its memory.
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
