// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/serving/daemon_service.h"
#include "store/tensor_host.h"

// A daemon's services in this process, for fuzz targets and tests that play its clients.

namespace graphd::testing {

// Prints the text and aborts, so that libFuzzer keeps the input and a test fails.
[[noreturn]] void Fail(const std::string& text);

// The parts of a daemon that outlive an input: a small graph in two partitions, the store of
// tensors in a temporary directory, checkpoints, and one event loop for both ends of all
// connections. Two tensors exist when an input begins: kVictim, of a job that no input can join
// because it does not know the secret, and kShared, which every job may write. Both are over the
// nodes of type 0 and have two floats per row; their shares have the tables 1 to 4.
class DaemonServices {
 public:
  static constexpr const char* kServerName = "fuzzed";
  static constexpr const char* kVictim = "victim";
  static constexpr const char* kShared = "shared";
  static constexpr const char* kVictimsJob = "job of the victim";
  static constexpr uint32_t kStandingTables = 4;
  static constexpr size_t kRowBytes = 8;

  DaemonServices();
  ~DaemonServices() noexcept;
  DaemonServices(const DaemonServices&) = delete;
  DaemonServices& operator=(const DaemonServices&) = delete;

  kj::AsyncIoContext& io() noexcept { return io_; }
  const ServedGraph& graph() const noexcept { return *graph_; }
  GraphVersions& graphs() noexcept { return *graphs_; }
  // Returns the directory of all files, which has the part config of the graph.
  const std::string& directory() const noexcept { return directory_; }
  std::string part_config() const { return directory_ + "/graph/g.json"; }
  // Processes events of the loop, and waits up to `milliseconds` until `done` returns true. Returns
  // whether it did.
  bool RunUntil(int milliseconds, const std::function<bool()>& done);

  // The services during one input. The destructor ends the connections, and aborts if a session or
  // memory outlives its connection, if a row of the victim has changed, or if the store is in
  // trouble. Everything that the input has made is removed, so that the next input finds the same
  // state.
  class Input {
   public:
    explicit Input(DaemonServices& services);
    ~Input() noexcept;
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    // Makes a connection that the daemon serves, and returns the client's end of it. It gives way
    // to others unless `may_stay`.
    UniqueFd Connect(const Peer& peer, bool may_stay = true);
    // Ends one of the open connections, if there are any, as the daemon does to make room for
    // others: after as many rounds of the event loop, whatever the services do at that moment.
    // Returns whether the client had attached.
    bool EndConnection(size_t which, int rounds);
    // Returns whether the daemon should close an open connection, because its client is idle.
    bool IsIdle(size_t which);
    // Returns a text that is different for each input of this process, and has always the same
    // length. It belongs into the names of jobs, whose pushes the store remembers.
    const std::string& unique() const noexcept { return unique_; }
    // Requests of peers who are allowed to stop the server.
    int stops() const noexcept { return stops_; }
    const WorkerPools& pools() const noexcept { return pools_; }
    const JobBoard& board() const noexcept { return board_; }
    // The description of the daemon, in which a target may set what operators control.
    DaemonInfo& info() noexcept { return info_; }

   private:
    friend class DaemonServices;
    struct Served;
    // Ends the service of clients that have disconnected.
    void EndDisconnected();

    DaemonServices& services_;
    const std::string unique_;
    int stops_ = 0;
    const std::shared_ptr<FairPushes> pushes_ = std::make_shared<FairPushes>();
    StepGate steps_;
    struct Watch;
    const std::unique_ptr<Watch> watch_;
    JobRegistry jobs_;
    JobBoard board_;
    std::unique_ptr<JobRegistry::Membership> victim_;
    WorkerPools pools_;
    PeerMemory memory_;
    RequestCounters counters_;
    RequestsInFlight in_flight_;
    DaemonInfo info_;
    std::unique_ptr<ServiceContext> context_;
    WorkerScratch scratch_;
    LoopTurns turns_;
    std::vector<kj::Own<Served>> served_;
  };

  // Returns a client of a role, which is connected by the Unix socket or by TCP.
  static Peer PeerOfRole(Role role, bool is_unix);

 private:
  void MakeTensors();
  void MakeStanding();
  bool RemoveTensors();
  void EndPushes();
  void CheckVictim();

  kj::AsyncIoContext io_;
  std::string directory_;
  std::shared_ptr<ServedGraph> graph_;
  std::unique_ptr<GraphVersions> graphs_;
  std::unique_ptr<AccessRules> access_;
  std::unique_ptr<store::TensorHost> tensors_;
  std::unique_ptr<store::CheckpointCatalog> checkpoints_;
  std::vector<TensorShare> standing_;
  std::shared_ptr<BufferPool> buffers_ = BufferPool::Create();
  Input* input_ = nullptr;  // the present one
  uint64_t inputs_ = 0;
};

}  // namespace graphd::testing
