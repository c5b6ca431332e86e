// SPDX-License-Identifier: Apache-2.0
#include "client/tensors/open_table.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/index.h"
#include "base/interruptions.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr int64_t kFillBytes = int64_t{4} << 20;
// The time for which processes that could fill a tensor wait for the process that fills it. If that
// process dies, one of them takes over.
constexpr auto kFillPatience = std::chrono::hours(1);
// The time for which an interrupted process tries to inform a daemon that it does not fill its
// tensor.
constexpr double kFarewell = 1;  // seconds

// Opens or creates a share. While another process fills it, waits and tries again.
TensorPort::Opened OpenWhenFilled(GraphAccess& access, size_t p, const TensorSpec& spec,
                                  bool caller_fills) {
  const auto start = Clock::now();
  const std::chrono::milliseconds patience = caller_fills ? kFillPatience : access.timeout();
  auto pause = std::chrono::milliseconds(5);
  for (;;) {
    TensorPort::Opened opened =
        access.ports()[p]->Open(static_cast<PartId>(p), spec, true, caller_fills);
    if (opened.fill || !opened.filling) return opened;
    if (Clock::now() - start > patience) {
      Throw(ErrorCode::kDeadline, "tensor '", spec.name, "' still has no initial values after ",
            patience.count() / 1000, " s; check the trainer that creates it, or drop the tensor");
    }
    AwaitTime(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(200));
  }
}

// Writes initial values to the shares that need them.
class Filler {
 public:
  Filler(TableSource& table, std::vector<bool> wanted, const DistTensor::Fill& fill)
      : table_(table), wanted_(std::move(wanted)), fill_(fill) {}

  void Run() {
    const auto row_bytes = static_cast<int64_t>(table_.spec().row_bytes());
    const int64_t most = std::max<int64_t>(1, kFillBytes / row_bytes);
    const auto run = [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += most) Slice(begin, std::min(begin + most, end));
    };
    const TensorRows& rows = table_.rows();
    if (!rows.map->is_range()) return run(0, rows.total());
    for (size_t p = 0; p < wanted_.size(); p++) {
      const auto part = static_cast<PartId>(p);
      const int64_t begin = rows.map->type_begin(part, rows.type);
      if (wanted_[p]) run(begin, begin + rows.count_in(part));
    }
  }

 private:
  bool IsWanted(int64_t id) const {
    return wanted_[Index(table_.rows().map->Owner(table_.rows().type, id))];
  }

  void Slice(int64_t begin, int64_t end) {
    std::vector<int64_t> ids(Index(end - begin));
    std::iota(ids.begin(), ids.end(), begin);
    if (std::none_of(ids.begin(), ids.end(), [&](int64_t id) { return IsWanted(id); })) return;
    const TensorSpec& spec = table_.spec();
    std::vector<int64_t> shape = spec.shape();
    shape[0] = end - begin;
    Tensor rows = table_.access().NewTensor(spec.dtype, shape);
    fill_(begin, rows);
    if (rows.dtype() != spec.dtype || rows.shape() != shape) {
      Throw(ErrorCode::kInvalid, "the function that fills tensor '", spec.name, "' gave rows of ",
            "another dtype or shape");
    }
    // If the partition book was made by IdMap::FromOwners, the rows of a slice may belong to
    // several partitions.
    size_t kept = 0;
    for (size_t i = 0; i < ids.size(); i++) {
      if (!IsWanted(ids[i])) continue;
      if (kept != i) {
        ids[kept] = ids[i];
        std::memmove(rows.data() + kept * spec.row_bytes(), rows.data() + i * spec.row_bytes(),
                     spec.row_bytes());
      }
      kept++;
    }
    ids.resize(kept);
    table_.Write(UpdateKind::kSet, ids, {rows.data(), kept * spec.row_bytes()});
  }

  TableSource& table_;
  const std::vector<bool> wanted_;
  const DistTensor::Fill& fill_;
};

// Returns a specification with only a name and persistence, which identify a tensor.
TensorSpec NameOnly(const std::string& name, bool persistent) {
  TensorSpec spec;
  spec.name = name;
  spec.persistent = persistent;
  return spec;
}

