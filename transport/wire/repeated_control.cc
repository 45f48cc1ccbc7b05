// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/repeated_control.h"

namespace motley {
namespace {

flatbuffers::Table& BodyOf(Bytes& bytes) {
  return *static_cast<flatbuffers::Table*>(wire::GetMutableControl(bytes.data())->mutable_body());
}

// Changes a field in place. Returns false if the encoder would leave out the old or the new value.
template <typename T>
bool Put(flatbuffers::Table& table, flatbuffers::voffset_t field, T value) {
  return table.CheckField(field) ? value != T{} && table.SetField<T>(field, value, T{})
                                 : value == T{};
}

bool PutAll(flatbuffers::Table& body, const wire::AnswerEndT& message) {
  using End = wire::AnswerEnd;
  return Put(body, End::VT_STEP, message.step) && Put(body, End::VT_ORDER, message.order) &&
         Put(body, End::VT_ENTRIES, message.entries) &&
         Put(body, End::VT_SAMPLES, message.samples) &&
         Put(body, End::VT_COMPUTE_NS, message.compute_ns) &&
         Put<uint8_t>(body, End::VT_FINISHED, message.finished) &&
         Put(body, End::VT_HELD_BYTES, message.held_bytes);
}

bool PutAll(flatbuffers::Table& body, const wire::ProgressT& message) {
  using Progress = wire::Progress;
  return Put(body, Progress::VT_STEP, message.step) &&
         Put(body, Progress::VT_ORDER, message.order) &&
         Put(body, Progress::VT_SAMPLES, message.samples) &&
         Put(body, Progress::VT_ENTRIES, message.entries) &&
         Put(body, Progress::VT_COMPUTE_NS, message.compute_ns) &&
         Put<uint8_t>(body, Progress::VT_READY, message.ready);
}

}  // namespace

void EncodeAgain(const wire::AnswerEndT& message, Bytes& bytes) {
  if (bytes.empty() || !PutAll(BodyOf(bytes), message)) bytes = EncodeControl(message);
}

void EncodeAgain(const wire::ProgressT& message, Bytes& bytes) {
  if (bytes.empty() || !PutAll(BodyOf(bytes), message)) bytes = EncodeControl(message);
}

}  // namespace motley
