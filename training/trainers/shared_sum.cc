// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/shared_sum.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

// A device that is too slow to help is tried again with a few samples, more and more rarely.
constexpr uint32_t kMostRetryAfter = 4096;
constexpr uint64_t kTrySamples = 8;
constexpr double kTryCost = 1.0 / 16;  // Most of the time that trials may take.
constexpr size_t kAddGrain = 1 << 14;  // Floats per chunk.

// A piece is late after so many times its expected duration, and at least that long. A machine that
// is busy with something else for a while is no reason to repeat work.
constexpr double kLateTimes = 8;
constexpr double kLateSeconds = 1;

bool Ready(const CrewPart& part) { return !part.lost && !part.measuring && !part.late; }

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

SharedSum::SharedSum(std::shared_ptr<Crew> crew, GradientWork work, std::vector<MergedTerm> terms,
                     std::shared_ptr<std::atomic<bool>> cancel, Trainer::Done done)
    : crew_(std::move(crew)),
      step_(work.step),
      parameters_{work.parameters, work.version},
      sum_(work.sum),
      more_(work.more),
      continues_(work.continues),
      progress_(std::move(work.progress)),
      final_(std::move(work.final)),
      cancel_(std::move(cancel)),
      done_(std::move(done)),
      work_(std::move(terms), crew_->model) {}

void SharedSum::Queue(const std::shared_ptr<SharedSum>& sum) {
  const std::shared_ptr<SharedSum> before = sum->crew_->last.lock();
  sum->crew_->last = sum;
  if (before != nullptr && !before->finished_) {
    before->next_ = sum;
    return;
  }
  // Starts outside this call, because the caller may not be ready for `done`.
  sum->crew_->loop.Post([sum] { sum->Start(); });
}

void SharedSum::Start() {
  started_ = crew_->loop.Now();
  crew_->running = weak_from_this();
  const float* const kept = std::exchange(crew_->kept, nullptr);
  if (continues_ && kept != sum_.data()) {
    failure_ = Status::Internal("a sum that was kept on a device was dropped for another one");
  }
  for (CrewPart& part : crew_->parts) {
    part.busy = false;
    part.taken.clear();
    part.samples = 0;
    part.spent = {};
    part.open = continues_;
    if (Ready(part) && part.idle > part.retry_after) TryAgain(part);
  }
  Continue();
}

void SharedSum::TryAgain(CrewPart& part) {
  if (work_.left() <= 2 * kTrySamples) return;
  const double times = kTrySamples / SpeedOf(part) * SpeedOfAll(*crew_) /
                       static_cast<double>(work_.samples());  // One gradient's duration.
  const bool bearable = times < kTryCost * part.retry_after;
  part.idle = 0;
  part.retry_after = std::min(2 * part.retry_after, kMostRetryAfter);
  if (bearable) Submit(part, work_.Take(kTrySamples));
}

void SharedSum::Continue() {
  if (adding_ || finished_) return;
  const bool ends = *cancel_ || !failure_.ok() || crew_->Live() == 0;
  if (!ends) Deal();
  const auto& parts = crew_->parts;
  if (std::any_of(parts.begin(), parts.end(), [](const CrewPart& p) { return p.busy; })) {
    return Watch();
  }
  if (!ends) {
    return work_.left() == 0 ? AddAll() : WaitForLate();
  }
  if (*cancel_) return Finish(Status::Cancelled("the gradient was no longer wanted"));
  Finish(failure_.ok() ? crew_->failure : failure_);
}

// Waits for late devices, whose pieces may be of earlier gradients. The next one that returns goes
// on from here.
void SharedSum::WaitForLate() {
  for (const CrewPart& part : crew_->parts) {
    const auto piece = part.late ? part.dealt.lock() : nullptr;
    if (piece != nullptr) piece->waiting = shared_from_this();
  }
}

