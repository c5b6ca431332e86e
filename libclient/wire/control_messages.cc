// SPDX-License-Identifier: Apache-2.0
#include "wire/control_messages.h"

#include "wire/bounded_list.h"

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

}  // namespace graphd
