// SPDX-License-Identifier: Apache-2.0
#include "format/verify.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "ctl/plan/part_config_path.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/verbs.h"
#include "format/load_part_config.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

struct VerifyArgs {
  std::string path;
  bool json = false;
};

void PrintJson(const std::string& path, const VerifyReport& report) {
  nlohmann::ordered_json root;
  root["part_config"] = path;
  root["ok"] = report.ok();
  root["problems"] = report.problems;
  for (size_t p = 0; p < report.parts.size(); p++) {
    root["parts"].push_back(
        {{"part", p}, {"ok", report.parts[p].ok()}, {"problems", report.parts[p].problems}});
  }
  std::printf("%s\n", root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void PrintText(const VerifyReport& report) {
  for (size_t p = 0; p < report.parts.size(); p++) {
    std::printf("partition %zu: %s\n", p, report.parts[p].ok() ? "ok" : "damaged");
    for (const std::string& problem : report.parts[p].problems) {
      std::printf("  %s\n", problem.c_str());
    }
  }
  for (const std::string& problem : report.problems) std::printf("%s\n", problem.c_str());
}

void Run(const VerifyArgs& args) {
  const std::string path = FindPartConfig(args.path);
  VerifyReport report;
  {
    ProgressLine progress;
    report = VerifyGraph(LoadPartConfig(path), progress.Callback());
  }
  if (args.json) {
    PrintJson(path, report);
  } else {
    PrintText(report);
  }
  if (!report.ok()) SetExitCode(ExitCode(ErrorCode::kCorrupt));
}

}  // namespace

void AddVerify(CLI::App& app) {
  auto args = std::make_shared<VerifyArgs>();
  CLI::App* verb = app.add_subcommand("verify", "Check every file of a partitioned graph");
  verb->add_option("path", args->path, "Part config, or the directory that contains it")
      ->required();
  verb->add_flag(Flags("json"), args->json, "Print the findings as JSON");
  verb->footer(
      "Checks sizes, checksums, ranges, order and original ids; the exit status is 9 if\n"
      "anything is wrong.\n"
      "Examples:\n"
      "  graphctl verify data/products.json\n"
      "  graphctl verify data --json");
  verb->callback([args] { Run(*args); });
}

}  // namespace graphd::ctl
