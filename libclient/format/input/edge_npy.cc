// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "format/input/edge_files.h"
#include "format/io/npy_file.h"
#include "graph/array_shape.h"

namespace graphd {
namespace {

// A column of ids in a mapped array, `stride` elements apart.
struct IdColumn {
  const NpyFile& file;
  size_t first = 0, stride = 1;

  // The place of an element in the file, for messages.
  struct Place {
    const IdColumn& column;
    size_t i;
    template <class... Args>
    [[noreturn]] void Fail(const Args&... args) const {
      const size_t element = column.first + i * column.stride;
      Throw(ErrorCode::kCorrupt, column.file.path(), ", offset ",
            column.file.data_offset() + element * DTypeSize(column.file.dtype()), ": ", args...);
    }
  };

  template <class T>
  uint64_t Resolve(NodeIds& ids, size_t i) const {
    T value;
    std::memcpy(&value, file.data().data() + (first + i * stride) * sizeof(T), sizeof(T));
    const Place place{*this, i};
    if (std::is_signed_v<T> && value < 0) {
      place.Fail("node ", value, ", expected 0 or more");
    }
    return ids.ResolveNumber(static_cast<uint64_t>(value), place);
  }
};

// The number of ids that are read before their pages are released.
constexpr size_t kReleaseIds = size_t{1} << 20;

// Releases the pages of the ids from `begin` to `end` - 1 of a column: they are not read again, and
// the array may be larger than the memory that a user grants.
void ReleasePages(const IdColumn& column, size_t begin, size_t end) {
  const size_t bytes = column.stride * DTypeSize(column.file.dtype());
  const auto data = reinterpret_cast<uintptr_t>(column.file.data().data());
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t from = (data + begin * bytes + page - 1) / page * page;
  const uintptr_t to = (data + end * bytes) / page * page;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

// Calls f with a value of the array's type.
template <class F>
void VisitIdType(const NpyFile& file, F&& f) {
  switch (file.dtype()) {
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    default:
      Throw(ErrorCode::kCorrupt, file.path(), ": holds ", DTypeName(file.dtype()),
            ", expected node ids in int32, int64, uint32 or uint64");
  }
}

void ReadColumns(const IdColumn& src, const IdColumn& dst, size_t count, EdgesBeingRead& edges,
                 const StepProgress& progress) {
  VisitIdType(src.file, [&](auto src_zero) {
    VisitIdType(dst.file, [&](auto dst_zero) {
      for (size_t i = 0; i < count; i++) {
        const uint64_t u = src.Resolve<decltype(src_zero)>(edges.src, i);
        edges.ends.Add(u, dst.Resolve<decltype(dst_zero)>(edges.dst, i));
        if (i % 65536 == 0 && progress) progress("reading " + src.file.path(), i, count);
        if (i % kReleaseIds == 0 && i > 0) {
          // Each call covers the piece before, too, so that the page that two pieces share is
          // released with the second piece.
          for (const IdColumn& column : {src, dst}) {
            const size_t end = column.first / column.stride + i;
            ReleasePages(column, end - std::min(end, 2 * kReleaseIds), end);
          }
        }
      }
    });
  });
  if (progress) progress("reading " + src.file.path(), count, count);
}

}  // namespace

void ReadNpyEdges(const std::string& path, TwoByTwo two_by_two, EdgesBeingRead& edges,
                  const StepProgress& progress) {
  const NpyFile file(path, NpyOrder::kAny);
  const auto& shape = file.shape();
  if (shape.size() != 2 || (shape[0] != 2 && shape[1] != 2)) {
    Throw(ErrorCode::kCorrupt, path, ": the shape is ", ShapeText(shape), ", expected [2, E] or ",
          "[E, 2]; sources and destinations in two files are given as SRC.npy,DST.npy");
  }
  const bool rows_are_ends =
      shape[0] == 2 && (shape[1] != 2 || two_by_two == TwoByTwo::kEndsInRows);
  const auto count = static_cast<size_t>(rows_are_ends ? shape[1] : shape[0]);
  // All sources come before all destinations if the shape is [2, E] in C order or [E, 2] in Fortran
  // order.
  const bool sources_first = rows_are_ends != file.fortran_order();
  const IdColumn src{file, 0, sources_first ? size_t{1} : size_t{2}};
  const IdColumn dst{file, sources_first ? count : size_t{1}, src.stride};
  ReadColumns(src, dst, count, edges, progress);
}

void ReadNpyEdges(const std::string& src_path, const std::string& dst_path, EdgesBeingRead& edges,
                  const StepProgress& progress) {
  const NpyFile src(src_path), dst(dst_path);
  for (const NpyFile* file : {&src, &dst}) {
    if (file->shape().size() == 1) continue;
    Throw(ErrorCode::kCorrupt, file->path(), ": the shape is ", ShapeText(file->shape()),
          ", expected [E]: one end of each edge");
  }
  if (src.shape() != dst.shape()) {
    Throw(ErrorCode::kCorrupt, dst_path, ": ", dst.shape()[0], " destinations, but ", src_path,
          " has ", src.shape()[0], " sources");
  }
  ReadColumns({src}, {dst}, static_cast<size_t>(src.shape()[0]), edges, progress);
}

}  // namespace graphd
