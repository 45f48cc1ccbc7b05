// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/probe_stream.h"

#include <utility>

namespace motley {

struct ProbeStream::State {
  Transport* transport;
  PeerId peer;
  std::shared_ptr<const Bytes> slice;
  Header header;
  StreamRules rules;  // `most` falls with each slice.
  bool on = false;
  int under_way = 0;
};

ProbeStream::ProbeStream(Transport& transport, PeerId peer, std::shared_ptr<const Bytes> slice,
                         Header header, StreamRules rules)
    : state_(std::make_shared<State>(State{&transport, peer, std::move(slice), header, rules})) {
  state_->header.kind = rules.kind;
}

ProbeStream::~ProbeStream() { state_->on = false; }

void ProbeStream::Set(bool on) {
  state_->on = on;
  Fill(state_);
}

void ProbeStream::Fill(const std::shared_ptr<State>& state) {
  const BytesView piece(*state->slice);
  while (state->on && state->under_way < state->rules.under_way && state->rules.most > 0) {
    --state->rules.most;
    ++state->under_way;
    state->transport->Send(state->peer, state->header, {&piece, 1}, Priority::kBulk,
                           [state](const Status& sent) {
                             --state->under_way;
                             if (sent.ok()) Fill(state);
                           });
  }
}

}  // namespace motley
