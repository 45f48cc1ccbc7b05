// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "coding/form_bytes.h"
#include "runtime/links/messages.h"
#include "tests/fuzz/holds_together.h"
#include "tests/fuzz/target.h"
#include "transport/wire/control.h"
#include "transport/wire/frame_reader.h"

namespace motley::fuzz {
namespace {

BytesView View(std::string_view input) { return std::as_bytes(std::span(input)); }

// Checks that the reader's calls are in order, and accepts every second payload.
class CheckingSink final : public FrameReader::Sink {
 public:
  std::span<std::byte> OnPayload(const Header& header) override {
    MOTLEY_ASSERT(!open_ && header.length > 0 && header.length <= MaxPayload(header.kind));
    open_ = true;
    gave_ = ++payloads_ % 2 == 0;
    if (!gave_) return {};
    room_.assign(header.length, std::byte{0});
    return room_;
  }
  void OnPayloadDone(const Header& header, bool discarded) override {
    MOTLEY_ASSERT(open_ == (header.length > 0));
    MOTLEY_ASSERT(header.length == 0 || discarded != gave_);
    open_ = false;
  }

 private:
  bool open_ = false;
  bool gave_ = false;
  size_t payloads_ = 0;
  Bytes room_;
};

// Sets checksums right, because mutations would hardly ever get past them.
Bytes WithChecksums(BytesView input) {
  Bytes bytes(input.begin(), input.end());
  const auto hash = [](std::span<std::byte> part) {
    return static_cast<uint64_t>(XXH3_64bits(part.data(), part.size()));
  };
  constexpr size_t kPayloadHash = kHeaderSize - 16, kHeaderHash = kHeaderSize - 8;
  constexpr size_t kLength = kHeaderSize - 24;
  std::span<std::byte> rest(bytes);
  while (rest.size() >= kHeaderSize) {
    uint32_t length = 0;
    std::memcpy(&length, rest.data() + kLength, sizeof length);
    const size_t payload = std::min<size_t>(length, rest.size() - kHeaderSize);
    const uint64_t of_payload = hash(rest.subspan(kHeaderSize, payload));
    std::memcpy(rest.data() + kPayloadHash, &of_payload, sizeof of_payload);
    const uint64_t of_header = hash(rest.first(kHeaderHash));
    std::memcpy(rest.data() + kHeaderHash, &of_header, sizeof of_header);
    rest = rest.subspan(kHeaderSize + payload);
  }
  return bytes;
}

// The lists of partitions in messages about leases and data.
std::vector<const std::vector<uint32_t>*> ListsOf(const wire::ControlT& control) {
  std::vector<const std::vector<uint32_t>*> lists;
  if (const auto* revoke = control.body.AsRevoke()) lists.push_back(&revoke->partitions);
  if (const auto* released = control.body.AsReleased()) lists.push_back(&released->partitions);
  if (const auto* came = control.body.AsDataCame()) lists.push_back(&came->partitions);
  return lists;
}

}  // namespace

// The first byte chooses the size of the pieces in which bytes arrive, and whether checksums are
// set right.
void Frames(std::string_view input) {
  if (input.empty()) return;
  const auto mode = static_cast<unsigned char>(input[0]);
  const size_t most = size_t{1} << (mode % 16);
  const BytesView raw = View(input.substr(1));
  const Bytes bytes = mode >= 128 ? WithChecksums(raw) : Bytes(raw.begin(), raw.end());
  CheckingSink sink;
  FrameReader reader(sink);
  for (BytesView rest(bytes); !rest.empty();) {
    const std::span<std::byte> room = reader.Room();
    MOTLEY_ASSERT(!room.empty());
    const size_t count = std::min({most, room.size(), rest.size()});
    std::copy_n(rest.begin(), count, room.begin());
    rest = rest.subspan(count);
    if (!reader.Advance(count).ok()) return;
  }
}

void Control(std::string_view input) {
  constexpr uint32_t kPartitions = 64;
  const auto control = DecodeControl(View(input));
  if (!control.ok()) return;
  for (const std::vector<uint32_t>* list : ListsOf(*control)) {
    if (!CheckPartitions(*list, kPartitions).ok()) continue;
    MOTLEY_ASSERT(list->size() <= kPartitions);
    for (const uint32_t partition : *list) MOTLEY_ASSERT(partition < kPartitions);
  }
  if (const wire::OrderT* order = control->body.AsOrder()) {
    const auto terms = TermsOf(*order, kPartitions);
    if (terms.ok()) {
      MOTLEY_ASSERT(!order->keep || terms->size() == 1);
      for (const PartitionTerm& term : *terms) {
        MOTLEY_ASSERT(term.begin < term.end && term.end <= kPartitions);
        MOTLEY_ASSERT(term.other_parts.size() + 1 == order->parts);
      }
    }
  }
  if (const wire::ErrorT* error = control->body.AsError()) {
    MOTLEY_ASSERT(!StatusOf(*error).ok());
  }
}

// The first byte chooses the shape of the job's data.
void Block(std::string_view input) {
  if (input.empty()) return;
  const auto shape = static_cast<unsigned char>(input[0]);
  const uint32_t features = 1 + shape % 8;
  const uint32_t classes = shape / 8 % 8;
  const bool sparse = shape >= 128;
  const auto block = DecodeBlock(View(input.substr(1)), features, classes, sparse);
  if (!block.ok()) return;
  ExpectHoldsTogether(*block);
  MOTLEY_ASSERT(block->features == features && block->classes == classes);
  const Bytes again = EncodeBlock(*block, 0, block->rows());
  MOTLEY_ASSERT(again.size() + 1 == input.size());
  MOTLEY_ASSERT(std::memcmp(again.data(), input.data() + 1, again.size()) == 0);
}

// A code for four partitions.
void Code(std::string_view input) {
  constexpr uint32_t kPartitions = 4;
  const auto form = DecodeForm(View(input), kPartitions);
  if (!form.ok()) return;
  MOTLEY_ASSERT(Validate(*form).ok() && form->partitions == kPartitions);
  const Bytes bytes = EncodeForm(*form);
  const auto again = DecodeForm(bytes, kPartitions);
  MOTLEY_ASSERT(again.ok() && EncodeForm(*again) == bytes);
}

}  // namespace motley::fuzz
