// SPDX-License-Identifier: Apache-2.0
// The seats of a job's workers, and behind them those of its shard servers: which process has
// which, who may take one, and which nodes may not join. Loop thread only.
//
// A worker has a seat, whose number is its id. A worker that lost its connection takes its own seat
// again, even if the server has not noticed the loss yet. When all seats are taken, a newcomer
// takes the seat of a worker that is silent (heartbeat.h), or that joined a minute ago and is not
// ready for work. The token proves that it may.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

// A machine's worker: its name, device and host address, taken together. A worker that its
// supervisor restarts is therefore the same node, and one that a user started under another name is
// not. Workers on one machine need different names.
struct WorkerOrigin {
  std::string name;
  std::string device;
  std::string host;

  auto operator<=>(const WorkerOrigin&) const = default;
};

class Seats {
 public:
  struct Seat {
    PeerId peer = 0;              // 0: the seat is empty.
    Incarnation incarnation = 0;  // 0: nobody ever had the seat.
    std::string name;             // As users see it.
    WorkerOrigin origin;
    uint64_t process = 0;  // wire.Join.node
    bool ready = false;
    bool overdue = false;  // The worker was not ready in time.
  };

  explicit Seats(uint32_t workers, uint32_t servers = 0)
      : workers_(workers), seats_(workers + servers) {}

  uint32_t workers() const { return workers_; }
  uint32_t servers() const { return static_cast<uint32_t>(seats_.size()) - workers_; }
  Seat& operator[](WorkerId worker) { return seats_[worker]; }
  const Seat& operator[](WorkerId worker) const { return seats_[worker]; }

  // Returns an error if this node is banned, or if the incarnation is none that may join.
  Status Check(const wire::JoinT& join, const WorkerOrigin& origin) const;
  // The seat that the process takes; somebody may still be there. Nothing if there is none.
  std::optional<WorkerId> Find(const wire::JoinT& join,
                               const std::function<bool(PeerId)>& silent) const;
  // The connection to the worker has ended, so its seat is empty.
  void Leave(WorkerId worker);
  // How often the connection to this worker's node ended in this job, in any seat. Workers of one
  // machine that look alike share these losses evenly.
  uint32_t TimesLost(WorkerId worker) const;
  // Refuses joins from the worker's node for the rest of the job.
  void Ban(WorkerId worker) { banned_.insert(seats_[worker].origin); }

 private:
  const uint32_t workers_;
  std::vector<Seat> seats_;
  std::set<WorkerOrigin> banned_;
  std::map<WorkerOrigin, uint32_t> times_lost_;
};

}  // namespace motley
