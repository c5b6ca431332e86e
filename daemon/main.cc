// SPDX-License-Identifier: Apache-2.0
#include <kj/common.h>
#include <signal.h>
#include <systemd/sd-daemon.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "daemon/check_config.h"
#include "daemon/graphd.h"
#include "daemon/log_file.h"
#include "daemon/logging/daemon_log.h"
#include "daemon/options.h"
#include "daemon/restart/descriptor_store.h"
#include "graphd/error.h"

namespace graphd {
namespace {

// Returns the options as the configuration has them now. Throws Error, with file, line and key.
DaemonOptions Reread(int argc, char** argv) {
  std::optional<DaemonOptions> read = ParseOptions(argc, argv);
  if (!read) Throw(ErrorCode::kInternal, "these options only print text");
  const std::vector<Error> problems = FindProblems(*read);
  if (problems.empty()) return *std::move(read);
  std::vector<std::string> texts;
  for (const Error& problem : problems) texts.push_back(problem.what());
  Throw(problems.front().code(), Join(texts, "; "));
}

}  // namespace
}  // namespace graphd

int main(int argc, char** argv) {
  using namespace graphd;
  std::optional<DaemonLog> log;
  const auto no_sink = kj::defer([] { SetLogSink(nullptr); });
  UniqueFd starters_stderr;  // open until the daemon serves, if it logs to a file
  const auto log_last = [&log, &starters_stderr](const char* text) {
    if (log) log->WriteToStream();
    LogError(text);
    if (starters_stderr) ::dprintf(starters_stderr.get(), "graphd: %s\n", text);
  };
  try {
    const std::optional<DaemonOptions> options = ParseOptions(argc, argv);
    if (!options) return 0;
    if (options->check_config) return CheckConfig(*options);
    SetLogLevel(options->log_level);
    starters_stderr = LogToFile(options->log_file);
    ::signal(SIGPIPE, SIG_IGN);
    SetLogSink(&log.emplace(options->server_name));
    const auto reread = [argc, argv] { return Reread(argc, argv); };
    Graphd(*options, *log, starters_stderr, DescriptorStore::FromServiceManager(), reread).Run();
    return 0;
  } catch (const Error& error) {
    log_last(error.what());
    sd_notifyf(0, "STATUS=%s", error.what());
    return ExitCode(error.code());
  } catch (const kj::Exception& exception) {
    log_last(exception.getDescription().cStr());
  } catch (const std::exception& error) {
    log_last(error.what());
  }
  return ExitCode(ErrorCode::kInternal);
}
