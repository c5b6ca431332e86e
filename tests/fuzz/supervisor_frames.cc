// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "ctl/activity/server_rates.h"
#include "ctl/hosts/frame_contents.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/hosts/server_status.h"
#include "ctl/plan/json_value.h"
#include "tests/fuzz/support/target.h"

// Reads the contents of the frames that a supervisor sends, whatever their kind says: what launch,
// status and top do with them. A frame without a kind is treated as a status.

namespace graphd::fuzz {
namespace {

using namespace graphd::ctl;
using nlohmann::json;

void Check(bool good) {
  if (!good) std::abort();
}

void ReadContents(const json& header) {
  const ReadyFrame ready = ReadReady(header);
  Check(ready.port >= 0 && ready.port < 65536);
  const ExitFrame exit = ReadExit(header);
  Check(exit.code >= 0 && exit.code < 256 && exit.signal >= 0 && exit.signal < 128);
  ReadOut(header);
  const int signal = ReadStopped(header);
  Check(signal > 0 && signal < 128);
  ErrorCodeFromName(ValueOr(header, "code", ""));
  for (const char* key : {"version", "text", "job"}) ValueOr(header, key, "?");
}

void ReadStatus(const json& status, const json& before) {
  StatusToText("host", status);
  const json rates = json::array({MachineRates("host", before, status), status});
  RatesTable(rates);
  const json copy = rates;  // threads pass one another copies
  copy.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void ReadInput(std::string_view input) {
  json before;
  const auto read = [&](const json& header) {
    ReadContents(header);
    const json status = ValueOr(header, "status", json::object());
    ReadStatus(status, before);
    before = status;
  };
  FrameReader frames([&](const json& header, const std::string&) { read(header); },
                     [&](const std::string& line) {
                       if (const json status = ParseJson(line); status.is_object()) {
                         ReadStatus(status, before);
                         before = status;
                       }
                     });
  frames.Feed(input.substr(0, input.size() / 2));
  frames.Feed(input.substr(input.size() / 2));
}

std::vector<std::string> Seeds() {
  ServerStatus status;
  status.server_name = "g";
  status.state = "ready";
  status.pid = 7;
  status.uptime_seconds = 1000;
  status.partitions.push_back({0, 10, 20, 3000, "4 KiB", 5, {{"4 KiB", 3000}}});
  JobStatus job;
  job.job_id = "j";
  job.members.emplace_back();
  status.jobs.push_back(job);
  TensorShare share;
  share.info.spec.name = "t";
  share.info.spec.rows = 10;
  share.info.spec.row_shape = {4};
  share.trouble = "lost";
  status.tensors.push_back(share);
  status.store.emplace().damage = {"a page"};
  json first = StatusToJson(status), second = first;
  second["uptime_seconds"] = 1001;
  second["requests"] = 5;
  return {
      EncodeFrame({{"t", "hello"}, {"version", "0.2.0"}}) +
          EncodeFrame({{"t", "ready"}, {"started", true}, {"seconds", 0.5}, {"port", 3000}}) +
          EncodeFrame({{"t", "out"}, {"rank", 1}, {"fd", 2}}, "line\n") +
          EncodeFrame({{"t", "exit"}, {"rank", 1}, {"code", 3}, {"signal", 9}, {"ending", true}}) +
          EncodeFrame({{"t", "stopped"}, {"signal", 15}}),
      EncodeFrame({{"t", "error"}, {"code", "io"}, {"text", "broken"}}) +
          EncodeFrame({{"t", "notice"}, {"text", "wait"}}),
      EncodeFrame({{"t", "status"}, {"status", first}}) +
          EncodeFrame({{"t", "status"}, {"status", second}}),
      first.dump() + "\n" + second.dump() + "\n",
  };
}

}  // namespace graphd::fuzz
