// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "client/link/control.h"
#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// The exchange of reports between a job's supervisors, through one daemon. A thread sends the
// report of this host to the daemon, at once after a change and otherwise four times a second, and
// receives the reports of the other hosts. The daemon need not remember anything: after its
// restart, each host sends its report again. The methods must be called on the thread of the libuv
// loop.
class JobTalk {
 public:
  // The state of the exchange.
  struct News {
    std::vector<JobHost> hosts;  // all that have reported, including this one
    double unreachable = 0;      // seconds since the last answer of the daemon; 0: it answers
    std::string trouble;         // the reason why it does not answer
    // Seconds for which the machine of the daemon could be reached, but no daemon that knows this
    // job answered, so that the daemon has probably ended with the job. Always 0 on hosts whose
    // loss would end the job. On others, counting begins when the last answer is older than
    // --server_grace and --host_timeout.
    double gone = 0;
    std::optional<Error> refusal;  // the last error, if another attempt would hardly succeed
    double refused = 0;            // the seconds for which `refusal` has been set
    bool was_accepted = false;     // the daemon has taken a report before
    bool told = false;             // the daemon has the latest report of this host
  };

  // Calls `on_news` after each exchange, on the loop's thread.
  JobTalk(uv_loop_t* loop, const HostOrder& order, std::function<void()> on_news);
  // Ends the thread. The loop must run once more after this, to close a handle.
  ~JobTalk();
  JobTalk(const JobTalk&) = delete;
  JobTalk& operator=(const JobTalk&) = delete;

  // Sets the report of this host and gives it the next sequence number.
  void Say(JobHost host);
  News Latest() const;
  // Returns the seconds since this host sent the last of those reports that the daemon has
  // answered. Since other hosts received that report after it was sent, they have counted at most
  // as many seconds of silence of this host. Reports without an answer are ignored.
  double SecondsUnheard() const;
  // Returns the last reports of those other hosts that have sent nothing for more than `seconds`.
  // Time in which the daemon did not answer is not counted.
  std::vector<JobHost> SilentHosts(double seconds) const;

 private:
  void CloseAsync();
  void Run();
  std::unique_ptr<ControlClient> Connect() const;
  void Learn(const std::vector<JobHost>& hosts, uint64_t said, Clock::time_point sent);
  bool MayHaveEnded() const;
  bool IsMachineReached() const;
  void NoteFailure(const Error& error);

  const HostOrder order_;
  std::string socket_;  // the socket of the daemon where the hosts meet; empty: not on this machine
  const std::function<void()> on_news_;
  uv_async_t* async_;  // deletes itself when it is closed
  mutable Mutex mutex_;
  CondVar wake_;
  bool ended_ GRAPHD_GUARDED_BY(mutex_) = false;
  JobRecord record_ GRAPHD_GUARDED_BY(mutex_);  // the report: this host's part alone
  uint64_t said_ GRAPHD_GUARDED_BY(mutex_) = 0;
  News news_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<Clock::time_point> heard_ GRAPHD_GUARDED_BY(mutex_);  // by host
  Clock::time_point answered_ GRAPHD_GUARDED_BY(mutex_) = Clock::now();
  Clock::time_point sent_ GRAPHD_GUARDED_BY(mutex_) = Clock::now();  // the last answered report
  Clock::time_point reached_ GRAPHD_GUARDED_BY(mutex_){};            // when `gone` began
  Clock::time_point refused_ GRAPHD_GUARDED_BY(mutex_){};  // first refusal since an answer
  std::thread thread_;
};

}  // namespace graphd::ctl
