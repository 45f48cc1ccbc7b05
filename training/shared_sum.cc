// SPDX-License-Identifier: Apache-2.0
#include "training/shared_sum.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

// A device that is too slow to help is tried again with a few samples, less and less often.
constexpr uint32_t kMostPatience = 4096;
constexpr uint64_t kTrySamples = 8;
constexpr double kTryCost = 1.0 / 16;  // Of the time meanwhile, at most.
constexpr size_t kAddGrain = 1 << 14;  // Floats.

bool Ready(const CrewPart& part) { return !part.lost && !part.measuring; }

double SpeedOf(const CrewPart& part) { return Ready(part) ? part.speed.samples_per_second() : 0; }

double SpeedOfAll(const Crew& crew) {
  double all = 0;
  for (const CrewPart& part : crew.parts) all += SpeedOf(part);
  return all;
}

}  // namespace

size_t Crew::Live() const {
  return static_cast<size_t>(
      std::count_if(parts.begin(), parts.end(), [](const CrewPart& part) { return !part.lost; }));
}

void Crew::Lose(CrewPart& part, const Status& why) {
  if (part.lost) return;
  part.lost = true;
  failure = why;
  if (Live() > 0) lost_device(*part.device, why);
}

SharedSum::SharedSum(std::shared_ptr<Crew> crew, const GradientWork& work, uint64_t epoch,
                     std::vector<MergedTerm> terms, std::shared_ptr<std::atomic<bool>> cancel,
                     Trainer::Done done)
    : crew_(std::move(crew)),
      epoch_(epoch),
      parameters_{work.parameters, work.version},
      sum_(work.sum),
      progress_(work.progress),
      cancel_(std::move(cancel)),
      done_(std::move(done)),
      work_(std::move(terms)) {}

void SharedSum::Queue(const std::shared_ptr<SharedSum>& sum) {
  const std::shared_ptr<SharedSum> before = sum->crew_->last.lock();
  sum->crew_->last = sum;
  if (before != nullptr && !before->finished_) {
    before->next_ = sum;
    return;
  }
  // Never inside the call: its caller may not be ready for the end.
  sum->crew_->loop.Post([sum] { sum->Start(); });
}

void SharedSum::Start() {
  started_ = crew_->loop.Now();
  for (CrewPart& part : crew_->parts) {
    part.busy = part.open = false;
    part.taken.clear();
    part.samples = 0;
    part.spent = {};
    if (Ready(part) && part.idle > part.patience) TryAgain(part);
  }
  Continue();
}

void SharedSum::TryAgain(CrewPart& part) {
  if (work_.left() <= 2 * kTrySamples) return;
  const double times = kTrySamples / SpeedOf(part) * SpeedOfAll(*crew_) /
                       static_cast<double>(work_.samples());  // As long as a gradient takes.
  const bool bearable = times < kTryCost * part.patience;
  part.idle = 0;
  part.patience = std::min(2 * part.patience, kMostPatience);
  if (bearable) Submit(part, work_.Take(kTrySamples));
}

void SharedSum::Continue() {
  const bool ends = *cancel_ || crew_->Live() == 0;
  if (!ends) Deal();
  const auto& parts = crew_->parts;
  if (std::any_of(parts.begin(), parts.end(), [](const CrewPart& p) { return p.busy; })) return;
  if (!ends) return AddAll();
  Finish(*cancel_ ? Status::Cancelled("the gradient was no longer wanted") : crew_->failure);
}

// Work for everybody who is free, unless the others had better do it.
void SharedSum::Deal() {
  auto& parts = crew_->parts;
  // When nobody else is left, work may as well wait for those that are being measured.
  if (std::none_of(parts.begin(), parts.end(), Ready)) {
    for (CrewPart& part : parts) part.measuring = false;
  }
  const double all = SpeedOfAll(*crew_);
  const CrewPart* fastest = nullptr;
  for (const CrewPart& part : parts) {
    if (Ready(part) && (fastest == nullptr || SpeedOf(part) > SpeedOf(*fastest))) fastest = &part;
  }
  for (CrewPart& part : parts) {
    if (!Ready(part) || part.busy) continue;
    // What is not known yet counts as equal to all that is.
    const double speed = SpeedOf(part);
    const double share = speed > 0 ? speed / all : 1.0 / static_cast<double>(crew_->Live());
    const uint64_t count = NextPiece(work_.left(), work_.samples(), share, &part == fastest);
    if (count > 0) {
      Submit(part, work_.Take(count));
    } else if (part.open) {
      Submit(part, {});
    }
  }
}

