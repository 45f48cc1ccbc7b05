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
#include "coding/kernels/wire_floats.h"
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
      answers_(ranges_.route.Answers(kSlice, task.wire)),
      parameters_(ranges_.route.Parameters(kSlice, task.wire)),
      arriving_(members.count()) {
  const Route& route = ranges_.route;
  for (uint32_t shard = 0; shard < route.shards(); ++shard) {
    if (ranges_.owners[shard] != rank()) continue;
    own_ = std::make_unique<OwnRange>(shard, vector.subspan(route.begin(shard), route.size(shard)),
                                      workers_);
  }
  if (task.wire == WireFormat::kFloat32) return;
  packed_.resize(answers_.count() * WireBytes(task.wire, kSlice));
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
      const BytesView bytes = PackAnswer(slice);
      SendSlice(owner, answers_, slice, bytes, Describe(slice));
    });
  }
}

BytesView DirectSum::Pack(const Slicing& cut, size_t slice, Random::Philox draws) {
  const std::span<float> values = vector_.subspan(cut.begin(slice), cut.size(slice));
  if (packed_.empty()) return AsBytes(std::span<const float>(values));
  const std::span<std::byte> to =
      std::span(packed_).subspan(slice * WireBytes(cut.format(), cut.length()), cut.bytes(slice));
  PackFloats(cut.format(), values, draws, to, values.data());
  return to;
}

BytesView DirectSum::PackAnswer(size_t slice) {
  return Pack(answers_, slice, DrawsOfAnswer(0, now_.step, rank(), answers_.begin(slice)));
}

void DirectSum::SendSlice(Rank to, const Slicing& cut, size_t slice, BytesView bytes,
                          Header header) {
  header.step = now_.step;
  header.format = cut.format();
  header.shard = static_cast<uint32_t>(cut.ShardOf(slice));
  header.offset = cut.begin(slice);
  header.total = cut.total();
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
  const size_t answer = answers_.first_slice(own_->shard()) + slice;
  PackAnswer(answer);  // Own values are rounded as those of others.
  AlignedVector values = own_->CopyOf(slice);
  Add(rank(), Describe(answer), values);
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
  const size_t sum = parameters_.first_slice(own_->shard()) + slice;
  const BytesView bytes =
      Pack(parameters_, sum, DrawsOfParameters(0, header.version, parameters_.begin(sum)));
  ForOthers([&](Rank to) {
    if (HasVector(to)) SendSlice(to, parameters_, sum, bytes, header);
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
  Arriving& room = arriving_[*from];
  if (const Status begun = room.packed.Begin(header); !begun.ok()) Die(begun.ToString());
  if (!answer) return room.packed.Room(vector_.subspan(header.offset, cut.size(slice)));
  own_->MakeRoom(room.values, cut.size(slice));
  return room.packed.Room(room.values);
}

void DirectSum::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  const bool answer = header.kind == FrameKind::kGradient;
  if (!answer && header.kind != FrameKind::kParameters) {
    return others_.OnPayloadDone(peer, header, discarded);
  }
  const Rank from = *members_.RankOf(peer);
  Arriving& came = arriving_[from];
  const std::span<float> values =
      answer ? std::span<float>(came.values)
             : vector_.subspan(header.offset, parameters_.size(parameters_.At(header.offset)));
  if (const Status fine = came.packed.Finish(values); !fine.ok()) Die(fine.ToString());
  if (answer) return Add(from, header, came.values);
  --now_.left;
  FinishIfDone();
}

void DirectSum::OnLost(PeerId peer, const Status& why) {
  if (now_.done) Die("a member was lost: " + why.ToString());
  others_.OnLost(peer, why);
}

}  // namespace motley
