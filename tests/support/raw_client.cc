// SPDX-License-Identifier: Apache-2.0
#include "tests/support/raw_client.h"

#include "wire/graph_messages.h"
#include "wire/memory/buffer_pool.h"
#include "wire/status.h"

namespace graphd::testing {

RawClient::RawClient(const std::string& socket_path, const std::string& job)
    : connection_(WrapSocket(*io_.lowLevelProvider, ConnectUnix(socket_path, 20000), true), true,
                  BufferPool::Create(), capnp::rpc::twoparty::Side::CLIENT, nullptr),
      daemon_(connection_.Bootstrap()) {
  if (job.empty()) return;
  auto request = daemon_.attachRequest();
  WriteHello(request.initHello());
  JobMember member;
  member.job_id = job;
  member.role = JobRole::kTrainer;
  WriteMember(member, request.initMember());
  session_ = Wait(request.send().then([](auto&& answer) { return answer.getSession(); }));
}

}  // namespace graphd::testing
