// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "ctl/verbs.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {
int g_exit_code = 0;
}

std::string Flags(const std::string& name_with_underscores) {
  std::string dashed = name_with_underscores;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const std::string flag = "--" + name_with_underscores;
  return dashed == name_with_underscores ? flag : flag + ",--" + dashed;
}

void SetExitCode(int code) { g_exit_code = code; }

}  // namespace graphd::ctl

int main(int argc, char** argv) {
  using namespace graphd;
  CLI::App app("graphctl: partitions graphs, runs graphd servers and training jobs on them");
  app.require_subcommand(1);
  app.set_version_flag("--version", "graphctl " GRAPHD_VERSION);
  ctl::AddInspect(app);
  ctl::AddPartition(app);
  ctl::AddVerify(app);
  try {
    app.parse(argc, argv);
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
  return ctl::g_exit_code;
}
