// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/server_health.h"

#include <map>

#include "base/strings.h"
#include "ctl/activity/status_sums.h"
#include "ctl/plan/json_value.h"
#include "ctl/plan/table.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr int kDegradedCode = 1;          // no ErrorCode has it
constexpr size_t kFirstHealthNumber = 4;  // columns from this one on are right-aligned

// Returns why a daemon can't do all that it should.
json TroublesOf(const json& status) {
  json troubles = json::array();
  const json store = ValueOr(status, "store", json::object());
  if (const std::string trouble = ValueOr(store, "trouble", ""); !trouble.empty()) {
    troubles.push_back("changes of tensors: " + trouble);
  }
  for (const std::string& damage : TextsIn(store, "damage")) {
    troubles.push_back("found when it started: " + damage);
  }
  for (const json& tensor : ValueOr(status, "tensors", json::array())) {
    const std::string trouble = ValueOr(tensor, "trouble", "");
    if (trouble.empty()) continue;
    troubles.push_back(StrCat("tensor '", ValueOr(tensor, "name", "?"), "', partition ",
                              ValueOr(tensor, "part", 0), ": ", trouble));
  }
  return troubles;
}

std::string StateOf(const json& status) {
  const std::string state = ValueOr(status, "state", "?");
  return state == "ready" && ValueOr(status, "drained", json()).is_object() ? "drained" : state;
}

std::string StateText(const json& machine) {
  std::string text = ValueOr(machine, "state", "?");
  if (const json loading = ValueOr(machine, "loading", json()); loading.is_object()) {
    text += LoadedText(loading);
  }
  return ValueOr(machine, "degraded", json::array()).empty() ? text : text + ", DEGRADED";
}

std::string Bytes(const json& machine, const char* name) {
  return HumanBytes(ValueOr(ValueOr(machine, "memory", json::object()), name, uint64_t{0}));
}

// Returns the kinds of pages. If several kinds have one percent of the bytes or more, adds the
// shares.
std::string PagesText(const json& bytes_of_pages) {
  double all = 0;
  std::map<std::string, double> kinds;
  for (const auto& [kind, bytes] : bytes_of_pages.items()) {
    all += kinds[kind] = ValueOr(bytes_of_pages, kind.c_str(), 0.0);
  }
  std::erase_if(kinds, [all](const auto& each) { return each.second < all / 100; });
  std::vector<std::string> texts;
  for (const auto& [kind, bytes] : kinds) {
    const auto percent = static_cast<int>(all > 0 ? 100 * bytes / all : 0);
    texts.push_back(Printable(kinds.size() > 1 ? StrCat(percent, " % ", kind) : kind));
  }
  return texts.empty() ? "-" : Join(texts, ", ");
}

std::vector<std::string> HealthRow(const json& machine) {
  const std::string host = Printable(ValueOr(machine, "host", "?"));
  if (machine.contains("error")) return {host, Printable(ValueOr(machine, "error", "?"))};
  const bool loads = machine.contains("loading");
  const auto unless_loading = [loads](std::string text) { return loads ? "-" : text; };
  return {host,
          Printable(ValueOr(machine, "server_name", "?")),
          Printable(StateText(machine)),
          PagesText(ValueOr(machine, "pages", json::object())),
          unless_loading(Bytes(machine, "rss_bytes")),
          unless_loading(Bytes(machine, "graph_bytes")),
          unless_loading(Bytes(machine, "tensor_bytes")),
          unless_loading(std::to_string(ValueOr(machine, "jobs", size_t{0}))),
          unless_loading(std::to_string(ValueOr(machine, "trainers", size_t{0})))};
}

}  // namespace

json MachineHealth(const std::string& host, const json& status) {
  const std::string state = StateOf(status);
  json machine = {{"host", host},
                  {"server_name", ValueOr(status, "server_name", "?")},
                  {"pid", ValueOr(status, "pid", int64_t{0})},
                  {"state", state},
                  {"ready", state == "ready"},
                  {"degraded", TroublesOf(status)}};
  if (const json loading = ValueOr(status, "loading", json()); loading.is_object()) {
    machine["loading"] = loading;
    return machine;  // a daemon that is loading reports nothing else
  }
  json parts = json::array();
  std::map<std::string, uint64_t> pages;
  for (const json& part : ValueOr(status, "partitions", json::array())) {
    const json kinds = ValueOr(part, "page_bytes", json::object());
    for (const auto& [kind, bytes] : kinds.items()) {
      pages[kind] += ValueOr(kinds, kind.c_str(), uint64_t{0});
    }
    // Older daemons report only the kind that most of the pages have.
    if (kinds.empty()) pages[ValueOr(part, "pages", "?")] += ValueOr(part, "bytes", uint64_t{0});
    parts.push_back(ValueOr(part, "part", 0));
  }
  machine["memory"] = {{"rss_bytes", ValueOr(status, "rss_bytes", uint64_t{0})},
                       {"graph_bytes", GraphBytesIn(status)},
                       {"tensor_bytes", TensorBytesIn(status)}};
  machine["pages"] = pages;
  machine["partitions"] = parts;
  machine["jobs"] = ValueOr(status, "jobs", json::array()).size();
  machine["trainers"] = TrainersIn(status);
  machine["drained"] = ValueOr(status, "drained", json());
  return machine;
}

std::vector<std::string> HealthTable(const json& machines) {
  std::vector<std::vector<std::string>> rows{
      {"MACHINE", "SERVER", "STATE", "PAGES", "MEMORY", "GRAPH", "TENSORS", "JOBS", "TRAINERS"}};
  for (const json& machine : machines) rows.push_back(HealthRow(machine));
  std::vector<std::string> lines = AlignTable(rows, kFirstHealthNumber);
  for (const json& machine : machines) {
    for (const std::string& trouble : TextsIn(machine, "degraded")) {
      lines.push_back(Printable(StrCat(ValueOr(machine, "host", "?"), " is degraded: ", trouble)));
    }
    if (const json drained = ValueOr(machine, "drained", json()); drained.is_object()) {
      lines.push_back(Printable(StrCat(ValueOr(machine, "host", "?"), " is drained by ",
                                       ValueOr(drained, "by", "?"), ": ",
                                       ValueOr(drained, "reason", "no reason given"))));
    }
  }
  return lines;
}

int HealthExitCode(const json& machines) {
  bool is_degraded = false, is_denied = false;
  for (const json& machine : machines) {
    if (ValueOr(machine, "denied", false)) {
      is_denied = true;
      continue;
    }
    if (!ValueOr(machine, "ready", false)) return ExitCode(ErrorCode::kUnavailable);
    is_degraded = is_degraded || !ValueOr(machine, "degraded", json::array()).empty();
  }
  if (machines.empty()) return ExitCode(ErrorCode::kUnavailable);
  if (is_degraded) return kDegradedCode;
  return is_denied ? ExitCode(ErrorCode::kDenied) : 0;
}

}  // namespace graphd::ctl
