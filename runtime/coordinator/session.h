// SPDX-License-Identifier: Apache-2.0
// All that the server knows of one worker's connection beyond the worker's place in the job. It is
// made when the worker has joined, and it is gone when the worker is lost, although the connection
// may still be closing then. Loop thread only.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "runtime/links/link_watch.h"
#include "runtime/links/messages.h"
#include "runtime/links/partition_feed.h"
#include "runtime/links/transfer_clock.h"
#include "runtime/links/vector_probe.h"
#include "runtime/shard/parameter_shard.h"
#include "transport/transport.h"

namespace motley {

struct Session {
  // What the sessions of a job share. All outlive them.
  struct Shared {
    Loop& loop;
    Transport& transport;
    PartitionBlocks& blocks;
    VectorProbe& probe;
    std::span<const std::unique_ptr<ParameterShard>> shards;
    size_t vector_bytes;
    PartitionFeed::Failed feed_failed;
  };

  // `header` has the job and the incarnation. `round_trip` receives what the link watch measures.
  Session(const Shared& shared, WorkerId of, PeerId at, const Header& with,
          LinkWatch::Tell round_trip)
      : transport(shared.transport),
        worker(of),
        peer(at),
        header(with),
        link(shared.loop, shared.transport, at, with, std::move(round_trip)),
        feed(shared.transport, shared.blocks, at, with, shared.vector_bytes, shared.feed_failed),
        turn(shared.probe, of, at, with) {
    for (const auto& shard : shared.shards) {
      readers.push_back(std::make_unique<Publisher::Reader>(shard->publisher(), at, with));
    }
  }

  // The header of a message to the worker.
  Header HeaderFor(FrameKind kind, StepId step = 0) const {
    Header made = header;
    made.kind = kind;
    made.step = step;
    return made;
  }
  template <typename Message>
  void Send(StepId step, const Message& message) {
    SendControl(transport, peer, HeaderFor(FrameKind::kControl, step), message);
  }
  // Keeps what is sent from now on, until Forget, to look at it again (Sent).
  void KeepSent() {
    for (const auto& reader : readers) reader->KeepSent();
  }
  ParameterCopy Sent(uint64_t version) const { return readers.front()->Sent(version); }
  void Forget(uint64_t before) {
    for (const auto& reader : readers) reader->Forget(before);
  }
  // Sends version `version` of the parameters, unless the worker has it. Returns the bytes sent.
  uint64_t Publish(uint64_t version, const ParameterCopy& parameters) {
    uint64_t sent = 0;
    for (const auto& reader : readers) {
      if (reader->Publish(version, parameters)) sent += reader->bytes();
    }
    return sent;
  }

  Transport& transport;
  const WorkerId worker;
  const PeerId peer;
  const Header header;
  bool ready = false;   // The worker reported that it is ready.
  bool silent = false;  // As in Heartbeat.
  TransferClock transfer;
  LinkWatch link;
  PartitionFeed feed;
  VectorProbe::Turn turn;
  std::vector<std::unique_ptr<Publisher::Reader>> readers;  // By shard.
};

}  // namespace motley
