// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_directory.h"

#include <cstdlib>

#include "ctl/plan/host_order.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"

// Reads the files of a job's directory, which graphctl commands on several hosts write and a
// supervisor reads: the state, the order, and the requests to stop and to restart. The first byte
// chooses the file.

namespace graphd::fuzz {
namespace {

using namespace graphd::ctl;

const JobDirectory& Directory() {
  static const InputFolder folder({});
  static const JobDirectory directory = [] {
    ::setenv("GRAPHD_JOBS_DIR", folder.path().c_str(), 1);
    return JobDirectory::Make("job", 1);
  }();
  return directory;
}

void Write(const char* name, std::string_view text) {
  WriteFileAtomically(Directory().path() + "/" + name, std::string(text));
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  switch (input[0]) {
    case 's':
      Write("state.json", rest);
      Directory().ReadState();
      JobDirectory::Jobs();
      return;
    case 'o':
      Write("order.json", rest);
      DecodeOrder(Directory().ReadOrder());
      return;
    case 'p': {
      Write("stop", rest);
      const auto grace = Directory().TakeStopRequest();
      if (grace && !(*grace >= 0)) std::abort();
      break;
    }
    default: {
      Write("restart", rest);
      const auto request = Directory().TakeRestartRequest();
      if (request && !(request->grace >= 0)) std::abort();
    }
  }
  // A request is taken once.
  if (Directory().TakeStopRequest() || Directory().TakeRestartRequest()) std::abort();
}

std::vector<std::string> Seeds() {
  HostOrder order;
  order.trainers.resize(1);
  return {R"(s{"led": true, "trainers": [{"rank": 0, "exit": 3}]})", 'o' + EncodeOrder(order),
          R"(p{"grace": 2.5})", R"(r{"id": "1-2", "num_trainers": 2, "grace": 0})"};
}

}  // namespace graphd::fuzz
