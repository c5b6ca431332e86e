// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/send_logs.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"
#include "ctl/logs/file_source.h"
#include "ctl/logs/journal_source.h"
#include "ctl/logs/record_merge.h"
#include "ctl/orders/answer.h"
#include "wire/connection.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr size_t kBatch = size_t{64} << 10;     // bytes of a frame's records
constexpr size_t kMostKept = size_t{64} << 20;  // bytes of the last records, until they are sent
constexpr size_t kMostRead = size_t{1} << 20;   // bytes of one source that wait for other sources
constexpr int kLookMilliseconds = 50;           // between two looks for new records
constexpr auto kBeat = std::chrono::milliseconds(250);  // between two frames without a record
constexpr int kConnectMilliseconds = 1000;
// The time, in microseconds, that a record may take from its daemon until journalctl shows it.
constexpr int64_t kJournalDelay = 300'000;

std::string RuntimeDirectoryOf(const ServerSpec& server) {
  return server.runtime_dir.empty() ? RuntimeDir() : server.runtime_dir;
}

// Adds the file to which the daemon behind a socket writes its log, if it is a regular file: the
// --log_file, or a file to which a user's shell has redirected the log.
void AddFileOfDaemon(const std::string& socket, std::set<std::string>& files) {
  try {
    const UniqueFd fd = ConnectUnix(socket, kConnectMilliseconds);
    ucred daemon{};
    socklen_t length = sizeof daemon;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &daemon, &length) != 0) return;
    const std::string link = StrCat("/proc/", daemon.pid, "/fd/2");
    struct stat file {};
    if (::stat(link.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
    const std::string path = CanonicalPath(link);
    if (FileExists(path)) files.insert(path);
  } catch (const Error&) {
    // The daemon has ended, or is another user's.
  }
}

// Returns the log files of the daemons at a port, or at all ports if it is 0.
std::set<std::string> FindFiles(const ServerSpec& server) {
  std::set<std::string> files;
  const std::string directory = RuntimeDirectoryOf(server) + "/" + server.server_name;
  for (const std::string& name : ListReadable(directory)) {
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    if (server.port != 0 && path.stem() != StrCat(server.port)) continue;
    std::error_code ignored;  // the file may just have been removed
    const bool is_log =
        path.extension() == ".log" && std::filesystem::is_regular_file(path, ignored);
    if (is_log) files.insert(CanonicalPath(path.string()));
    if (PortOfSocketName(name)) AddFileOfDaemon(path.string(), files);
  }
  return files;
}

// The records of all sources of a host, merged.
class HostLog {
 public:
  explicit HostLog(const HostOrder& order) : spec_(order.logs), merge_(0) {
    for (const std::string& path : FindFiles(order.server)) {
      try {
        sources_.push_back({std::make_unique<FileSource>(path)});
        names_.push_back(path);
      } catch (const Error& error) {  // the user may not read it
        SendFrame({{"t", "notice"}, {"text", error.what()}});
      }
    }
    const std::string unit = StrCat("graphd@", order.server.server_name, ".service");
    const bool has_journal = spec_.has_journal && JournalSource::IsThere();
    if (has_journal) {
      names_.push_back("the journal of " + unit);
      sources_.push_back({std::make_unique<JournalSource>(JournalSource::Options{
          unit, spec_.least_level, spec_.since, spec_.lines, spec_.follow})});
    }
    if (has_journal) delay_ = kJournalDelay;
    merge_ = RecordMerge(sources_.size());
  }

  bool empty() const { return sources_.empty(); }
  const std::vector<std::string>& names() const { return names_; }

  // Reads the records that the sources have now. Skips sources of which many records still wait to
  // be sent.
  void Read() {
    for (size_t i = 0; i < sources_.size(); i++) {
      Source& source = sources_[i];
      if (source.ended || source.waiting > kMostRead) continue;
      const int64_t now = MicrosecondsNow();
      std::vector<LogRecord> records;
      source.at_end = source.log->Read(records);
      for (LogRecord& record : records) {
        if (RankOfLevel(record.level) < RankOfLevel(spec_.least_level)) continue;
        if (static_cast<double>(record.microseconds) < spec_.since * 1e6) continue;
        source.waiting += record.size();
        merge_.Add(i, std::move(record));
      }
      if (source.at_end) merge_.SetCaughtUp(i, now - delay_);
      if (source.at_end && !spec_.follow) {
        source.ended = true;
        merge_.End(i);
      }
      for (const std::string& notice : source.log->TakeNotices()) {
        SendFrame({{"t", "notice"}, {"text", notice}});
      }
    }
  }

  // Returns the next record, unless another source may still have an earlier one. If `wait` is
  // false, returns it even then.
  std::optional<LogRecord> Take(bool wait = true) {
    auto due = wait ? merge_.Take() : merge_.TakeEarliest();
    if (!due) return std::nullopt;
    sources_[due->source].waiting -= due->record.size();
    return std::move(due->record);
  }

