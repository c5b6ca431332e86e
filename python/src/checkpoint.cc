// SPDX-License-Identifier: Apache-2.0
#include "graphd/checkpoint.h"

#include <pybind11/stl.h>

#include "call.h"
#include "module.h"

namespace graphd::python {
namespace {

py::dict ToDict(const Checkpoint& checkpoint) {
  py::dict tensors;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    tensors[py::str(tensor.spec.name)] =
        py::make_tuple(DTypeName(tensor.spec.dtype), py::tuple(py::cast(tensor.spec.shape())));
  }
  py::dict made;
  made["name"] = checkpoint.name;
  made["graph_name"] = checkpoint.graph_name;
  made["num_parts"] = checkpoint.num_parts;
  made["created"] = checkpoint.created;
  made["bytes"] = checkpoint.bytes;
  made["tensors"] = tensors;
  made["files"] = checkpoint.files;
  return made;
}

}  // namespace

void DefineCheckpoint(py::module_& m) {
  using Names = std::vector<std::string>;
  m.def("create_checkpoint", [](const DistGraph& graph, const std::string& name, Names tensors,
                                std::map<std::string, std::string> files) {
    const CheckpointOptions options{std::move(tensors), std::move(files)};
    return ToDict(Call([&] { return CreateCheckpoint(graph, name, options); }));
  });
  m.def("list_checkpoints", [](const DistGraph& graph) {
    py::list all;
    for (const Checkpoint& each : Call([&] { return ListCheckpoints(graph); })) {
      all.append(ToDict(each));
    }
    return all;
  });
  m.def("restore_checkpoint",
        [](const DistGraph& graph, const std::string& name, const Names& tensors) {
          Call([&] { RestoreCheckpoint(graph, name, tensors); });
        });
  m.def("read_checkpoint_file",
        [](const DistGraph& graph, const std::string& name, const std::string& file) {
          return py::bytes(Call([&] { return ReadCheckpointFile(graph, name, file); }));
        });
  m.def("delete_checkpoint", [](const DistGraph& graph, const std::string& name) {
    Call([&] { DeleteCheckpoint(graph, name); });
  });
}

}  // namespace graphd::python