// An empty piece takes the sum off the device; so does the last one.
void SharedSum::Submit(CrewPart& part, const SharedWork::Piece& piece) {
  const bool plain = work_.plain();
  const Moves moves = {.first = part.taken.empty(),
                       .opens = plain && !part.open,
                       .closes = plain && (work_.left() == 0 || piece.samples() == 0)};
  part.busy = true;
  part.open = plain && !moves.closes;
  std::vector<MergedTerm> terms;
  if (piece.samples() > 0) {
    part.taken.push_back(piece);
    terms = work_.Terms(piece);
  }
  part.device->Submit(
      static_cast<double>(piece.samples()),
      [self = shared_from_this(), worker = part.worker, own = part.sum, terms = std::move(terms),
       moves] { return self->Compute(*worker, *own, terms, moves); },
      [self = shared_from_this(), &part, piece, began = crew_->loop.Now()](const Status& status) {
        self->OnPiece(part, piece, began, status);
      });
}

Status SharedSum::Compute(TermWorker& worker, std::vector<float>& own,
                          std::span<const MergedTerm> terms, const Moves& moves) const {
  const bool alone = crew_->parts.size() == 1;
  if (moves.first && !alone) own.assign(sum_.size(), 0.0f);
  const std::span<float> sum = alone ? sum_ : std::span<float>(own);
  if (!work_.plain()) return worker.Add(epoch_, terms, parameters_, *cancel_, sum);
  if (moves.opens) MOTLEY_RETURN_IF_ERROR(worker.Begin(parameters_, sum));
  MOTLEY_RETURN_IF_ERROR(worker.AddPlain(epoch_, terms, *cancel_));
  return moves.closes ? worker.Finish(sum) : Status::Ok();
}

void SharedSum::OnPiece(CrewPart& part, const SharedWork::Piece& piece, Time began,
                        const Status& status) {
  part.busy = false;
  part.spent += crew_->loop.Now() - began;
  if (status.ok() && !part.lost) {
    part.samples += piece.samples();
    summed_ += piece.samples();
    if (progress_ && piece.samples() > 0 && summed_ < work_.samples()) progress_(summed_);
  } else if (!*cancel_) {
    summed_ -= part.samples;
    part.open = false;
    work_.GiveBack(part.taken);
    part.taken.clear();
    crew_->Lose(part, status);
  }
  Continue();
}

void SharedSum::AddAll() {
  if (crew_->parts.size() == 1) return End(Status::Ok());
  std::vector<std::shared_ptr<const std::vector<float>>> vectors;
  for (const CrewPart& part : crew_->parts) {
    if (!part.taken.empty()) vectors.push_back(part.sum);
  }
  auto add = [self = shared_from_this(), vectors = std::move(vectors)] {
    const std::span<float> sum = self->sum_;
    self->crew_->host.parallel().For(sum.size(), kAddGrain, [&](size_t begin, size_t end) {
      for (const auto& vector : vectors) {
        for (size_t i = begin; i < end; ++i) sum[i] += (*vector)[i];
      }
    });
    return Status::Ok();
  };
  crew_->host.Submit(0, std::move(add),
                     [self = shared_from_this()](const Status& status) { self->End(status); });
}

void SharedSum::End(const Status& status) {
  if (status.ok()) Learn();
  Finish(status);
}

void SharedSum::Learn() {
  for (CrewPart& part : crew_->parts) {
    part.speed.Add(part.samples, part.spent);
    if (part.samples > kTrySamples) {
      part.idle = 0;
      part.patience = CrewPart::kPatience;
    } else {
      ++part.idle;
    }
  }
}

void SharedSum::Finish(Status status) {
  finished_ = true;
  if (next_ != nullptr) {
    crew_->loop.Post([next = std::exchange(next_, nullptr)] { next->Start(); });
  }
  if (!status.ok()) return done_(std::move(status));
  done_(Trainer::Outcome{.samples = summed_, .compute = crew_->loop.Now() - started_});
}

}  // namespace motley
