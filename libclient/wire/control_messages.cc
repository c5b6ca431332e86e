// SPDX-License-Identifier: Apache-2.0
#include "wire/control_messages.h"

#include "wire/bounded.h"

namespace graphd {

void WriteChanges(const std::vector<ChangedOption>& changes,
                  capnp::List<wire::ChangedOption>::Builder out) {
  for (kj::uint i = 0; i < out.size(); i++) {
    out[i].setKey(changes[i].key);
    out[i].setBefore(changes[i].before);
    out[i].setAfter(changes[i].after);
    out[i].setNeedsRestart(changes[i].needs_restart);
    out[i].setPlace(changes[i].place);
  }
}

std::vector<ChangedOption> ReadChanges(capnp::List<wire::ChangedOption>::Reader in) {
  std::vector<ChangedOption> changes;
  for (auto change : BoundedList(in, "changes")) {
    changes.push_back({change.getKey().cStr(), change.getBefore().cStr(), change.getAfter().cStr(),
                       change.getNeedsRestart(), change.getPlace().cStr()});
  }
  return changes;
}

void WriteRequests(const std::vector<RequestStatus>& requests,
                   capnp::List<wire::RequestStatus>::Builder out) {
  for (kj::uint i = 0; i < out.size(); i++) {
    const RequestStatus& request = requests[i];
    out[i].setOperation(request.operation);
    out[i].setState(request.state);
    out[i].setSeconds(request.seconds);
    out[i].setJobId(request.job_id);
    out[i].setRank(request.rank);
    out[i].setPid(request.pid);
    out[i].setPeer(request.peer);
  }
}

std::vector<RequestStatus> ReadRequests(capnp::List<wire::RequestStatus>::Reader in) {
  std::vector<RequestStatus> requests;
  for (auto request : BoundedList(in, "requests")) {
    requests.push_back({request.getOperation().cStr(), request.getState().cStr(),
                        request.getSeconds(), request.getJobId().cStr(), request.getRank(),
                        request.getPid(), request.getPeer().cStr()});
  }
  return requests;
}

}  // namespace graphd
