// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/control/ask.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr const char* kRequestsExamples = R"(
Shows what trainers wait for: each request that a daemon has not answered yet, the oldest first, with
its age, its operation, its trainer, and what it waits for, such as a thread, an index that is built,
the store, or other trainers. Reads by mapped memory are not requests.
Without --ip_config, all daemons of this machine with the server's name are asked.

Examples:
  graphctl debug requests --server_name products --ip_config ip_config.txt
  graphctl debug requests --limit 1000 --json
)";

std::string RequestLine(const json& request) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%10.3f s  ", ValueOr(request, "seconds", 0.0));
  const auto rank = ValueOr(request, "rank", int64_t{0});
  const auto pid = ValueOr(request, "pid", int64_t{0});
  return StrCat(
      seconds,
      Printable(StrCat(ValueOr(request, "operation", "?"), " of job ", ValueOr(request, "job", "?"),
                       ", ", rank < 0 ? "its launcher" : StrCat("trainer ", rank), ", ",
                       pid > 0 ? StrCat("pid ", pid) : ValueOr(request, "peer", "?"), ": ",
                       ValueOr(request, "state", "?"))),
      "\n");
}

void ShowRequests(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kRequests;
  ShowAnswers(arguments, AskDaemons(arguments), [](const ControlAnswer& answer) {
    const json requests = ValueOr(answer.answer, "requests", json::array());
    const auto total = ValueOr(answer.answer, "total", uint64_t{0});
    std::string text =
        StrCat(answer.host, ": ", total, total == 1 ? " request" : " requests", " in flight");
    if (requests.size() < total) text += StrCat(", of which the oldest ", requests.size());
    text += "\n";
    for (const json& request : requests) text += RequestLine(request);
    return text;
  });
}

constexpr const char* kMemoryExamples = R"(
Shows what the memory of each daemon holds: each array of its partitions and of the indexes that were
derived from them, and each tensor and embedding, the largest first, with sums over all of them.
Rows of tensors that have changed and are not written back yet are part of what is in memory.
Without --ip_config, all daemons of this machine with the server's name are asked.

Examples:
  graphctl debug memory --server_name products --ip_config ip_config.txt
  graphctl debug memory --limit 2000 --json
)";

std::string ShapeText(const json& entry) {
  std::vector<std::string> extents;
  for (const json& extent : ValueOr(entry, "shape", json::array()))
    extents.push_back(extent.dump());
  return StrCat("[", Join(extents, ", "), "]");
}

std::string BytesColumn(const json& entry) {
  char bytes[32];
  std::snprintf(bytes, sizeof bytes, "%12s  ",
                HumanBytes(ValueOr(entry, "bytes", uint64_t{0})).c_str());
  return bytes;
}

std::string ArrayLine(const json& array) {
  const std::string pages = ValueOr(array, "pages", "");
  return StrCat(
      BytesColumn(array),
      Printable(StrCat("part ", ValueOr(array, "part", int64_t{0}), " ",
                       ValueOr(array, "segment", "?"), ", ", ValueOr(array, "type", "?"), ": ",
                       ValueOr(array, "name", "?"), " ", ValueOr(array, "dtype", "?"), " ",
                       ShapeText(array), pages.empty() ? "" : StrCat(", pages of ", pages))),
      "\n");
}

std::string TensorLine(const json& tensor) {
  const std::string job = ValueOr(tensor, "job", "");
  const auto changed = ValueOr(tensor, "changed_bytes", uint64_t{0});
  return StrCat(
      BytesColumn(tensor),
      Printable(StrCat("part ", ValueOr(tensor, "part", int64_t{0}), " tensor '",
                       ValueOr(tensor, "name", "?"), "' ",
                       job.empty() ? "(persistent)" : StrCat("of job ", job), " ",
                       ValueOr(tensor, "dtype", "?"), " ", ShapeText(tensor), ", ",
                       HumanBytes(ValueOr(tensor, "stored_bytes", uint64_t{0})), " in RocksDB",
                       changed == 0 ? "" : StrCat(", ", HumanBytes(changed), " not written back"))),
      "\n");
}

std::string LeftOut(const char* what, size_t shown, uint64_t all) {
  if (shown >= all) return "";
  return StrCat("  (the largest ", shown, " of ", all, " ", what, "; more with --limit)\n");
}

std::string MemoryText(const ControlAnswer& answer) {
  const json& use = answer.answer;
  const auto bytes = [&](const char* key) { return HumanBytes(ValueOr(use, key, uint64_t{0})); };
  const auto buffers = ValueOr(use, "buffer_bytes", uint64_t{0});
  std::string text =
      StrCat(answer.host, ": graph ", bytes("graph_bytes"), ", indexes ", bytes("index_bytes"),
             ", tensors ", bytes("tensor_bytes"), " (", bytes("changed_bytes"),
             " not written back, ", bytes("stored_bytes"), " in RocksDB)",
             buffers == 0 ? "" : StrCat(", RocksDB's buffers ", bytes("buffer_bytes")),
             "; process ", bytes("rss_bytes"), "\n");
  const json arrays = ValueOr(use, "arrays", json::array());
  for (const json& array : arrays) text += ArrayLine(array);
  text += LeftOut("arrays", arrays.size(), ValueOr(use, "num_arrays", uint64_t{0}));
  const json tensors = ValueOr(use, "tensors", json::array());
  for (const json& tensor : tensors) text += TensorLine(tensor);
  return text + LeftOut("tensors", tensors.size(), ValueOr(use, "num_tensors", uint64_t{0}));
}

void ShowMemory(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kMemory;
  ShowAnswers(arguments, AskDaemons(arguments), MemoryText);
}

}  // namespace

void AddDebug(CLI::App& app) {
  CLI::App* const debug = app.add_subcommand("debug", "Look into servers that run");
  debug->require_subcommand(1);
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* const verb =
      AddControlVerb(*debug, "requests", "Show requests in flight, and what each waits for",
                     kRequestsExamples, arguments);
  verb->add_option("--limit", arguments->order.most, "Requests to show of each daemon")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  verb->callback([arguments] { ShowRequests(*arguments); });
  auto memory_arguments = std::make_shared<ControlArguments>();
  CLI::App* const memory =
      AddControlVerb(*debug, "memory", "Show the memory of each array and tensor", kMemoryExamples,
                     memory_arguments);
  memory
      ->add_option("--limit", memory_arguments->order.most,
                   "Arrays and tensors to show of each daemon")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  memory->callback([memory_arguments] { ShowMemory(*memory_arguments); });
}

}  // namespace graphd::ctl