// A single device adds to the gradient directly, and no other could repeat its work.
void SharedSum::Watch() {
  StopWatching();
  const auto& parts = crew_->parts;
  const bool others = std::any_of(parts.begin(), parts.end(),
                                  [](const CrewPart& p) { return Ready(p) && !p.busy; });
  if (!others) return;
  Time due = Time::max();
  for (const CrewPart& part : parts) {
    if (part.busy) due = std::min(due, part.due);
  }
  timer_ = crew_->loop.After(std::max(Duration::zero(), due - crew_->loop.Now()),
                             [weak = weak_from_this()] {
                               if (const auto self = weak.lock()) self->Look();
                             });
}

void SharedSum::Look() {
  timer_ = 0;
  const Time now = crew_->loop.Now();
  for (CrewPart& part : crew_->parts) {
    if (!part.busy || now < part.due) continue;
    part.busy = false;
    part.late = true;
    Drop(part);
  }
  Continue();
}

void SharedSum::StopWatching() {
  if (timer_ != 0) crew_->loop.Cancel(std::exchange(timer_, 0));
}

void SharedSum::Drop(CrewPart& part) {
  summed_ -= part.samples;
  part.samples = 0;
  part.spent = {};
  part.open = false;
  work_.GiveBack(part.taken);
  part.taken.clear();
}

// Gives work to every free device, unless the others should do it.
void SharedSum::Deal() {
  auto& parts = crew_->parts;
  // If only devices that are being measured remain, the work waits for them.
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
    // A device of unknown speed gets an equal share.
    const double speed = SpeedOf(part);
    const double share = speed > 0 ? speed / all : 1.0 / static_cast<double>(crew_->Live());
    const uint64_t count = NextPiece(work_.left(), work_.samples(), share, &part == fastest);
    if (count > 0) {
      Submit(part, work_.Take(count));
    } else if (part.open && !more_) {
      Submit(part, {});
    }
  }
}

// The limit includes copying sums back, which no speed in samples covers.
Duration SharedSum::Limit(const CrewPart& part, const SharedWork::Piece& piece) {
  const double speed = SpeedOf(part);
  const double usual = speed > 0 ? static_cast<double>(piece.samples()) / speed : 0;
  const double longest = std::max(usual, ToSeconds(part.longest));
  return FromSeconds(std::max(kLateSeconds, kLateTimes * longest));
}

// An empty piece copies the sum back; so does the last piece.
void SharedSum::Submit(CrewPart& part, const SharedWork::Piece& piece) {
  const bool stays = work_.one_sum();
  const Moves moves = {.first = part.taken.empty(),
                       .opens = stays && !part.open,
                       .closes = stays && !more_ && (work_.left() == 0 || piece.samples() == 0)};
  part.busy = true;
  part.due = crew_->loop.Now() + Limit(part, piece);
  part.open = stays && !moves.closes;
  std::vector<MergedTerm> terms;
  if (piece.samples() > 0) {
    part.taken.push_back(piece);
    terms = work_.Terms(piece);
  }
  const auto end = std::make_shared<DealtPiece>(piece, crew_->loop.Now());
  part.dealt = end;
  part.device->Submit(
      static_cast<double>(piece.samples()),
      [self = shared_from_this(), worker = part.worker, own = part.sum, terms = std::move(terms),
       moves, end] {
        const Status status = self->Compute(*worker, *own, terms, moves);
        end->samples_failed = !status.ok() && worker->samples_failed();
        return status;
      },
      [self = shared_from_this(), &part, end](const Status& status) {
        self->OnPiece(part, *end, status);
      });
}

