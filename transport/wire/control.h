// SPDX-License-Identifier: Apache-2.0
// Control messages as plain structs (FlatBuffers' object API) and their bytes. Pure; any thread.
//   Bytes bytes = EncodeControl(wire::PlaceT{...});
//   if (const wire::OrderT* order = decoded->body.AsOrder()) { ... }
//   switch (decoded->body.type) { case wire::Body::Join: ... }
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "base/thread_owned.h"
#include "control_generated.h"  // Made from control.fbs by the build.
#include "transport/wire/header.h"

namespace motley {

template <typename T>  // T: wire::JoinT, wire::OrderT, ...
Bytes EncodeControl(const T& message) {
  // The builder is kept, since making one costs more than packing a message.
  auto& builder = ThreadOwned<flatbuffers::FlatBufferBuilder>();
  builder.Clear();
  const auto body = T::TableType::Pack(builder, &message).Union();
  builder.Finish(wire::CreateControl(builder, wire::BodyUnionTraits<T>::enum_value, body));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return Bytes(data, data + builder.GetSize());
}

// Changes the number, the step, the version, the attempt and `ahead` of an encoded Order that this
// process made. Returns false if the encoding has no room for them: default values are left out,
// such as step 0. The bytes are then useless.
bool SetOrder(Bytes& message, const Update& update, uint32_t order, uint32_t attempt,
              bool ahead = false);

// Verifies before it reads; size, depth and table counts are bounded. kDataError when the bytes are
// not a control message. An unknown member of the union decodes as type NONE.
Result<wire::ControlT> DecodeControl(BytesView bytes);

// DecodeControl in two parts, for senders of so many messages that unpacking them all costs time.
// The verified message is read in place, so its bytes must stay, and must be aligned like heap
// memory (DecodeControl copies those that are not).
Result<const wire::Control*> VerifyControl(BytesView bytes);
Result<wire::ControlT> UnpackControl(const wire::Control& verified);

}  // namespace motley
