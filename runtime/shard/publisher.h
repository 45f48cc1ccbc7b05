// SPDX-License-Identifier: Apache-2.0
// Sends a shard's parameters to workers, slice by slice from the one copy that all sends share. If
// they travel in another format, each version is rounded once, so that all workers get the same.
// Loop thread only.
//
// Back-pressure: the sends of a reader pin at most one version, for each shard (KeepSent pins
// more). A newer version takes back the slices that have not left. The slice under way cannot be
// taken back. Until it has left, nothing of the newer version is queued behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "runtime/links/slicing.h"
#include "transport/transport.h"

namespace motley {

using ParameterCopy = std::shared_ptr<const std::vector<float>>;

class Publisher {
  struct Flight;

 public:
  // Returns the parameters of this version as long as it is the newest, and null afterwards. If a
  // newer one serves as well, it may set `version` to that and return it.
  using Newest = std::function<ParameterCopy(uint64_t& version)>;

  // `cut` is that of all parameters, of which the publisher sends the slices of `shard`. Copies
  // have all parameters, or those of the shard alone. `seed` is the job's.
  Publisher(Transport& transport, Slicing cut, uint32_t shard, Newest newest, uint64_t seed = 0);
  ~Publisher();

  // The versions that one connection has received. It takes back what has not left when it is
  // destroyed; the connection may still be closing then. The publisher must outlive it.
  class Reader {
   public:
    // `header` has the job and the incarnation.
    Reader(Publisher& publisher, PeerId peer, const Header& header)
        : publisher_(publisher), peer_(peer), header_(header) {}
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Sends `version`. False: it was sent already, or it waits for an older slice to leave. A
    // waiting version is dropped, or replaced, when it is no longer the newest.
    bool Publish(uint64_t version, ParameterCopy copy);
    // The connection has `version`, or the other end says (Lacks) that it has not.
    void Skip(uint64_t version) { skipped_ = sent_ = version; }
    // Nothing of the skipped version was sent. Publish may follow.
    void Lacks() {
      if (skipped_ && sent_ == skipped_) sent_.reset();
      skipped_.reset();
    }
    uint64_t bytes() const;  // The size of the shard's part of a version.

    // Keeps the versions that it sends from now on, until Forget. Sent is null for others.
    void KeepSent() { keeps_ = true; }
    ParameterCopy Sent(uint64_t version) const;
    void Forget(uint64_t before);  // Versions before this one.

   private:
    friend class Publisher;
    void Send(uint64_t version, ParameterCopy copy);

    Publisher& publisher_;
    const PeerId peer_;
    Header header_;
    std::optional<uint64_t> sent_;     // The newest version that was sent.
    std::optional<uint64_t> skipped_;  // The one that Skip left out.
    std::shared_ptr<Flight> flight_;   // Null: none yet.
    std::optional<uint64_t> waiting_;  // The version that waits for the flight to end.
    bool keeps_ = false;
    std::vector<std::pair<uint64_t, ParameterCopy>> kept_;
  };

  // The connection that still reads the oldest version, if that is older than `version`.
  struct Oldest {
    uint64_t version;
    PeerId peer;
  };
  std::optional<Oldest> OldestReader(uint64_t version) const;

 private:
  // The slices of one version on their way to one connection. Their Done callbacks share it.
  struct Flight {
    Publisher* owner = nullptr;  // Null once the publisher is gone.
    Reader* reader = nullptr;    // Null once it is gone.
    PeerId peer = 0;
    uint64_t version = 0;
    ParameterCopy copy;                   // Null once all slices have left or were taken back.
    std::shared_ptr<const Bytes> packed;  // The slices as they travel; null: as they are.
    std::vector<SendId> sends;            // One for each slice of the shard; 0: done.
    size_t left = 0;                      // Slices that are not done.
  };

  std::shared_ptr<const Bytes> Packed(uint64_t version, std::span<const float> values);
  void TakeBack(Flight& flight);
  void OnEnded(const Flight& flight);

  Transport& transport_;
  const Slicing cut_;
  const uint32_t shard_;
  const Newest newest_;
  const uint64_t seed_;
  std::shared_ptr<Bytes> packed_;  // The newest version that was sent, as it travels.
  uint64_t packed_version_ = 0;
  std::vector<std::shared_ptr<Flight>> flights_;  // Those that have slices left.
};

}  // namespace motley
