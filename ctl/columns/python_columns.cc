// SPDX-License-Identifier: Apache-2.0
#include "ctl/columns/python_columns.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/columns/read_columns_script.h"
#include "format/arrow/ipc_stream.h"

namespace graphd::ctl {
namespace {

// Returns the end of a file into which a process has written its standard error.
std::string EndOf(int fd) {
  constexpr off_t kMost = 64 << 10;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return "";
  std::string text(static_cast<size_t>(std::min(status.st_size, kMost)), '\0');
  const ssize_t got =
      ::pread(fd, text.data(), text.size(), status.st_size - static_cast<off_t>(text.size()));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return std::string(Trim(text));
}

ErrorCode CodeOf(const std::string& word) {
  if (word == "invalid") return ErrorCode::kInvalid;
  if (word == "not_found") return ErrorCode::kNotFound;
  if (word == "corrupt") return ErrorCode::kCorrupt;
  if (word == "overloaded") return ErrorCode::kOverloaded;
  return ErrorCode::kIo;
}

}  // namespace

PythonColumns::~PythonColumns() {
  if (pid_ == 0) return;
  requests_.reset();
  answers_.reset();
  ::kill(pid_, SIGKILL);  // it may still be decoding rows, which nobody needs now
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PythonColumns::Start() {
  if (pid_ != 0) return;
  // Requests are sent through a socket, because a write to a pipe without a reader would cause
  // SIGPIPE.
  int sockets[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    ThrowErrno("can't create", "a socket");
  }
  UniqueFd ours(sockets[0]), theirs(sockets[1]);
  if (::pipe2(pipe, O_CLOEXEC) != 0) ThrowErrno("can't create", "a pipe");
  UniqueFd read(pipe[0]), write(pipe[1]);
  UniqueFd errors(::memfd_create("graphctl_python_errors", MFD_CLOEXEC));
  if (!errors) ThrowErrno("can't create", "a file in memory");

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  std::string program = interpreter_, option = "-c", script = kReadColumnsScript;
  char* words[] = {program.data(), option.data(), script.data(), nullptr};
  const int error = ::posix_spawnp(&pid_, interpreter_.c_str(), &actions, nullptr, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = 0;
    Throw(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid, "can't run ", interpreter_,
          ": ", std::generic_category().message(error),
          "; Parquet, Arrow and .npz files are read by ",
          "Python with pyarrow: name an interpreter that has it with --python");
  }
  requests_ = std::move(ours);
  answers_ = std::move(read);
  errors_ = std::move(errors);
}

std::unique_ptr<ArrowStream> PythonColumns::Sample(const std::string& path, int64_t rows) {
  return Ask(nlohmann::json{{"path", path}, {"rows", rows}, {"columns", nullptr}}.dump(), path);
}

std::unique_ptr<ArrowStream> PythonColumns::Read(const std::string& path,
                                                 const std::vector<std::string>& columns) {
  return Ask(nlohmann::json{{"path", path}, {"rows", nullptr}, {"columns", columns}}.dump(), path);
}

std::unique_ptr<ArrowStream> PythonColumns::Ask(const std::string& request,
                                                const std::string& path) {
  Start();
  const std::string line = request + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t sent =
        ::send(requests_.get(), line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) Fail();
    done += static_cast<size_t>(sent);
  }
  return OpenIpcStream([this](std::span<std::byte> out) { return ReadSome(out); }, path);
}

size_t PythonColumns::ReadSome(std::span<std::byte> out) {
  ssize_t got = 0;
  do {
    got = ::read(answers_.get(), out.data(), out.size());
  } while (got < 0 && errno == EINTR);
  if (got <= 0) Fail();  // the reader stops at a stream's end mark, so this end is early
  return static_cast<size_t>(got);
}

void PythonColumns::Fail() {
  answers_.reset();
  requests_.reset();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  const std::string text = EndOf(errors_.get());
  const std::string last = text.substr(text.rfind('\n') + 1);
  const nlohmann::json report = nlohmann::json::parse(last, nullptr, false);
  if (report.is_object() && report.contains("message") && report["message"].is_string()) {
    const auto code = report.find("code");
    Throw(CodeOf(code != report.end() && code->is_string() ? code->get<std::string>() : ""),
          report["message"].get<std::string>());
  }
  const std::string how = WIFSIGNALED(status) ? StrCat("signal ", WTERMSIG(status))
                                              : StrCat("exit code ", WEXITSTATUS(status));
  Throw(ErrorCode::kIo, interpreter_, ", which reads tables stored by column, ended with ", how,
        text.empty() ? "" : ": " + text.substr(text.size() - std::min<size_t>(text.size(), 2000)));
}

}  // namespace graphd::ctl
