// SPDX-License-Identifier: Apache-2.0
// Tests trainers that make no calls while their daemons end and start again.
#include <unistd.h>

#include <set>
#include <thread>

#include "base/clock.h"
#include "client/link/control.h"
#include "tests/support/slowness.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

class Reattach : public TensorFixture {
 protected:
  static DistTensor MakeWithOne(const DistGraph& graph, const std::string& name, bool persistent) {
    TensorSpec spec;
    spec.name = name;
    spec.persistent = persistent;
    spec.dtype = DType::kInt64;
    DistTensor tensor = DistTensor::Create(graph, spec);
    Tensor ones = Tensor::Empty(DType::kInt64, {kNodes});
    for (int64_t& one : ones.as<int64_t>()) one = 1;
    std::vector<int64_t> ids(kNodes);
    for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int64_t>(i);
    tensor.Write(ids, ones);
    return tensor;
  }
  static void ExpectOnes(const DistTensor& tensor) {
    const Tensor now = All(tensor);
    for (const int64_t value : now.as<int64_t>()) ASSERT_EQ(value, 1);
  }
  std::set<std::string> JobsOf(size_t daemon) const {
    std::set<std::string> jobs;
    const auto control =
        ControlClient::ConnectUnix(served_.socket_path(daemon), std::chrono::seconds(5));
    for (const JobStatus& job : control->Status().jobs) jobs.insert(job.job_id);
    return jobs;
  }
  void WaitForJobs(size_t daemon, const std::set<std::string>& jobs) const {
    const auto start = Clock::now();
    while (JobsOf(daemon) != jobs && SecondsSince(start) < 10) ::usleep(10'000);
    EXPECT_EQ(JobsOf(daemon), jobs) << "daemon " << daemon;
  }
};

TEST_F(Reattach, LeasesAndTensorsOutliveADaemonWithoutAnyCall) {
  const DistGraph mapping = Connect(Transport::kAuto, "mapping");
  const DistGraph remote = Connect(Transport::kTcp, "remote");
  const DistTensor shared_by_mapping = MakeWithOne(mapping, "a", true);
  const DistTensor shared_by_remote = MakeWithOne(remote, "b", true);
  const DistTensor of_mapping = MakeWithOne(mapping, "mine", false);
  const DistTensor of_remote = MakeWithOne(remote, "mine", false);
  for (size_t daemon = 0; daemon < 2; daemon++) {
    served_.Kill(daemon);
    ::usleep(300'000);  // several attempts to attach fail
    served_.StartAgain(daemon);
    served_.daemon(daemon).WaitReady(served_.socket_path(daemon));
  }
  for (size_t daemon = 0; daemon < 2; daemon++) WaitForJobs(daemon, {"mapping", "remote"});
  std::this_thread::sleep_for(std::chrono::seconds(6));  // a lease outlives its job for 5 s
  const DistGraph other = Connect(Transport::kAuto, "other");
  for (const char* name : {"a", "b"}) {
    ExpectError([&] { DistTensor::Open(other, name).Acquire(); }, ErrorCode::kDenied, "job ");
  }
  for (const DistTensor& tensor : {shared_by_mapping, shared_by_remote, of_mapping, of_remote}) {
    ExpectOnes(tensor);
  }
}

TEST_F(Reattach, AGraphIsClosedAtOnceWhileItsDaemonsAreUnavailable) {
  for (const Transport transport : {Transport::kAuto, Transport::kTcp}) {
    auto graph = std::make_unique<DistGraph>(Connect(transport));
    served_.Kill(0);
    served_.daemon(1).Signal(SIGSTOP);  // accepts connections but does not answer
    ::usleep(200'000);
    const auto start = Clock::now();
    graph = nullptr;
    EXPECT_LT(SecondsSince(start), 2.5 * Slowness());
    served_.daemon(1).Signal(SIGCONT);
    served_.StartAgain(0);
    served_.daemon(0).WaitReady(served_.socket_path(0));
  }
}

TEST_F(Reattach, ABarrierContinuesAfterItsDaemonIsRestarted) {
  const DistGraph first = Connect(Transport::kAuto, "two", 0, 2);
  const DistGraph second = Connect(Transport::kTcp, "two", 1, 2);
  for (int round = 0; round < 3; round++) {
    std::thread waiting([&] { EXPECT_NO_THROW(first.session()->Barrier()); });
    ::usleep(100'000);
    served_.Restart(0);
    WaitForJobs(0, {"two"});
    ::usleep(100'000);
    EXPECT_NO_THROW(second.session()->Barrier());
    waiting.join();
  }
}

}  // namespace
}  // namespace graphd::testing
