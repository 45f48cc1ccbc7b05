// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sum_direct.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "coding/gradient_code.h"
#include "coding/kernels/sketch.h"
#include "fmt/core.h"
#include "profiles/shard_shares.h"
#include "runtime/shard/step_sum.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

// 256 KiB. The last slice of a range is published when everything else has arrived, so a slow link
// is idle for about the time of a slice.
constexpr size_t kSlice = size_t{1} << 16;  // Floats.
constexpr double kBytesPerMegabit = 1e6 / 8;

template <typename T>
T Valid(Result<T> result) {
  if (!result.ok()) Die(result.status().ToString());
  return *std::move(result);
}

std::shared_ptr<const CodeForm> PlainSum(uint32_t workers) {
  CodeRequest request;
  request.speeds.assign(workers, 1);
  request.stragglers = 0;
  request.partitions = workers;
  return std::make_shared<const CodeForm>(Valid(BuildCode("none", request)));
}

}  // namespace

OwnedRanges RangesOf(size_t length, const std::vector<double>& shares) {
  const size_t pairs = VectorLength(length) / 2;
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  Rank last = 0;  // The last owner gets what rounding leaves.
  for (Rank rank = 0; rank < shares.size(); ++rank) {
    if (shares[rank] > 0) last = rank;
  }
  std::vector<uint64_t> ends;
  std::vector<Rank> owners;
  double before = 0;
  size_t begin = 0;
  for (Rank rank = 0; rank <= last; ++rank) {
    before += shares[rank];
    const auto part = static_cast<size_t>(std::llround(before / all * static_cast<double>(pairs)));
    const size_t end = rank == last ? pairs : std::clamp(part, begin, pairs);
    if (begin == end) continue;
    begin = end;
    ends.push_back(2 * end);
    owners.push_back(rank);
  }
  return {Valid(Route::Parse(length, ends)), std::move(owners)};
}

std::vector<double> SharesOver(const std::vector<double>& links, uint32_t spares, size_t length) {
  Exchange exchange;
  exchange.bytes = static_cast<double>(length) * sizeof(float);
  exchange.streams = true;
  for (size_t i = 0; i < links.size(); ++i) {
    const double rate = links[i] * kBytesPerMegabit;
    auto& nodes = i < links.size() - spares ? exchange.workers : exchange.servers;
    nodes.push_back({.up = rate, .down = rate});
  }
  return SharesFor(exchange);
}

// The sum of one range, formed in the vector. Slices are numbered from the range's first one.
class DirectSum::OwnRange {
 public:
  OwnRange(uint32_t shard, std::span<float> home, uint32_t workers)
      : shard_(shard),
        home_(home),
        form_(PlainSum(workers)),
        parallel_(MakeSerialParallelFor()),
        sum_(home.size(), kSlice, *parallel_, DecodeLimits(), spare_) {
    sum_.SetHome(home);
  }

  uint32_t shard() const { return shard_; }
  size_t count() const { return sum_.cut().count(); }

  void Open() {
    sum_.OpenRows(form_);
    begun_.assign(count(), false);
  }
  void MakeRoom(AlignedVector& values, size_t size) {
    if (const Status room = spare_.MakeRoom(values, size); !room.ok()) Die(room.ToString());
  }
  // True the first time. This member's own values are to be added then, because the sum will
  // overwrite them.
  bool Begin(size_t slice) {
    const bool first = !begun_[slice];
    begun_[slice] = true;
    return first;
  }
  AlignedVector CopyOf(size_t slice) {
    const std::span<const float> own =
        home_.subspan(sum_.cut().begin(slice), sum_.cut().size(slice));
    AlignedVector values;
    MakeRoom(values, own.size());
    std::copy(own.begin(), own.end(), values.begin());
    return values;
  }
  // True: the slice is summed.
  bool Add(Rank row, size_t slice, const Header& header, AlignedVector& values) {
    StreamDecoder& decoder = sum_.decoder();
    Valid(decoder.AddSlice(row, slice, values, Valid(ClaimOf(header)), header.tally));
    spare_.GiveBack(std::exchange(values, {}));
    return decoder.Decodable(slice);
  }

 private:
  const uint32_t shard_;
  const std::span<const float> home_;
  const std::shared_ptr<const CodeForm> form_;
  const std::unique_ptr<ParallelFor> parallel_;
  SpareSlices spare_;
  StepSum sum_;
  std::vector<bool> begun_;
};

DirectSum::DirectSum(Transport& transport, Receiver& others, const SumTask& task,
                     const Members& members, const std::vector<double>& shares,
                     std::span<float> vector)
    : transport_(transport),
      others_(others),
      workers_(task.workers),
      members_(members),
      vector_(vector),
      ranges_(RangesOf(task.length, shares)),
      answers_(ranges_.route.Answers(kSlice, WireFormat::kFloat32)),
      parameters_(ranges_.route.Parameters(kSlice, WireFormat::kFloat32)),
      arriving_(members.count()) {
  const Route& route = ranges_.route;
  for (uint32_t shard = 0; shard < route.shards(); ++shard) {
    if (ranges_.owners[shard] != rank()) continue;
    own_ = std::make_unique<OwnRange>(shard, vector.subspan(route.begin(shard), route.size(shard)),
                                      workers_);
  }
}

DirectSum::~DirectSum() = default;