Status SharedSum::Compute(TermWorker& worker, PartSum& own, std::span<const MergedTerm> terms,
                          const Moves& moves) {
  const bool alone = crew_->parts.size() == 1;
  if (moves.first && !alone) {
    own.values.assign(sum_.size(), 0.0f);
    own.tally = Tally();
  }
  const std::span<float> sum = alone ? sum_ : std::span<float>(own.values);
  Tally& tally = alone ? tally_ : own.tally;
  if (!work_.one_sum()) return worker.Add(step_, terms, parameters_, *cancel_, sum, tally);
  if (moves.opens) MOTLEY_RETURN_IF_ERROR(worker.Begin(parameters_, sum));
  TermWorker::Final final;
  if (alone && moves.closes && final_) {
    Device& device = *crew_->parts.front().device;
    final = [&device, self = shared_from_this()](size_t begin, size_t end, const Tally& of_all) {
      device.PostFromWork([self, begin, end, of_all] { self->final_(begin, end, of_all); });
    };
  }
  MOTLEY_RETURN_IF_ERROR(worker.AddWeights(step_, terms, *cancel_, final));
  return moves.closes ? worker.Finish(tally, final) : Status::Ok();
}

void SharedSum::OnPiece(CrewPart& part, const DealtPiece& end, const Status& status) {
  const Duration taken = crew_->loop.Now() - end.began;
  part.longest = std::max(taken, part.longest - part.longest / 8);
  if (part.late) return OnLatePiece(part, end, status);
  part.busy = false;
  part.spent += taken;
  if (status.ok() && !part.lost) {
    part.samples += end.piece.samples();
    summed_ += end.piece.samples();
    if (progress_ && end.piece.samples() > 0 && summed_ < work_.samples()) progress_(summed_);
  } else if (end.samples_failed) {
    failure_ = status;
  } else if (!*cancel_ || status.code() != StatusCode::kCancelled) {
    Drop(part);
    crew_->Lose(part, status);
  }
  Continue();
}

void SharedSum::OnLatePiece(CrewPart& part, const DealtPiece& end, const Status& status) {
  part.late = false;
  if (status.ok()) {
    part.speed.Add(end.piece.samples(), crew_->loop.Now() - end.began);
  } else if (!end.samples_failed && status.code() != StatusCode::kCancelled) {
    crew_->Lose(part, status);
  }
  if (const auto running = crew_->running.lock()) running->Continue();
}

void SharedSum::AddAll() {
  adding_ = true;
  StopWatching();
  if (crew_->parts.size() == 1) return OnAdded(Status::Ok());
  std::vector<std::shared_ptr<const PartSum>> vectors;
  for (const CrewPart& part : crew_->parts) {
    if (!part.taken.empty()) vectors.push_back(part.sum);
  }
  auto add = [self = shared_from_this(), vectors = std::move(vectors)] {
    const std::span<float> sum = self->sum_;
    self->crew_->host.parallel().For(sum.size(), kAddGrain, [&](size_t begin, size_t end) {
      for (const auto& vector : vectors) {
        for (size_t i = begin; i < end; ++i) sum[i] += vector->values[i];
      }
    });
    for (const auto& vector : vectors) self->tally_.Add(1, vector->tally);
    return Status::Ok();
  };
  crew_->host.Submit(0, std::move(add),
                     [self = shared_from_this()](const Status& status) { self->OnAdded(status); });
}

void SharedSum::OnAdded(const Status& status) {
  if (status.ok()) Learn();
  if (status.ok() && more_) crew_->kept = sum_.data();
  Finish(status);
}

void SharedSum::Learn() {
  for (CrewPart& part : crew_->parts) {
    part.speed.Add(part.samples, part.spent);
    if (part.samples > kTrySamples) {
      part.idle = 0;
      part.retry_after = CrewPart::kFirstRetryAfter;
    } else {
      ++part.idle;
    }
  }
}

void SharedSum::Finish(Status status) {
  finished_ = true;
  StopWatching();
  if (next_ != nullptr) {
    crew_->loop.Post([next = std::exchange(next_, nullptr)] { next->Start(); });
  }
  if (!status.ok()) return done_(std::move(status));
  done_(Trainer::Outcome{
      .samples = summed_, .compute = crew_->loop.Now() - started_, .tally = tally_});
}

}  // namespace motley
