// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/control.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/assert.h"
#include "transport/wire/header.h"

namespace motley {
namespace {

// A control message is a table, its body, and vectors of scalars, structs, strings or tables
// without tables of their own (ShardLog). The verifier's defaults (64 deep, a million tables) would
// let far more through.
constexpr flatbuffers::uoffset_t kMaxDepth = 4;
constexpr flatbuffers::uoffset_t kFewTables = 16;
constexpr size_t kLeastTable = 8;  // Bytes: its offset in the vector, and that of its fields' list.

flatbuffers::uoffset_t MostTables(BytesView bytes) {
  return kFewTables + static_cast<flatbuffers::uoffset_t>(bytes.size() / kLeastTable);
}

// The verifier checks the alignment of a vector's length but not that of its elements.
bool Misaligned(const wire::Control& control) {
  const wire::Order* order = control.body_as_Order();
  if (order == nullptr || order->terms() == nullptr) return false;
  return reinterpret_cast<uintptr_t>(order->terms()->Data()) % alignof(wire::Term) != 0;
}

bool Aligned(BytesView bytes) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % alignof(std::max_align_t) == 0;
}

}  // namespace

bool SetOrder(Bytes& message, const Update& update, uint32_t order, uint32_t attempt, bool ahead) {
  void* body = wire::GetMutableControl(message.data())->mutable_body();
  auto* encoded = static_cast<wire::Order*>(body);
  return encoded->mutate_step(update.id) && encoded->mutate_version(update.base_version) &&
         encoded->mutate_order(order) && encoded->mutate_attempt(attempt) &&
         encoded->mutate_ahead(ahead);
}

Result<const wire::Control*> VerifyControl(BytesView bytes) {
  if (bytes.size() > kMaxControlBytes) {
    return Status::DataError(
        fmt::format("a control message of {} bytes is too long: at most {} are allowed",
                    bytes.size(), kMaxControlBytes));
  }
  MOTLEY_ASSERT(Aligned(bytes));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                 kMaxDepth, MostTables(bytes));
  if (!wire::VerifyControlBuffer(verifier) || Misaligned(*wire::GetControl(bytes.data()))) {
    return Status::DataError(
        fmt::format("{} bytes received as a control message are malformed", bytes.size()));
  }
  return wire::GetControl(bytes.data());
}

Result<wire::ControlT> UnpackControl(const wire::Control& verified) {
  wire::ControlT control;
  verified.UnPackTo(&control);
  if (control.body.value == nullptr) {
    if (control.body.type > wire::Body::NONE && control.body.type <= wire::Body::MAX) {
      return Status::DataError(fmt::format("a control message of type {} has no body",
                                           wire::EnumNameBody(control.body.type)));
    }
    control.body.type = wire::Body::NONE;  // Only newer peers know this member.
  }
  return control;
}

Result<wire::ControlT> DecodeControl(BytesView bytes) {
  // FlatBuffers reads scalars in place, so they must be aligned.
  const bool copied = !Aligned(bytes) && bytes.size() <= kMaxControlBytes;
  const Bytes aligned = copied ? Bytes(bytes.begin(), bytes.end()) : Bytes();
  MOTLEY_ASSIGN_OR_RETURN(const wire::Control* verified, VerifyControl(copied ? aligned : bytes));
  return UnpackControl(*verified);
}

}  // namespace motley
