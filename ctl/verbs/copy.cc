// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/copy/copy_runner.h"
#include "ctl/copy/find_sources.h"
#include "ctl/plan/part_config_path.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/host_options.h"
#include "ctl/verbs/verbs.h"
#include "format/load_part_config.h"
#include "format/verify.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

constexpr const char* kCopyExamples = R"(
Each machine receives the partition of its line in ip_config; every machine, also those of
--trainer_hosts, receives the part config, ip_config and the script folder. Files that are already
there are not sent again, and an interrupted copy continues where it stopped.

Examples:
  graphctl copy --part_config data/products.json --ip_config ip_config.txt \
      --workspace /srv/ws --rel_data_path data --script_folder scripts
  graphctl copy ... --dry_run    # shows where each file would go
)";

struct CopyArguments {
  std::string part_config, ip_config, trainer_hosts, workspace, rel_data_path, script_folder;
  CopyOptions options;
  bool dry_run = false, json = false;
};

// Checks the files that will be sent as thoroughly as `graphctl verify` does.
void VerifySources(const CopySources& sources, CancellableThreads& threads) {
  std::optional<Error> error;
  threads.Start([&] {
    try {
      ProgressLine line;
      const auto step = [&](const std::string& what, uint64_t done, uint64_t total) {
        if (threads.cancelled()) Throw(ErrorCode::kOverloaded, "interrupted");  // stops VerifyGraph
        line.Show(what, done, total);
      };
      const VerifyReport report = VerifyGraph(LoadPartConfig(sources.part_config.path), step);
      std::vector<std::string> problems = report.problems;
      for (const auto& part : report.parts) {
        problems.insert(problems.end(), part.problems.begin(), part.problems.end());
      }
      if (!problems.empty()) Throw(ErrorCode::kCorrupt, Join(problems, "; "));
    } catch (const Error& caught) {
      error = caught;
    }
  });
  threads.Wait({});
  if (error) throw *error;
}

void PrintJson(const CopyPlan& plan, const std::deque<HostResult>& results, bool ok) {
  nlohmann::ordered_json root;
  root["workspace"] = plan.workspace;
  root["ok"] = ok;
  for (size_t i = 0; i < results.size(); i++) {
    const HostProgress& progress = results[i].progress;
    nlohmann::ordered_json host;
    host["name"] = plan.hosts[i].name;
    host["local"] = plan.hosts[i].is_local;
    host["parts"] = plan.hosts[i].parts;
    host["ok"] = progress.step == HostProgress::Step::kDone;
    host["files_missing"] = progress.files_missing.load();
    host["bytes_missing"] = progress.bytes_missing.load();
    host["bytes_sent"] = progress.bytes_sent.load();
    host["bytes_resumed"] = progress.bytes_resumed.load();
    host["files_same"] = progress.files_same.load();
    host["bytes_same"] = progress.bytes_same.load();
    host["seconds"] = progress.seconds.load();
    if (const auto& error = results[i].error) {
      host["error"] = {{"code", ErrorCodeName(error->code())}, {"text", error->what()}};
    }
    root["hosts"].push_back(std::move(host));
  }
  std::printf("%s\n", root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// Prints the errors of all hosts, and sets the exit code to that of the first error.
bool ReportErrors(const CopyPlan& plan, const std::deque<HostResult>& results) {
  int code = 0;
  bool any_sent = false;
  for (size_t i = 0; i < results.size(); i++) {
    any_sent = any_sent || results[i].progress.bytes_sent > 0 ||
               results[i].progress.step == HostProgress::Step::kDone;
    if (!results[i].error) continue;
    std::fprintf(stderr, "graphctl: %s: %s\n", plan.hosts[i].name.c_str(),
                 results[i].error->what());
    if (code == 0) code = ExitCode(results[i].error->code());
  }
  if (code != 0 && !any_sent) std::fprintf(stderr, "graphctl: nothing was sent to any host\n");
  SetExitCode(code);
  return code == 0;
}

void CarryOut(const CopyArguments& arguments, const CopySources& sources, const CopyPlan& plan,
              CancellableThreads& threads) {
  if (arguments.options.verify) VerifySources(sources, threads);
  CopyRunner runner(plan, arguments.options, threads);
  runner.ChecksumSources();
  runner.Run();
  const bool ok = ReportErrors(plan, runner.results());
  if (arguments.json) PrintJson(plan, runner.results(), ok);
}

void Copy(CopyArguments& arguments) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  const std::string part_config = absolute(FindPartConfig(arguments.part_config));
  const std::string ip_config = absolute(arguments.ip_config);
  const std::vector<HostLine> lines = ReadIpConfig(ip_config);
  std::vector<TrainerHost> trainer_hosts;
  if (!arguments.trainer_hosts.empty()) trainer_hosts = ReadTrainerHosts(arguments.trainer_hosts);
  const CopySources sources = FindSources(part_config, ip_config, arguments.script_folder);
  std::string workspace = absolute(arguments.workspace);
  while (workspace.size() > 1 && workspace.back() == '/') workspace.pop_back();
  const CopyPlan plan = MakeCopyPlan(workspace, arguments.rel_data_path, sources, lines,
                                     IsLocalAddress, trainer_hosts);
  if (arguments.dry_run) {
    const std::string text = arguments.json ? CopyPlanToJson(plan) + "\n" : CopyPlanToText(plan);
    std::fputs(text.c_str(), stdout);
    return;
  }
  CopyOptions& options = arguments.options;
  options.graphctl = OwnPath();
  if (options.remote_graphctl.empty()) options.remote_graphctl = options.graphctl;
  CancellableThreads threads;
  try {
    CarryOut(arguments, sources, plan, threads);
  } catch (const Error&) {
    if (threads.signal() == 0) throw;
  }
  if (threads.signal() == 0) return;
  std::fprintf(stderr, "graphctl: interrupted; run the same command again to continue\n");
  SetExitCode(128 + threads.signal());
}

}  // namespace

