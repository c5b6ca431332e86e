// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/secret.h"
#include "base/strings.h"
#include "ctl/plan/torchrun_plan.h"
#include "ctl/slurm/own_addresses.h"
#include "ctl/slurm/srun.h"
#include "ctl/ssh/ssh_link.h"
#include "ctl/verbs/host_options.h"
#include "ctl/verbs/job_runner.h"
#include "ctl/verbs/row_cache_bytes.h"
#include "ctl/verbs/verbs.h"
#include "format/load_part_config.h"

namespace graphd::ctl {
namespace {

constexpr const char* kLaunchExamples = R"(
  graphctl launch [OPTIONS] "COMMAND"
  graphctl launch [OPTIONS] [--] PROGRAM ARGUMENTS...

The trainers' command comes last: a single word is a program for /bin/sh, passed unchanged; several
words, or words after --, are run without a shell. Trainers find RANK, LOCAL_RANK, WORLD_SIZE,
LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, OMP_NUM_THREADS and GRAPHD_* in their environment.
The first trainer that fails ends the job on all hosts, and its exit code becomes graphctl's.

Examples:
  graphctl launch --server_name products --workspace ~/ws --num_trainers 2 \
      --ip_config ip_config.txt --part_config data/ogb-product.json \
      "python3 train.py --graph_name ogb-product --num_epochs 10"
  graphctl launch ... --keep_alive -- python3 train.py     # the servers outlive the job
  graphctl launch ... --num_trainers 1 "python3 other.py"  # attaches to the running servers
  graphctl launch ... --dry_run "python3 train.py"         # shows what it would do
  graphctl launch ... --trainer_hosts gpus.txt --num_trainers 0 "python3 train.py"   # only there
  graphctl launch --launcher local --part_config data/ogb-product.json "python3 train.py"
  salloc --nodes=4 graphctl launch --launcher slurm ... "python3 train.py"
  graphctl launch ... --detach --max_restarts 3 -- python3 train.py   # lives by itself
  graphctl launch ... --detach --max_restarts 3 --min_trainers 4 ...  # and without lost hosts
)";

struct LaunchArguments {
  HostOptions hosts;
  LaunchOptions launch;
  std::string graph_format;
  std::string launcher = "ssh";
  std::string row_cache;
  bool dry_run = false, json = false;
};

void CheckAssignments(const std::vector<std::string>& assignments) {
  for (const std::string& word : assignments) {
    if (!IsAssignment(word)) {
      Throw(ErrorCode::kInvalid, "--extra_envs: '", word, "' is not NAME=VALUE");
    }
  }
}

// Returns the options by which other verbs find a job.
std::string OptionsOfJob(const HostOptions& hosts) {
  return StrCat(
      "--server_name ", hosts.server.server_name,
      hosts.ip_config.empty() ? "" : " --ip_config " + ShellQuote(hosts.ip_config),
      hosts.trainer_hosts.empty() ? "" : " --trainer_hosts " + ShellQuote(hosts.trainer_hosts));
}

// Prints only the job's id on standard output, so that a script can read it. Prints on standard
// error which commands the user can run for this job.
void TellAboutJob(const std::string& job, const HostOptions& hosts) {
  std::printf("%s\n", job.c_str());
  std::fflush(stdout);
  const std::string options = OptionsOfJob(hosts);
  std::fprintf(stderr,
               "graphctl: job %s runs on its own; watch it with `graphctl attach %s %s`, and see "
               "also `graphctl logs`, `wait` and `stop`\n",
               job.c_str(), job.c_str(), options.c_str());
}

// Tells the user that a job goes on although this command has failed or was interrupted.
void TellThatJobGoesOn(const std::string& job, const HostOptions& hosts) {
  std::fprintf(stderr,
               "graphctl: job %s runs on its own already; end it with `graphctl stop %s %s`\n",
               job.c_str(), job.c_str(), OptionsOfJob(hosts).c_str());
}

// Throws for options by which processes would outlive the job, because Slurm would end these
// processes together with the step that started them.
void CheckForSlurm(const LaunchArguments& arguments) {
  if (arguments.launch.detach) {
    Throw(ErrorCode::kInvalid,
          "--detach does not work with --launcher slurm, because a job ends with its allocation; "
          "let a script of sbatch run this command without it");
  }
  if (arguments.hosts.server.keep_alive) {
    Throw(ErrorCode::kInvalid,
          "--keep_alive does not work with --launcher slurm, because Slurm ends all processes of a "
          "step with it; run the training commands one after another in one job");
  }
}

// Returns the text of an ip_config that places the partitions of --part_config on the nodes of a
// Slurm job or, if `job` has no nodes, on this machine.
std::string MakeIpConfig(const SlurmNodes& job, const std::string& part_config) {
  if (part_config.empty()) {
    Throw(ErrorCode::kInvalid,
          "launch: --ip_config and --part_config are missing; the former names the hosts, and the "
          "latter says how many partitions they have");
  }
  int num_parts = 0;
  try {
    num_parts = static_cast<int>(LoadPartConfig(part_config).parts.size());
  } catch (const Error& error) {
    Throw(error.code(), error.what(),
          "; without --ip_config, the part config must be readable here, too");
  }
  if (!job.nodes.empty()) return IpConfigOf(job, num_parts, LookUpAddress);
  std::string text;
  for (int part = 0; part < num_parts; part++) text += "127.0.0.1\n";
  return text;
}

// Sets the hosts that the options don't name. If there is no ip_config, the partitions are placed
// on nodes of the Slurm job or, without a Slurm job, on this machine. If there are no trainer
// hosts, all other nodes of the Slurm job become trainer hosts.
void CompleteHosts(const SlurmNodes& job, HostOptions& hosts) {
  if (hosts.lines.empty()) {
    hosts.ip_config_text = MakeIpConfig(job, hosts.server.part_config);
    hosts.lines = ParseIpConfig(hosts.ip_config_text, "the hosts of --launcher");
  }
  if (!job.nodes.empty() && hosts.trainers_only.empty()) {
    hosts.trainers_only = OtherNodes(job, hosts.lines, LookUpAddress);
  }
}

void CheckIsLocal(const std::string& address, const std::string& where) {
  if (IsLocalAddress(address)) return;
  Throw(ErrorCode::kInvalid, where, " names ", address,
        ", which is not an address of this machine, where --launcher local starts everything; "
        "leave out --ip_config, write 127.0.0.1 for each partition, or use --launcher ssh");
}

void CheckAllLocal(const HostOptions& hosts) {
  for (const HostLine& line : hosts.lines) CheckIsLocal(line.address, "ip_config");
  for (const TrainerHost& host : hosts.trainers_only) CheckIsLocal(host.address, host.where);
}

void Launch(LaunchArguments& arguments, const UserCommand& command) {
  HostOptions& hosts = arguments.hosts;
  const bool by_slurm = arguments.launcher == "slurm", is_local = arguments.launcher == "local";
  if (hosts.ip_config.empty() && !by_slurm && !is_local) {
    Throw(ErrorCode::kInvalid,
          "launch: give --ip_config FILE, with a line 'ADDRESS [PORT]' for each host, or "
          "--launcher local");
  }
  Resolve(hosts);
  CheckAssignments(arguments.launch.extra_envs);
  arguments.launch.row_cache = RowCacheBytes(arguments.row_cache);
  SlurmNodes job;
  if (by_slurm) {
    CheckForSlurm(arguments);
    job = AskNodes(hosts.graphctl, hosts.ssh.connect_timeout);
  }
  if (by_slurm || is_local) CompleteHosts(job, hosts);
  if (is_local) CheckAllLocal(hosts);
  LaunchOptions launch = arguments.launch;
  launch.server = hosts.server;
  launch.workspace = hosts.workspace;
  launch.ip_config = hosts.ip_config;
  launch.trainer_hosts = hosts.trainers_only;
  launch.host_timeout = hosts.ssh.host_timeout;
  launch.command = command;
  LaunchPlan plan = MakeLaunchPlan(launch, hosts.lines, hosts.ip_config_text, NewJobId(),
                                   NewSecret(), IsLocalAddress);
  if (by_slurm) AssignNodes(job, launch.host_timeout, LookUpAddress, plan);
  if (arguments.launcher == "torchrun") {
    if (launch.min_trainers > 0) {
      Throw(ErrorCode::kInvalid,
            "--min_trainers does not work with --launcher torchrun, which numbers the trainers");
    }
    RunUnderTorchrun(plan);
  }
  if (arguments.dry_run) {
    const std::string text = arguments.json ? PlanToJson(plan) + "\n" : PlanToText(plan);
    std::fputs(text.c_str(), stdout);
    return;
  }
  for (HostPlan& host : plan.hosts) host.order.version = GRAPHD_VERSION;
  const std::string id = plan.job_id;
  const LinkOpener open = by_slurm ? LinksOverSrun(hosts.graphctl, hosts.ssh.connect_timeout)
                                   : LinksOverSsh(hosts.own_path, hosts.graphctl, hosts.ssh);
  JobRunner runner(std::move(plan), open, hosts.ssh.connect_timeout, launch.host_timeout);
  const int code = runner.Run();
  SetExitCode(code);
  if (code == 0 && launch.detach) TellAboutJob(id, hosts);
  if (code != 0 && runner.is_detached()) TellThatJobGoesOn(id, hosts);
}

}  // namespace

