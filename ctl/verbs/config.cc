// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"
#include "ctl/hosts/child.h"
#include "ctl/verbs/host_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kExamples = R"(
Examples:
  graphctl config check                       every file in /etc/graphd
  graphctl config check /etc/graphd/products.conf)";

constexpr const char* kDirectory = "/etc/graphd";

struct ConfigArguments {
  std::vector<std::string> files;
  std::string graphd;
};

// Returns the configuration files of this machine's services.
std::vector<std::string> InstalledFiles() {
  std::vector<std::string> files;
  for (const std::string& name : ListReadable(kDirectory)) {
    if (name.ends_with(".conf")) files.push_back(StrCat(kDirectory, "/", name));
  }
  if (files.empty()) {
    Throw(ErrorCode::kNotFound, "there is no .conf file in ", kDirectory, "; name a file");
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Runs `graphd --check-config` for a configuration file, in the same way as graphd@.service runs
// graphd. Returns its exit code.
int Check(const std::string& graphd, const std::string& file) {
  if (!FileExists(file)) {
    Throw(ErrorCode::kNotFound, "there is no ", file, "; give the file of a server, such as ",
          kDirectory, "/NAME.conf, or none to check all files there");
  }
  const std::string name = std::filesystem::path(file).stem().string();
  const pid_t pid = ::fork();
  if (pid < 0) ThrowErrno("can't start", graphd);
  if (pid == 0) {
    ::execl(graphd.c_str(), graphd.c_str(), "--check_config", "--config", file.c_str(),
            "--server_name", name.c_str(), nullptr);
    std::fprintf(stderr, "there is no %s; name it with --graphd\n", graphd.c_str());
    ::_exit(ExitCode(ErrorCode::kNotFound));
  }
  const int status = AwaitChild(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : ExitCode(ErrorCode::kInternal);
}

void Run(const ConfigArguments& arguments) {
  const std::string graphd =
      arguments.graphd.empty() ? JoinPath(DirName(OwnPath()), "graphd") : arguments.graphd;
  int code = 0;
  for (const std::string& file : arguments.files.empty() ? InstalledFiles() : arguments.files) {
    const int of_file = Check(graphd, file);
    if (code == 0) code = of_file;
  }
  SetExitCode(code);
}

}  // namespace

void AddConfig(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("config", "Check the configuration of servers");
  verb->require_subcommand(1);
  verb->footer(kExamples);
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* check = verb->add_subcommand(
      "check", "Check configuration files of this machine, and the graphs that they name");
  check->footer(kExamples);
  check->add_option("file", arguments->files, "Configuration files (default: /etc/graphd/*.conf)");
  check->add_option("--graphd", arguments->graphd, "Path of graphd (default: beside graphctl)");
  check->callback([arguments] { Run(*arguments); });
}

}  // namespace graphd::ctl