  // Returns a time before which Read has found all records, or -1 if Read has left some records
  // unread. `now` is the time at which Read began.
  int64_t CaughtUp(int64_t now) const { return at_end() ? now - delay_ : -1; }
  // Returns whether the last Read has left no records unread.
  bool at_end() const {
    return std::ranges::all_of(sources_, [](const Source& source) { return source.at_end; });
  }

 private:
  struct Source {
    std::unique_ptr<LogSource> log;
    size_t waiting = 0;  // bytes in merge_
    bool at_end = false, ended = false;
  };
  const LogsSpec spec_;
  std::vector<std::string> names_;
  std::vector<Source> sources_;
  int64_t delay_ = 0;
  RecordMerge merge_;
};

// Sends batches of records. Each is sent only after the graphctl that reads them has asked for it.
class Sender {
 public:
  explicit Sender(std::string input) : input_(std::move(input)) {}

  // Waits until a batch is wanted, or for some milliseconds if `milliseconds` is not negative.
  // Returns whether one is wanted. Throws Error(kUnavailable) if the graphctl that reads has ended.
  bool IsWanted(int milliseconds) {
    while (!wanted_) {
      if (const size_t end = input_.find('\n'); end != std::string::npos) {
        wanted_ = input_.find("\"more\"") < end;
        input_.erase(0, end + 1);
        continue;
      }
      pollfd ready{STDIN_FILENO, POLLIN, 0};
      const int count = ::poll(&ready, 1, milliseconds);
      if (count == 0) return false;
      char bytes[4096];
      const ssize_t got = count < 0 ? -1 : ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) Throw(ErrorCode::kUnavailable, "graphctl ended while it was sent a log");
      if (input_.size() < kBatch) input_.append(bytes, static_cast<size_t>(got));
    }
    return true;
  }

  void Add(const LogRecord& record) {
    if (lines_.size() > kBatch) Send(-1);
    lines_ += EncodeRecord(record);
  }

  // `caught_up`: the time before which all records have been sent; -1 if it is not known.
  void Send(int64_t caught_up) {
    IsWanted(-1);
    SendFrame({{"t", "log"}, {"caught_up", caught_up}}, lines_);
    lines_.clear();
    wanted_ = false;
    sent_ = Clock::now();
  }

  bool empty() const { return lines_.empty(); }
  bool has_full_batch() const { return lines_.size() > kBatch; }
  Clock::time_point sent() const { return sent_; }

 private:
  std::string input_, lines_;
  bool wanted_ = true;  // the first batch
  Clock::time_point sent_ = Clock::now();
};

// Sends the last `lines` records that exist now, or all of them if `lines` is negative.
void SendWhatIsThere(HostLog& log, Sender& sender, int64_t lines) {
  std::deque<LogRecord> last;
  size_t bytes = 0;
  for (bool at_end = false; !at_end;) {
    log.Read();
    at_end = log.at_end();
    while (auto record = log.Take(/*wait=*/!at_end)) {
      if (lines < 0) {
        sender.Add(*record);
        continue;
      }
      bytes += record->size();
      last.push_back(*std::move(record));
      while (last.size() > static_cast<size_t>(lines) || bytes > kMostKept) {
        bytes -= last.front().size();
        last.pop_front();
      }
    }
  }
  for (const LogRecord& record : last) sender.Add(record);
}

// Sends new records as they are written, until the graphctl that reads them has ended.
[[noreturn]] void SendWhatComes(HostLog& log, Sender& sender) {
  sender.Send(-1);
  while (true) {
    const int64_t now = MicrosecondsNow();
    log.Read();
    while (auto record = log.Take()) sender.Add(*record);
    const bool beats = Clock::now() - sender.sent() >= kBeat;
    const bool is_wanted = sender.IsWanted(kLookMilliseconds);
    if (is_wanted && (beats || !sender.empty())) {
      sender.Send(log.CaughtUp(now));
    } else if (is_wanted) {
      ::poll(nullptr, 0, kLookMilliseconds);
    }
  }
}

void SendAll(const HostOrder& order, std::string input) {
  CheckServerName(order.server.server_name);
  HostLog log(order);
  if (log.empty() && order.logs.has_journal) {
    Throw(ErrorCode::kNotFound, "there is no log of a server '", order.server.server_name,
          "': no journalctl, and no file ",
          order.server.port == 0 ? "*" : StrCat(order.server.port), ".log in ",
          RuntimeDirectoryOf(order.server), "/", order.server.server_name,
          "; give the --server_name and the --runtime_dir that it was started with");
  }
  SendFrame({{"t", "sources"}, {"names", log.names()}});
  Sender sender(std::move(input));
  SendWhatIsThere(log, sender, order.logs.lines);
  if (order.logs.follow) SendWhatComes(log, sender);
  sender.Send(MicrosecondsNow());
}

}  // namespace

int SendServerLogs(const HostOrder& order, std::string input) {
  try {
    SendAll(order, std::move(input));
    SendFrame({{"t", "done"}});
    return 0;
  } catch (const Error& error) {
    return SendError(error);
  }
}

}  // namespace graphd::ctl
