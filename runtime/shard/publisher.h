// SPDX-License-Identifier: Apache-2.0
// Sends a shard's parameters to workers, slice by slice from the one copy that all sends share.
// Loop thread only.
//
// Back-pressure: a worker pins at most one version. A newer version takes back the slices that have
// not left. The slice under way cannot be taken back. Until it has left, nothing of the newer
// version is queued behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "runtime/links/slicing.h"
#include "transport/transport.h"

namespace motley {

using ParameterCopy = std::shared_ptr<const std::vector<float>>;

class Publisher {
 public:
  // Returns the parameters of this version as long as it is the newest, and null afterwards.
  using Newest = std::function<ParameterCopy(uint64_t version)>;

  // `cut` is that of all parameters, of which the publisher sends the slices of `shard`.
  Publisher(Transport& transport, uint32_t workers, Slicing cut, uint32_t shard, Newest newest);
  ~Publisher();

  // Sends `version`. False: this worker got it already, or it waits for an older slice to leave. A
  // waiting version is dropped when it is no longer the newest. `header` has the job and the
  // incarnation.
  bool Publish(WorkerId worker, PeerId peer, Header header, uint64_t version, ParameterCopy copy);
  // The worker is gone. Its connection may still be closing.
  void Forget(WorkerId worker);

  // The connection that still reads the oldest version, if that is older than `version`.
  std::optional<PeerId> OldestReader(uint64_t version);

 private:
  // The slices of one version on their way to one connection. Their Done callbacks share it.
  struct Flight {
    Publisher* owner = nullptr;  // Null once the publisher is gone.
    WorkerId worker = 0;
    PeerId peer = 0;
    uint64_t version = 0;
    ParameterCopy copy;         // Null once all slices have left or were taken back.
    std::vector<SendId> sends;  // One for each slice of the shard; 0: done.
    size_t left = 0;            // Slices that are not done.
  };
  struct Seat {
    bool any = false;
    uint64_t version = 0;            // The newest version that was sent.
    std::shared_ptr<Flight> flight;  // Null: none yet.
    std::optional<Header> waiting;   // The header of the version that waits for the flight to end.
  };

  void Send(WorkerId worker, PeerId peer, Header header, ParameterCopy copy);
  void TakeBack(Flight& flight);
  void OnEnded(const Flight& flight);

  Transport& transport_;
  const Slicing cut_;
  const uint32_t shard_;
  Newest newest_;
  std::vector<Seat> seats_;
  std::vector<std::shared_ptr<Flight>> forgotten_;  // Flights to connections that are closing.
};

}  // namespace motley
