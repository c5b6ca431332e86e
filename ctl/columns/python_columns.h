// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/file.h"
#include "format/input/column_files.h"

namespace graphd::ctl {

// Reads Parquet, Arrow and .npz files with the pyarrow of a Python interpreter, which runs as a
// child process from the first call on and sends its tables through a pipe. There is no build-time
// dependency on Arrow. Not thread-safe.
class PythonColumns final : public ColumnFiles {
 public:
  // `interpreter`: a path, or a name to be found in PATH.
  explicit PythonColumns(std::string interpreter) : interpreter_(std::move(interpreter)) {}
  ~PythonColumns() override;
  PythonColumns(const PythonColumns&) = delete;
  PythonColumns& operator=(const PythonColumns&) = delete;

  // Throw Error(kNotFound) if there is no interpreter or no such file, Error(kInvalid) if the
  // interpreter has no pyarrow, with the remedy, and the errors of OpenIpcStream.
  std::unique_ptr<ArrowStream> Sample(const std::string& path, int64_t rows) override;
  std::unique_ptr<ArrowStream> Read(const std::string& path,
                                    const std::vector<std::string>& columns) override;

 private:
  void Start();
  std::unique_ptr<ArrowStream> Ask(const std::string& request, const std::string& path);
  size_t ReadSome(std::span<std::byte> out);
  // Waits for the process, which has ended its output, and throws what it reported.
  [[noreturn]] void Fail();

  const std::string interpreter_;
  pid_t pid_ = 0;
  UniqueFd requests_, answers_, errors_;
};

}  // namespace graphd::ctl
