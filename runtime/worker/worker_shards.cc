// SPDX-License-Identifier: Apache-2.0
// The parts of a worker that work on a job, and its messages about shards that workers hold.
#include <utility>

#include "runtime/links/route.h"
#include "runtime/worker/worker_life.h"

namespace motley {

Receiver* WorkerLife::OthersOf(PeerId peer) {
  if (!session_ || session_->links == nullptr) return nullptr;
  if (session_->links->Knows(peer)) return session_->links.get();
  return session_->host.get();
}

// A device that does not share the host's memory cannot hold a shard, but its worker may use those
// of others.
Status WorkerLife::SetUpShards(const wire::AcceptT& accept, const Route& route, Session& session) {
  const Header header{.job = accept.job, .incarnation = incarnation_};
  const auto failed = alive_.Guard(
      [this](const Status& why) { Fail(why.WithContext("cannot hold a part of the vector")); });
  wire::ShardJoinT join;
  join.protocol = kProtocolVersion;
  join.token = options_.token;
  join.job = accept.job;
  join.worker = accept.worker;
  join.incarnation = incarnation_;
  session.links = std::make_unique<ShardLinks>(
      ShardLinks::Parts{env_.loop, env_.transport, *session.parameters, header, join,
                        options_.server, route.shards()},
      ShardLinks::Hooks{[this] {
                          if (state_ == State::kWorking) session_->executor->Advance();
                        },
                        alive_.Guard([this](const Status& why) { Fail(why); })});
  Device& device = env_.shard_device != nullptr ? *env_.shard_device : env_.device;
  if (!device.host_accessible()) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(Listen());
  session.host = std::make_unique<ShardHost>(
      ShardHost::Parts{
          env_.loop, env_.transport, device, peer_, header,
          [links = session.links.get()](WorkerId worker) { return links->Link(worker); },
          session.load, failed},
      ShardHost::Job{accept.job, options_.token, accept.workers,
                     static_cast<uint32_t>(accept.partition_sizes.size()), route,
                     accept.slice_length});
  return Status::Ok();
}

Status WorkerLife::Listen() {
  if (!address_.empty()) return Status::Ok();
  auto bound = env_.transport.Listen(options_.listen);
  if (!bound.ok()) return bound.status().WithContext("cannot accept other workers");
  address_ = std::move(bound).value();
  return Status::Ok();
}

void WorkerLife::OnShards(const wire::ControlT& control) {
  Status fine;
  if (session_->links == nullptr) return;
  if (const wire::ShardsT* shards = control.body.AsShards()) {
    fine = session_->links->SetShards(*shards);
  } else if (session_->host != nullptr) {
    const auto taken = session_->host->OnMessage(control);
    if (!taken.ok()) fine = taken.status();
  }
  if (!fine.ok()) Fail(std::move(fine));
}

Status WorkerLife::SetUp(const wire::AcceptT& accept) {
  MOTLEY_ASSIGN_OR_RETURN(
      auto shop, MakeWorkshop(env_.loop, env_.device, accept, options_.foreign,
                              alive_.Guard([this](const Device& device, const Status& why) {
                                OnDeviceLost(device, why);
                              })));
  MOTLEY_ASSIGN_OR_RETURN(const Route route,
                          Route::Parse(shop->trainer->parameter_count(), accept.shard_ends));
  auto session = std::make_unique<Session>(env_.loop, env_.transport);
  session->job = accept.job;
  session->places = accept.workers;
  session->shop = shop;
  session->parameters = std::make_unique<ParameterInbox>(route.Parameters(accept.slice_length));
  session->partitions = std::make_unique<PartitionInbox>(
      shop, PartitionInbox::Shape{accept.features, accept.classes, accept.sparse},
      alive_.Guard([this](const Status& why) { Fail(why.WithContext("cannot hold data")); }),
      options_.memory_bytes);
  const Header header{.job = accept.job, .incarnation = incarnation_};
  Executor::Parts parts{shop,
                        *session->parameters,
                        *session->partitions,
                        peer_,
                        header,
                        route.Answers(accept.slice_length)};
  if (accept.listen) {
    MOTLEY_RETURN_IF_ERROR(SetUpShards(accept, route, *session));
    parts.peer_of = [this, links = session->links.get()](uint32_t shard) {
      return links->remote() ? links->PeerOf(shard) : peer_;
    };
  }
  session->executor = std::make_unique<Executor>(env_, std::move(parts), [this](const Status& why) {
    Fail(GivenUp(env_.device.info(), "cannot compute", why));
  });
  session->executor->SetAnswerFilter(filter_);
  session_ = std::move(session);
  return Status::Ok();
}

}  // namespace motley