void AddCopy(CLI::App& app) {
  auto arguments = std::make_shared<CopyArguments>();
  CopyOptions& options = arguments->options;
  CLI::App* verb = app.add_subcommand("copy", "Copy partitions to the hosts of ip_config");
  verb->footer(kCopyExamples);
  verb->add_option(Flags("part_config"), arguments->part_config,
                   "Part config (<graph>.json) on this machine, with all partitions")
      ->required();
  verb->add_option(Flags("ip_config"), arguments->ip_config,
                   "File with a line 'address [port [trainers]]' per partition")
      ->required();
  verb->add_option(Flags("trainer_hosts"), arguments->trainer_hosts,
                   "File with a line 'address [trainers]' per host that serves no partition");
  verb->add_option(Flags("workspace"), arguments->workspace,
                   "Directory on every host that receives the files")
      ->required();
  verb->add_option(Flags("rel_data_path"), arguments->rel_data_path,
                   "Directory for the graph, relative to the workspace")
      ->required();
  verb->add_option(Flags("script_folder"), arguments->script_folder,
                   "Directory of scripts to copy into the workspace of every host");
  verb->add_option(Flags("jobs"), options.jobs,
                   "Hosts that receive files at the same time (default: processors, at least 2)")
      ->check(CLI::Range(1, 1024));
  verb->add_option(Flags("stall_timeout"), options.stall_timeout,
                   "Seconds without progress until a host, or this machine's disk, is given up")
      ->default_val(600)
      ->check(CLI::Range(0.1, 1e6));
  verb->add_flag(Flags("verify"), options.verify,
                 "Check the graph first as `graphctl verify` does, and read all files again from "
                 "the hosts' disks at the end");
  verb->add_flag(Flags("dry_run"), arguments->dry_run, "Show the plan and do nothing");
  verb->add_flag(Flags("json"), arguments->json, "Print the result, or the plan, as JSON");
  AddSshOptions(*verb, options.remote_graphctl, options.ssh);
  verb->callback([arguments] { Copy(*arguments); });
}

}  // namespace graphd::ctl
