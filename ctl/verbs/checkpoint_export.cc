// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/checkpoint_export.h"

#include <algorithm>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/verbs/npy_rows.h"
#include "store/rows/apply_rule.h"

namespace graphd::ctl {
namespace {

void ExportTensor(CheckpointClient& client, const Checkpoint& checkpoint,
                  const CheckpointTensor& tensor, const std::string& stem,
                  std::vector<std::string>& written) {
  const TensorSpec& spec = tensor.spec;
  const auto floats = static_cast<int64_t>(store::StateFloats(tensor.state, spec.row_elements()));
  NpyRows values(stem + ".npy", spec.dtype, spec.shape());
  std::unique_ptr<NpyRows> states;
  if (floats != 0) {
    states = std::make_unique<NpyRows>(stem + ".state.npy", DType::kFloat32,
                                       std::vector<int64_t>{spec.rows, floats});
  }
  // Partitions arrive in ascending order, and so do their rows.
  int64_t next = 0;
  client.EachRows(checkpoint, tensor, [&](const CheckpointClient::Rows& rows) {
    values.Write(next, rows.orig_ids, rows.values);
    // A partition that was saved before the optimiser's first step has no state. Its rows in the
    // file of states are zeros.
    if (states && !rows.states.empty()) states->Write(next, rows.orig_ids, rows.states);
    next += rows.count;
  });
  values.Finish();
  written.push_back(values.path());
  if (!states) return;
  states->Finish();
  written.push_back(states->path());
}

}  // namespace

std::vector<std::string> ExportCheckpoint(CheckpointClient& client, const std::string& name,
                                          const std::vector<std::string>& tensors,
                                          const std::string& directory) {
  const Checkpoint checkpoint = client.Find(name);
  for (const std::string& wanted : tensors) {
    if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const CheckpointTensor& each) { return each.spec.name == wanted; })) {
      Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no tensor '", wanted, "'");
    }
  }
  std::vector<const CheckpointTensor*> chosen;
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    if (!tensors.empty() && std::count(tensors.begin(), tensors.end(), tensor.spec.name) == 0) {
      continue;
    }
    chosen.push_back(&tensor);
    names.push_back(tensor.spec.name);
  }
  const std::vector<std::string> stems = FileStemsOf(names);
  MakeExportDirectory(directory);
  std::vector<std::string> written;
  for (size_t i = 0; i < chosen.size(); i++) {
    ExportTensor(client, checkpoint, *chosen[i], StrCat(directory, "/", stems[i]), written);
  }
  if (!checkpoint.files.empty()) MakeDirectories(directory + "/files");
  for (const auto& [file, bytes] : checkpoint.files) {
    const std::string path = StrCat(directory, "/files/", file);
    WriteFileAtomically(path, client.ReadFile(name, file));
    written.push_back(path);
  }
  return written;
}

}  // namespace graphd::ctl
