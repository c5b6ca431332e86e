// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "client/checkpoints/client.h"
#include "client/checkpoints/restore.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/checkpoint_export.h"
#include "ctl/verbs/client_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kCheckpointExamples = R"(
Examples:
  graphctl checkpoint create epoch-7 --server_name products --ip_config ip_config.txt
  graphctl checkpoint create weights-1 --tensors emb --file model.pt --ip_config ip_config.txt
  graphctl checkpoint list --server_name products --ip_config ip_config.txt --json
  graphctl checkpoint restore epoch-7 --server_name products --ip_config ip_config.txt
  graphctl checkpoint export epoch-7 --output /tmp/epoch-7 --ip_config ip_config.txt
)";

struct CheckpointArgs : ClientArgs {
  std::string name, output;
  std::vector<std::string> tensors, files;
};

std::unique_ptr<CheckpointClient> ConnectTo(const CheckpointArgs& args) {
  return std::make_unique<CheckpointClient>(ClientOptions(args, "graphctl-checkpoint"),
                                            args.runtime_dir);
}

nlohmann::json ToJson(const Checkpoint& checkpoint) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    tensors.push_back({{"name", tensor.spec.name},
                       {"dtype", DTypeName(tensor.spec.dtype)},
                       {"shape", tensor.spec.shape()},
                       {"state", OptimizerStateName(tensor.state)}});
  }
  return {{"name", checkpoint.name},           {"graph", checkpoint.graph_name},
          {"num_parts", checkpoint.num_parts}, {"created", checkpoint.created},
          {"bytes", checkpoint.bytes},         {"tensors", tensors},
          {"files", checkpoint.files}};
}

void PrintCheckpoint(const Checkpoint& checkpoint) {
  std::printf("%s: %s, graph '%s', %d partitions, %s\n", checkpoint.name.c_str(),
              checkpoint.created.c_str(), checkpoint.graph_name.c_str(), checkpoint.num_parts,
              HumanBytes(checkpoint.bytes).c_str());
}

void PrintDetails(const Checkpoint& checkpoint) {
  PrintCheckpoint(checkpoint);
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    std::vector<std::string> extents;
    for (const int64_t extent : tensor.spec.shape()) extents.push_back(std::to_string(extent));
    std::printf("  tensor %s: %s [%s], state %s\n", tensor.spec.name.c_str(),
                DTypeName(tensor.spec.dtype), Join(extents, ", ").c_str(),
                OptimizerStateName(tensor.state));
  }
  for (const auto& [file, bytes] : checkpoint.files) {
    std::printf("  file %s: %s\n", file.c_str(), HumanBytes(bytes).c_str());
  }
}

void Show(const CheckpointArgs& args, const Checkpoint& checkpoint) {
  if (args.json) {
    std::puts(
        ToJson(checkpoint).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    PrintDetails(checkpoint);
  }
}

void Create(const CheckpointArgs& args) {
  CheckpointOptions options;
  options.tensors = args.tensors;
  for (const std::string& path : args.files) {
    const std::string file = std::filesystem::path(path).filename();
    if (options.files.contains(file)) {
      Throw(ErrorCode::kInvalid, "two files have the name '", file, "'; rename one");
    }
    options.files[file] = ReadTextFile(path, size_t{1} << 30);
  }
  const auto client = ConnectTo(args);
  client->Create(args.name, options);
  Show(args, client->Find(args.name));
}

void List(const CheckpointArgs& args) {
  const std::vector<Checkpoint> all = ConnectTo(args)->List();
  if (args.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Checkpoint& checkpoint : all) list.push_back(ToJson(checkpoint));
    std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return;
  }
  for (const Checkpoint& checkpoint : all) PrintCheckpoint(checkpoint);
  if (all.empty()) std::puts("no checkpoints");
}

void Restore(const CheckpointArgs& args) {
  const auto client = ConnectTo(args);
  {
    ProgressLine progress;
    client->on_progress = [&](const std::string& tensor, int64_t rows, int64_t of) {
      progress.Show("tensor " + tensor, static_cast<uint64_t>(rows), static_cast<uint64_t>(of));
    };
    CheckpointRestore(*client).Restore(args.name, args.tensors, /*keep_leases=*/false);
  }
  Show(args, client->Find(args.name));
}

void Export(const CheckpointArgs& args) {
  const auto client = ConnectTo(args);
  ProgressLine progress;
  client->on_progress = [&](const std::string& tensor, int64_t rows, int64_t of) {
    progress.Show("tensor " + tensor, static_cast<uint64_t>(rows), static_cast<uint64_t>(of));
  };
  const std::vector<std::string> files =
      ExportCheckpoint(*client, args.name, args.tensors, args.output);
  progress.Finish();
  if (args.json) {
    std::puts(nlohmann::json({{"files", files}})
                  .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                  .c_str());
    return;
  }
  for (const std::string& file : files) std::puts(file.c_str());
}

using Action = void (*)(const CheckpointArgs&);

CLI::App* AddAction(CLI::App& verb, const std::shared_ptr<CheckpointArgs>& args, const char* name,
                    const char* what, Action action) {
  CLI::App* added = verb.add_subcommand(name, what);
  added->footer(kCheckpointExamples);
  AddClientOptions(*added, *args);
  added->callback([args, action] { action(*args); });
  return added;
}

void AddName(CLI::App& action, CheckpointArgs& args) {
  action.add_option("name", args.name, "The checkpoint's name")->required();
}

void AddTensorNames(CLI::App& action, CheckpointArgs& args) {
  action
      .add_option("--tensors", args.tensors,
                  "Only these tensors, separated by commas (default: all)")
      ->delimiter(',');
}

}  // namespace

void AddCheckpoint(CLI::App& app) {
  auto args = std::make_shared<CheckpointArgs>();
  CLI::App* verb =
      app.add_subcommand("checkpoint", "Create, restore and export checkpoints of tensors");
  verb->require_subcommand(1);
  verb->footer(kCheckpointExamples);
  CLI::App* create =
      AddAction(*verb, args, "create", "Create a checkpoint while training continues", Create);
  AddName(*create, *args);
  AddTensorNames(*create, *args);
  create->add_option("--file", args->files, "Keep this file as well; may be given several times")
      ->check(CLI::ExistingFile);
  AddAction(*verb, args, "list", "List complete checkpoints", List);
  AddName(*AddAction(
              *verb, args, "show", "Show the contents of a checkpoint",
              [](const CheckpointArgs& given) { Show(given, ConnectTo(given)->Find(given.name)); }),
          *args);
  CLI::App* restore =
      AddAction(*verb, args, "restore", "Restore the rows and states of tensors", Restore);
  AddName(*restore, *args);
  AddTensorNames(*restore, *args);
  AddName(*AddAction(*verb, args, "delete", "Delete a checkpoint",
                     [](const CheckpointArgs& given) { ConnectTo(given)->Delete(given.name); }),
          *args);
  CLI::App* exported =
      AddAction(*verb, args, "export", "Write tensors to .npy files, and the kept files", Export);
  AddName(*exported, *args);
  AddTensorNames(*exported, *args);
  exported->add_option("--output", args->output, "Directory to create")->required();
}

}  // namespace graphd::ctl