void AddLaunch(CLI::App& app, const UserCommand& command) {
  auto arguments = std::make_shared<LaunchArguments>();
  CLI::App* verb = app.add_subcommand("launch", "Run a training job on the hosts of ip_config");
  verb->footer(kLaunchExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  AddTrainerHostsOption(*verb, arguments->hosts);
  AddServerStartOptions(*verb, arguments->hosts);
  LaunchOptions& launch = arguments->launch;
  verb->add_option("--launcher", arguments->launcher,
                   "How hosts are reached: ssh (this machine without it), local (all are this "
                   "machine), or slurm (srun, in a job of Slurm, whose nodes are the hosts); with "
                   "torchrun, as with ssh, and torchrun starts the trainers there")
      ->default_val("ssh")
      ->check(CLI::IsMember({"ssh", "local", "slurm", "torchrun"}));
  verb->add_option(Flags("num_trainers"), launch.num_trainers,
                   "Trainers per ip_config line and host of --trainer_hosts (a last column there "
                   "overrides this); 0: only on the latter, one each")
      ->default_val(1)
      ->check(CLI::Range(0, 4096));
  verb->add_option(Flags("num_samplers"), launch.num_samplers,
                   "Sampler threads of each trainer's data loaders")
      ->default_val(0)
      ->check(CLI::Range(0, 4096));
  verb->add_option(Flags("row_cache"), arguments->row_cache,
                   "Memory on each machine for rows of features that other machines serve, e.g. "
                   "2GiB, which its trainers share (default: none)")
      ->type_name("BYTES");
  verb->add_option(Flags("num_omp_threads"), launch.num_omp_threads,
                   "OMP_NUM_THREADS of each trainer (default: cores / trainers of its machine)")
      ->check(CLI::Range(1, 4096));
  verb->add_option(Flags("extra_envs"), launch.extra_envs,
                   "Environment variables for the trainers: NAME=VALUE NAME=VALUE ...")
      ->type_name("NAME=VALUE ...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option(Flags("master_port"), launch.master_port,
                   "MASTER_PORT of the trainers (default: a free port of rank 0's host)")
      ->check(CLI::Range(1, 65535));
  verb->add_option(
      Flags("log_dir"), launch.log_dir,
      "Directory on each host, relative to --workspace, for the output of its trainers: "
      "DIR/JOB/trainer-RANK.log (default: the host's directory of the job, see graphctl logs)");
  verb->add_flag(Flags("no_logs"), launch.no_logs, "Keep no output of the trainers on their hosts");
  verb->add_flag(Flags("keep_alive"), arguments->hosts.server.keep_alive,
                 "Keep servers that this command starts running after the job");
  verb->add_option(Flags("server_grace"), launch.server_grace,
                   "Seconds that a server which ends during the job may take to return; 0: none")
      ->default_val(30)
      ->check(CLI::Range(0.0, 86400.0));
  verb->add_flag("--detach", launch.detach,
                 "Return when the trainers run; the job goes on without this command, see "
                 "graphctl attach, logs, wait and stop");
  verb->add_option(Flags("max_restarts"), launch.max_restarts,
                   "How often all trainers are started again when one has failed, or a host was "
                   "lost without which the job can go on, with "
                   "GRAPHD_RESTART_COUNT in their environment")
      ->default_val(0)
      ->check(CLI::Range(0, 1000));
  verb->add_option(Flags("min_trainers"), launch.min_trainers,
                   "With --max_restarts and --detach: go on without hosts of --trainer_hosts that "
                   "are lost while this many trainers are left, and with those that are back at "
                   "the next restart (default: the job ends with the first lost host)")
      ->check(CLI::Range(1, 1 << 20));
  verb->add_option(Flags("graph_format"), arguments->graph_format,
                   "Ignored; accepted for compatibility with DGL");
  verb->add_flag(Flags("dry_run"), arguments->dry_run, "Show the plan and do nothing");
  verb->add_flag("--json", arguments->json, "With --dry_run: print JSON");
  verb->callback([arguments, &command] { Launch(*arguments, command); });
}

SplitArguments SplitLaunchArguments(const CLI::App& launch,
                                    const std::vector<std::string>& arguments) {
  return SplitCommandLine(
      arguments, [&launch](const std::string& word) -> std::optional<OptionKind> {
        const CLI::Option* option = launch.get_option_no_throw(word);
        if (!option) return std::nullopt;
        if (option->check_name("--extra_envs")) return OptionKind::kAssignments;
        return option->get_items_expected_max() == 0 ? OptionKind::kFlag : OptionKind::kOneValue;
      });
}

}  // namespace graphd::ctl
