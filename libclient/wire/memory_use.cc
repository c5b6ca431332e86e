// SPDX-License-Identifier: Apache-2.0
#include "wire/memory_use.h"

#include "wire/bounded.h"

namespace graphd {
namespace {

void WriteExtents(const std::vector<int64_t>& shape, capnp::List<int64_t>::Builder out) {
  for (kj::uint d = 0; d < out.size(); d++) out.set(d, shape[d]);
}

std::vector<int64_t> ReadExtents(capnp::List<int64_t>::Reader in) {
  std::vector<int64_t> shape;
  for (const int64_t extent : in) shape.push_back(extent);
  return shape;
}

}  // namespace

void WriteMemoryUse(const MemoryUse& use, wire::MemoryUse::Builder out) {
  auto arrays = out.initArrays(static_cast<kj::uint>(use.arrays.size()));
  for (kj::uint i = 0; i < arrays.size(); i++) {
    const ArrayMemory& array = use.arrays[i];
    arrays[i].setPart(array.part);
    arrays[i].setSegment(array.segment);
    arrays[i].setType(array.type);
    arrays[i].setName(array.name);
    arrays[i].setDtype(array.dtype);
    WriteExtents(array.shape, arrays[i].initShape(static_cast<kj::uint>(array.shape.size())));
    arrays[i].setBytes(array.bytes);
    arrays[i].setPages(array.pages);
    arrays[i].setFingerprint(array.fingerprint);
  }
  auto tensors = out.initTensors(static_cast<kj::uint>(use.tensors.size()));
  for (kj::uint i = 0; i < tensors.size(); i++) {
    const TensorMemory& tensor = use.tensors[i];
    tensors[i].setPart(tensor.part);
    tensors[i].setName(tensor.name);
    tensors[i].setJobId(tensor.job_id);
    tensors[i].setDtype(tensor.dtype);
    WriteExtents(tensor.shape, tensors[i].initShape(static_cast<kj::uint>(tensor.shape.size())));
    tensors[i].setBytes(tensor.bytes);
    tensors[i].setChangedBytes(tensor.changed_bytes);
    tensors[i].setStoredBytes(tensor.stored_bytes);
  }
  out.setNumArrays(use.num_arrays);
  out.setNumTensors(use.num_tensors);
  out.setGraphBytes(use.graph_bytes);
  out.setIndexBytes(use.index_bytes);
  out.setTensorBytes(use.tensor_bytes);
  out.setBufferBytes(use.buffer_bytes);
  out.setChangedBytes(use.changed_bytes);
  out.setStoredBytes(use.stored_bytes);
  out.setRssBytes(use.rss_bytes);
}

MemoryUse ReadMemoryUse(wire::MemoryUse::Reader in) {
  MemoryUse use;
  for (auto array : BoundedList(in.getArrays(), "arrays")) {
    use.arrays.push_back({array.getPart(), array.getSegment().cStr(), array.getType().cStr(),
                          array.getName().cStr(), array.getDtype().cStr(),
                          ReadExtents(array.getShape()), array.getBytes(), array.getPages().cStr(),
                          array.getFingerprint().cStr()});
  }
  for (auto tensor : BoundedList(in.getTensors(), "tensors")) {
    use.tensors.push_back({tensor.getPart(), tensor.getName().cStr(), tensor.getJobId().cStr(),
                           tensor.getDtype().cStr(), ReadExtents(tensor.getShape()),
                           tensor.getBytes(), tensor.getChangedBytes(), tensor.getStoredBytes()});
  }
  use.num_arrays = in.getNumArrays();
  use.num_tensors = in.getNumTensors();
  use.graph_bytes = in.getGraphBytes();
  use.index_bytes = in.getIndexBytes();
  use.tensor_bytes = in.getTensorBytes();
  use.buffer_bytes = in.getBufferBytes();
  use.changed_bytes = in.getChangedBytes();
  use.stored_bytes = in.getStoredBytes();
  use.rss_bytes = in.getRssBytes();
  return use;
}

}  // namespace graphd