template <typename Each>
void DirectSum::ForOthers(const Each& each) {
  for (uint32_t i = 1; i < members_.count(); ++i) each((rank() + i) % members_.count());
}

// --- The own values ---

void DirectSum::Open(uint64_t step) {
  now_ = {.step = step};
  if (own_ != nullptr) {
    own_->Open();
    now_.left = own_->count();
  }
  if (HasVector(rank())) now_.left = parameters_.count();
}

void DirectSum::Start(Function<void()> done) {
  now_.done = std::move(done);
  if (HasVector(rank())) Push();
  if (own_ != nullptr && HasVector(rank()) && workers_ == 1) {  // Nothing will come.
    for (size_t slice = 0; slice < own_->count(); ++slice) AddOwn(slice);
  }
  FinishIfDone();
}

// Sends each owner a slice in turn.
void DirectSum::Push() {
  std::vector<size_t> shard_of(members_.count(), ranges_.owners.size());
  for (size_t shard = 0; shard < ranges_.owners.size(); ++shard) {
    shard_of[ranges_.owners[shard]] = shard;
  }
  bool more = true;
  for (size_t index = 0; more; ++index) {
    more = false;
    ForOthers([&](Rank owner) {
      const size_t shard = shard_of[owner];
      if (shard == ranges_.owners.size()) return;
      const size_t slice = answers_.first_slice(shard) + index;
      if (slice >= answers_.first_slice(shard + 1)) return;
      more = true;
      SendSlice(owner, answers_, slice, Describe(slice));
    });
  }
}

void DirectSum::SendSlice(Rank to, const Slicing& cut, size_t slice, Header header) {
  header.step = now_.step;
  header.shard = static_cast<uint32_t>(cut.ShardOf(slice));
  header.offset = cut.begin(slice);
  header.total = cut.total();
  const BytesView bytes =
      AsBytes(std::span<const float>(vector_).subspan(header.offset, cut.size(slice)));
  ++now_.unsent;
  transport_.Send(members_.peers[to], header, {&bytes, 1}, Priority::kBulk, [this](const Status&) {
    --now_.unsent;
    FinishIfDone();
  });
}

Header DirectSum::Describe(size_t slice) const {
  Header header;
  header.kind = FrameKind::kGradient;
  header.step = now_.step;
  header.row = rank();
  header.offset = answers_.begin(slice);
  const Sketch sketch = SketchOf(vector_.subspan(header.offset, answers_.size(slice)),
                                 SignsAt(0, now_.step, header.offset));
  header.norm = std::sqrt(sketch.squares);
  header.sketch = sketch.projection;
  return header;
}

// --- Sums ---

void DirectSum::AddOwn(size_t slice) {
  if (!own_->Begin(slice)) return;
  AlignedVector values = own_->CopyOf(slice);
  Add(rank(), Describe(answers_.first_slice(own_->shard()) + slice), values);
}

void DirectSum::Add(Rank row, const Header& header, AlignedVector& values) {
  const size_t slice = answers_.At(header.offset) - answers_.first_slice(own_->shard());
  if (HasVector(rank())) AddOwn(slice);
  if (own_->Add(row, slice, header, values)) Publish(slice);
}

void DirectSum::Publish(size_t slice) {
  Header header;
  header.kind = FrameKind::kParameters;
  header.version = now_.step + 1;
  ForOthers([&](Rank to) {
    if (!HasVector(to)) return;
    SendSlice(to, parameters_, parameters_.first_slice(own_->shard()) + slice, header);
  });
  --now_.left;
  FinishIfDone();
}

void DirectSum::FinishIfDone() {
  if (now_.left > 0 || now_.unsent > 0 || !now_.done) return;
  std::exchange(now_.done, nullptr)();
}

// --- Messages ---

void DirectSum::OnConnected(PeerId peer, const PeerIdentity& identity) {
  others_.OnConnected(peer, identity);
}

std::span<std::byte> DirectSum::OnPayload(PeerId peer, const Header& header) {
  const bool answer = header.kind == FrameKind::kGradient;
  if (!answer && header.kind != FrameKind::kParameters) return others_.OnPayload(peer, header);
  const std::optional<Rank> from = members_.RankOf(peer);
  const Slicing& cut = answer ? answers_ : parameters_;
  const size_t slice = Valid(SliceOf(cut, header));
  if (!from || header.step != now_.step ||
      ranges_.owners[header.shard] != (answer ? rank() : *from)) {
    Die(fmt::format("a slice at {} of step {} came from the wrong member or in the wrong step",
                    header.offset, header.step));
  }
  if (!answer) {
    return std::as_writable_bytes(vector_.subspan(header.offset, cut.size(slice)));
  }
  AlignedVector& room = arriving_[*from];
  own_->MakeRoom(room, cut.size(slice));
  return std::as_writable_bytes(std::span(room));
}

void DirectSum::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  if (header.kind == FrameKind::kGradient) {
    const Rank from = *members_.RankOf(peer);
    return Add(from, header, arriving_[from]);
  }
  if (header.kind != FrameKind::kParameters) return others_.OnPayloadDone(peer, header, discarded);
  --now_.left;
  FinishIfDone();
}

void DirectSum::OnLost(PeerId peer, const Status& why) {
  if (now_.done) Die("a member was lost: " + why.ToString());
  others_.OnLost(peer, why);
}

}  // namespace motley
