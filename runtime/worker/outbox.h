// SPDX-License-Identifier: Apache-2.0
// The vectors that a worker computes into and sends. There are two, so that one can be computed
// while the other is on its way; the second one has no memory before that happens. Each slice
// describes its own content (docs/decisions/0034), so it may leave while the rest of its vector is
// computed. Loop thread only.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/alive.h"
#include "runtime/links/slicing.h"
#include "runtime/worker/worker_node.h"
#include "training/trainers/host_vector.h"
#include "transport/transport.h"

namespace motley {

class Outbox {
 public:
  // A vector is free when `unsent` is 0 and nothing is computed into it.
  struct Vector {
    SharedVector sum;
    // Tally of the samples in `sum`; the caller sets it before the first slice leaves.
    Tally tally;
    bool computing = false;
    bool held = false;  // No slice leaves; the caller sets it before the first one could.

    // The members below are the outbox's own.
    Header header;      // The header of its slices: the step and the order that it answers.
    uint64_t name = 0;  // Equal answers of a step have equal names (packed_slice.h).
    std::shared_ptr<Bytes> packed;  // Its slices as they travel; null: as they are.
    Slicing cut;                    // Its own: answers to codes with parts are shorter.
    std::vector<size_t> final;      // Final values in each slice; kSent: it was sent.
    std::vector<SendId> sends;
    size_t unsent = 0;
  };

  // The connection to the node that sums this shard.
  using PeerOf = std::function<PeerId(uint32_t shard)>;

  // `cut` is that of whole vectors. `seed` is the job's. `freed` runs when a vector has left or was
  // taken back. Vectors lie in `memory`; null: the library's.
  Outbox(Transport& transport, PeerOf peer_of, Slicing cut, uint64_t seed,
         std::function<void()> freed, OwnMemory memory = nullptr);

  // The filter changes whole vectors, so with it no slice leaves early.
  void SetFilter(AnswerFilter filter) { filter_ = std::move(filter); }

  // Returns a free vector, or null if both are in use.
  Vector* Free();
  // Makes a free vector as long as an answer to a code with so many parts (1: a whole vector). It
  // allocates a vector that has no memory yet, or another length. kResource when there is no
  // memory.
  Status Fit(Vector& vector, uint32_t parts) const;
  // The vector will answer this step and order. Each slice fills in its length, offset, norm,
  // sketch and tally when it leaves.
  void Describe(Vector& vector, const Header& header, uint64_t name);
  // Values [begin, end) will not change any more, and nobody else will read them. Slices leave once
  // all their values are final, behind what was sent before. With a filter none leaves here, nor
  // from a vector that is held. Returns true if a slice of the latter could leave.
  bool Final(Vector& vector, size_t begin, size_t end);
  // The vector is held no more. The slices whose values are all final leave.
  void LetGo(Vector& vector);
  // All of the vector is final. Sends the slices that have not been sent.
  void Send(Vector& vector);
  // Takes back what has not left of the answers to this order, or with 0 to all orders of steps up
  // to this one.
  void Cancel(StepId step, uint32_t order = 0);
  void TakeBack();  // Takes back all that has not left.

 private:
  static constexpr size_t kSent = SIZE_MAX;
  Status MakeRoom(Vector& vector) const;
  void SendSlice(Vector& vector, size_t slice);
  BytesView Pack(Vector& vector, size_t slice) const;

  Transport& transport_;
  const PeerOf peer_of_;
  const Slicing cut_;  // The cut of whole vectors.
  const uint64_t seed_;
  std::function<void()> freed_;
  const OwnMemory memory_;
  AnswerFilter filter_;
  std::array<Vector, 2> vectors_;
  Alive alive_;
};

}  // namespace motley
