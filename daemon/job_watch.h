// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "daemon/graph/graph_versions.h"
#include "daemon/requests/job_registry.h"
#include "daemon/tensors/step_gate.h"
#include "store/tensor_host.h"

namespace graphd {

// The observer that tells the graph's versions, the tensors and the gate of steps which jobs and
// trainers attach and leave. Any thread may use it.
class JobWatch final : public JobRegistry::Observer {
 public:
  JobWatch(GraphVersions& graphs, store::TensorHost& tensors, StepGate& steps)
      : graphs_(graphs), tensors_(tensors), steps_(steps) {}

  void OnJobJoined(const std::string& job_id) override;
  // Destructors of sessions call the following functions, which therefore only log their errors.
  void OnJobLeft(const std::string& job_id) override;
  void OnJobEnded(const std::string& job_id) override;
  void TrainerLeft(const std::string& job_id, int rank) override;
  void OnAttemptBegun(const std::string& job_id, uint32_t attempt) override;

 private:
  GraphVersions& graphs_;
  store::TensorHost& tensors_;
  StepGate& steps_;
};

}  // namespace graphd
