// SPDX-License-Identifier: Apache-2.0
// Control messages as plain structs (FlatBuffers' object API) and their bytes. Pure; any thread.
//   Bytes bytes = EncodeControl(wire::PlaceT{...});
//   if (const wire::OrderT* order = decoded->body.AsOrder()) { ... }
//   switch (decoded->body.type) { case wire::Body::Join: ... }
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "control_generated.h"  // Made from control.fbs by the build.
#include "transport/wire/header.h"

namespace motley {

template <typename T>  // T: wire::JoinT, wire::OrderT, ...
Bytes EncodeControl(const T& message) {
  // Kept, since making one costs more than a message does.
  thread_local flatbuffers::FlatBufferBuilder builder;
  builder.Clear();
  const auto body = T::TableType::Pack(builder, &message).Union();
  builder.Finish(wire::CreateControl(builder, wire::BodyUnionTraits<T>::enum_value, body));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return Bytes(data, data + builder.GetSize());
}

// Gives an encoded Order, of ours, another number and step, and that version. False, with the bytes
// of no use any more, when they have no room: those of step 0 do not.
bool SetOrder(Bytes& message, StepId step, uint32_t order);

// Verifies before it reads (size, depth and table counts bounded). kDataError when the bytes are
// not a control message; an unknown member of the union decodes as type NONE.
Result<wire::ControlT> DecodeControl(BytesView bytes);

// The same in two parts, for messages so many that unpacking them all into memory of their own
// tells. What is verified is read in place, so its bytes stay; they are aligned as memory from the
// heap is (DecodeControl copies those that are not).
Result<const wire::Control*> VerifyControl(BytesView bytes);
Result<wire::ControlT> UnpackControl(const wire::Control& verified);

}  // namespace motley
