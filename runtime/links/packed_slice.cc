// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/packed_slice.h"

#include <algorithm>
#include <limits>

#include "base/signs.h"
#include "coding/kernels/wire_floats.h"
#include "runtime/memory_need.h"

namespace motley {
namespace {

enum class Of : uint64_t { kAnswer = 1, kParameters = 2 };

Random::Philox DrawsOf(uint64_t seed, Of kind, uint64_t step, uint64_t name, uint64_t offset) {
  const uint64_t within = MixedSeed(MixedSeed(static_cast<uint64_t>(kind)) + step) + name;
  return Random(seed, Stream::kRounding, within, offset).philox();
}

}  // namespace

Random::Philox DrawsOfAnswer(uint64_t seed, StepId step, uint64_t answer, uint64_t offset) {
  return DrawsOf(seed, Of::kAnswer, step, answer, offset);
}

Random::Philox DrawsOfParameters(uint64_t seed, uint64_t version, uint64_t offset) {
  return DrawsOf(seed, Of::kParameters, version, 0, offset);
}

Status PackedSlice::Begin(const Header& header) {
  format_ = header.format;
  if (format_ == WireFormat::kFloat32) return Status::Ok();
  return OrNoMemory("a slice that arrives", [&] {
    packed_.resize(header.length);
    return Status::Ok();
  });
}

std::span<std::byte> PackedSlice::Room(std::span<float> values) {
  if (format_ == WireFormat::kFloat32) return std::as_writable_bytes(values);
  return packed_;
}

Status PackedSlice::Finish(std::span<float> values) const {
  if (format_ == WireFormat::kFloat32) return Status::Ok();
  Status fine = UnpackFloats(format_, packed_, values);
  if (!fine.ok()) {
    std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
  }
  return fine;
}

}  // namespace motley