// Lets other processes fill the shares after this process has given up. `tables` has the shares
// that this process has opened; it may have sent the call that opens the next share, too, without
// waiting for the answer. Errors are ignored, because a daemon notices the end of this process
// anyway.
void GiveUpFilling(GraphAccess& access, const TensorSpec& spec, const std::vector<uint32_t>& tables,
                   const std::vector<bool>& to_fill) noexcept {
  struct TooLong {};
  const InterruptCheck check([start = Clock::now()] {
    if (SecondsSince(start) > kFarewell) throw TooLong{};
  });
  for (size_t p = 0; p < std::min(tables.size() + 1, access.ports().size()); p++) {
    try {
      TensorPort& port = *access.ports()[p];
      if (p < tables.size()) {
        if (to_fill[p]) port.Filled(tables[p], /*given_up=*/true);
        continue;
      }
      const auto opened =
          port.Open(static_cast<PartId>(p), NameOnly(spec.name, spec.persistent), false, true);
      if (opened.fill) port.Filled(opened.share.table, /*given_up=*/true);
    } catch (...) {
    }
  }
}

// Returns the specification of the persistent tensor of this name or, if there is none, of this
// job's tensor of this name.
TensorSpec FindSpec(GraphAccess& access, const std::string& name) {
  for (const bool persistent : {true, false}) {
    try {
      return access.ports()
          .front()
          ->Open(0, NameOnly(name, persistent), false, false)
          .share.info.spec;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
    }
  }
  std::vector<std::string> names;
  for (const TensorInfo& info : ListTables(access)) names.push_back(info.spec.name);
  Throw(ErrorCode::kNotFound, "there is no tensor '", name,
        "' for this job; there are: ", names.empty() ? "none" : Join(names, ", "));
}

}  // namespace

std::shared_ptr<TableSource> CreateTable(const std::shared_ptr<GraphAccess>& access,
                                         TensorSpec spec, const DistTensor::Fill* fill) {
  CheckTensorSpec(access->meta(), spec);
  std::vector<uint32_t> tables;
  std::vector<bool> to_fill;
  try {
    for (size_t p = 0; p < access->ports().size(); p++) {
      const TensorPort::Opened opened = OpenWhenFilled(*access, p, spec, fill != nullptr);
      tables.push_back(opened.share.table);
      to_fill.push_back(opened.fill);
    }
    auto table = std::make_shared<TableSource>(access, spec, tables);
    if (fill == nullptr) return table;
    Filler(*table, to_fill, *fill).Run();
    for (size_t p = to_fill.size(); p-- > 0;) {
      if (to_fill[p]) access->ports()[p]->Filled(tables[p], /*given_up=*/false);
      to_fill[p] = false;
    }
    return table;
  } catch (...) {
    if (fill != nullptr) GiveUpFilling(*access, spec, tables, to_fill);
    throw;
  }
}

std::shared_ptr<TableSource> OpenTable(const std::shared_ptr<GraphAccess>& access,
                                       const std::string& name) {
  // Creates the shares that are missing, because the process that created the tensor failed before
  // it had created all of them, or because a drop ended half-way.
  return CreateTable(access, FindSpec(*access, name));
}

std::vector<TensorInfo> ListTables(GraphAccess& access) {
  std::vector<TensorInfo> infos;
  for (TensorShare& share : access.ports().front()->List()) {
    if (share.part == 0) infos.push_back(std::move(share.info));
  }
  return infos;
}

void DropTable(GraphAccess& access, const std::string& name) {
  const bool persistent = FindSpec(access, name).persistent;
  for (size_t p = access.ports().size(); p-- > 0;) {
    try {
      TensorPort& port = *access.ports()[p];
      const auto part = static_cast<PartId>(p);
      port.Drop(port.Open(part, NameOnly(name, persistent), false, false).share.table);
    } catch (const Error& error) {
      // A previous attempt may have ended half-way.
      if (error.code() != ErrorCode::kNotFound) throw;
    }
  }
}

}  // namespace graphd
