// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/processor.h"
#include "ctl/verbs/unknown_words.h"
#include "ctl/verbs/verbs.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

int g_exit_code = 0;

// Returns the message of an error in the command line, with the command whose --help explains it.
std::string FailureText(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* verb = app;
  std::string said = app->get_name(), verbs;
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    said += " " + verb->get_name();
  }
  const auto is_shown = [](const CLI::App* each) { return !each->get_group().empty(); };
  for (const CLI::App* each : verb->get_subcommands(is_shown)) {
    verbs += (verbs.empty() ? "" : ", ") + each->get_name();
  }
  std::string text = error.what();
  if (error.get_name() == "RequiredError") {
    const CLI::Option* option = verb->get_option_no_throw(text.substr(0, text.find(' ')));
    if (option != nullptr && !option->get_description().empty()) {
      text += " (" + option->get_description() + ")";
    } else if (!verbs.empty()) {
      text = "give one of: " + verbs;
    }
  }
  return "graphctl: " + text + "; see " + said + " --help\n";
}

int Run(int argc, char** argv) {
  CLI::App app("graphctl: partitions graphs, runs graphd servers and training jobs on them",
               "graphctl");
  app.require_subcommand(1);
  app.failure_message(FailureText);
  app.set_version_flag("--version", "graphctl " GRAPHD_VERSION);
  UserCommand command;
  AddLaunch(app, command);
  AddAttach(app);
  AddCheckpoint(app);
  AddConfig(app);
  AddConvert(app);
  AddCopy(app);
  AddDebug(app);
  AddDoctor(app);
  AddInspect(app);
  AddKeys(app);
  AddLogs(app);
  AddPartition(app);
  AddPlan(app);
  AddPs(app);
  AddReceive(app);
  AddRestart(app);
  AddStop(app);
  AddServer(app);
  AddServerControl(app);
  AddStatus(app);
  AddSupervise(app);
  AddTensors(app);
  AddTop(app);
  AddVerify(app);
  AddWait(app);

  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "launch") {
    SplitArguments split = SplitLaunchArguments(*app.get_subcommand("launch"),
                                                {arguments.begin() + 1, arguments.end()});
    arguments = {"launch"};
    arguments.insert(arguments.end(), split.options.begin(), split.options.end());
    command = split.command;
  }
  try {
    CheckVectorBits();
    RefuseUnknownWords(app, arguments);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the vector reversed
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : ExitCode(ErrorCode::kInvalid);
  } catch (const Error& error) {
    std::fprintf(stderr, "graphctl: %s\n", error.what());
    return ExitCode(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "graphctl: %s\n", error.what());
    return ExitCode(ErrorCode::kInternal);
  }
  return g_exit_code;
}

}  // namespace

void SetExitCode(int code) { g_exit_code = code; }

}  // namespace graphd::ctl

int main(int argc, char** argv) { return graphd::ctl::Run(argc, argv); }
