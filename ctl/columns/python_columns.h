// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/file.h"
#include "format/input/column_files.h"

namespace graphd::ctl {

// Reads Parquet, Arrow and .npz files with the package pyarrow of a Python interpreter, so that
// graphctl is built without Arrow. The interpreter runs as a child process from the first call on,
// and sends the tables through a pipe. Not thread-safe.
class PythonColumns final : public ColumnFiles {
 public:
  // `interpreter`: a path, or a name to be found in PATH.
  explicit PythonColumns(std::string interpreter) : interpreter_(std::move(interpreter)) {}
  ~PythonColumns() override;
  PythonColumns(const PythonColumns&) = delete;
  PythonColumns& operator=(const PythonColumns&) = delete;

  // Throw Error(kNotFound) if there is no interpreter or no such file, Error(kInvalid), which names
  // the remedy, if the interpreter has no pyarrow, and the errors of OpenIpcStream.
  std::unique_ptr<ArrowStream> Sample(const std::string& path, int64_t rows) override;
  std::unique_ptr<ArrowStream> Read(const std::string& path,
                                    const std::vector<std::string>& columns) override;

 private:
  void Start();
  std::unique_ptr<ArrowStream> Ask(const std::string& request, const std::string& path);
  size_t ReadSome(std::span<std::byte> out);
  // Must be called when the process has closed its output. Waits for its end, and throws the error
  // that it has reported.
  [[noreturn]] void Fail();

  const std::string interpreter_;
  pid_t pid_ = 0;
  UniqueFd requests_, answers_, errors_;
};

}  // namespace graphd::ctl
