// SPDX-License-Identifier: Apache-2.0
// The reports of a scheduler to users, as values without words: workers, times and numbers. The
// code that shows a notice makes the sentence, with the workers' names (api/reports/notice_text.h).
// Values that compare equal say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/time.h"
#include "scheduler/choice_reason.h"

namespace motley {
namespace notice {

// --- The start. ---
// Too few workers are ready: training begins with `least`.
struct FewReady {
  uint32_t ready;
  uint32_t least;
  bool operator==(const FewReady&) const = default;
};
// Training begins after `wait`, or as soon as all `most` workers are ready.
struct BeginsSoon {
  uint32_t ready;
  uint32_t most;
  Duration wait;
  bool operator==(const BeginsSoon&) const = default;
};
// The wait for workers goes on until `left` is over. The job waits for the `absent` workers to join
// and for the `unready` ones to get ready, or for any `more` workers to join. If all three are
// empty, it waits for a lost worker.
struct Waiting {
  std::vector<WorkerId> absent;
  uint32_t more;
  std::vector<WorkerId> unready;
  Duration left;
  bool operator==(const Waiting&) const = default;
};
// The time to start is over, and too few of the `joined` workers are ready. The wait begins once
// more.
struct WaitsAgain {
  uint32_t joined;
  bool some_ready;
  bool operator==(const WaitsAgain&) const = default;
};
// Training begins without all workers. The job does not need the others if they `may_follow`.
struct Starting {
  uint32_t ready;
  uint32_t workers;
  std::vector<WorkerId> missing;
  bool may_follow;
  bool operator==(const Starting&) const = default;
};

// --- Workers that come, go and are silent. ---
struct Ready {  // The worker is ready for its first work in this job, after the start.
  WorkerId worker;
  bool operator==(const Ready&) const = default;
};
struct StartedAgain {  // The worker started again before its loss was known.
  WorkerId worker;
  bool operator==(const StartedAgain&) const = default;
};
struct Left {  // The worker said goodbye. `live` workers go on.
  WorkerId worker;
  uint32_t live;
  bool operator==(const Left&) const = default;
};
struct Lost {
  WorkerId worker;
  Status why;
  uint32_t live;
};
struct AllGone {  // All workers are gone. The job waits at most `wait` for one to come back.
  WorkerId last;
  Status why;
  Duration wait;
};
struct Silent {  // The plan leaves the worker out after this silence.
  WorkerId worker;
  Duration silence;
  bool operator==(const Silent&) const = default;
};
struct AnswersAgain {  // The plan had left the worker out.
  WorkerId worker;
  bool operator==(const AnswersAgain&) const = default;
};
struct Rests {  // The worker failed several times to deliver its work and gets nothing for `rest`.
  WorkerId worker;
  Duration rest;
  bool operator==(const Rests&) const = default;
};

// --- Inside a step. ---
struct AllSilent {
  StepId step;
  Duration silence;
  bool operator==(const AllSilent&) const = default;
};
// The open step takes `times` as long as usual (0: not known), and waits for these workers.
struct LongStep {
  StepId step;
  Duration taken;
  double times;
  std::vector<WorkerId> awaited;
  bool operator==(const LongStep&) const = default;
};
struct Refused {  // An answer was refused.
  StepId step;
  WorkerId worker;
  Status why;
};
struct SentAway {  // The worker was sent away after this many refused answers.
  WorkerId worker;
  uint32_t refused;
  Status last;  // Why the last one was refused.
  uint32_t live;
};
// From now on `needed` of the `rows` answers to a step are sent first, and the others are held. An
// answer takes the server's link for `each`.
struct SendsInTurn {
  uint32_t needed;
  uint32_t rows;
  Duration each;
  bool operator==(const SendsInTurn&) const = default;
};
struct NotDecodable {  // All answers together do not decode; the job goes on without a code.
  StepId step;
  bool operator==(const NotDecodable&) const = default;
};

// --- Plans. ---
// With this many workers in the plan, the code tolerates fewer missing workers than asked for.
struct ToleratesFewer {
  uint32_t workers;
  std::string code;
  uint32_t tolerates;
  uint32_t asked;
  bool operator==(const ToleratesFewer&) const = default;
};
// With this many workers in the plan, answers are 1 / parts of a gradient.
struct FewerParts {
  uint32_t workers;
  uint32_t parts;
  uint32_t asked;
  bool operator==(const FewerParts&) const = default;
};
// The code that was asked for cannot be built; the plan has this one instead.
struct OtherCode {
  std::string code;
  bool equal;  // True: loads are equal. False: loads follow the speeds.
  uint32_t tolerates;
  std::string why;
  bool operator==(const OtherCode&) const = default;
};
// Each partition has `copies` copies, one per worker, which is fewer than `asked`.
struct FewerCopies {
  uint32_t copies;
  uint32_t asked;
  bool operator==(const FewerCopies&) const = default;
};
// With code "auto": the code of the job from now on.
struct CodeChosen {
  std::string code;
  ChoiceReason why;
  bool operator==(const CodeChosen&) const = default;
};

// With code "auto": from now on this many workers may be missing without delay (0: none).
struct ToleranceChanged {
  std::string code;
  uint32_t tolerates;
  bool operator==(const ToleranceChanged&) const = default;
};

}  // namespace notice

// The part of a request that a plan could not give.
using Compromise = std::variant<notice::ToleratesFewer, notice::FewerParts, notice::OtherCode,
                                notice::FewerCopies>;

using Notice =
    std::variant<notice::FewReady, notice::BeginsSoon, notice::Waiting, notice::WaitsAgain,
                 notice::Starting, notice::Ready, notice::StartedAgain, notice::Left, notice::Lost,
                 notice::AllGone, notice::Silent, notice::AnswersAgain, notice::Rests,
                 notice::AllSilent, notice::LongStep, notice::Refused, notice::SentAway,
                 notice::NotDecodable, notice::SendsInTurn, notice::ToleratesFewer,
                 notice::FewerParts, notice::OtherCode, notice::FewerCopies, notice::CodeChosen,
                 notice::ToleranceChanged>;

// The worker that failed last, and the reason. Some errors that end a job include it.
struct LastWorker {
  WorkerId worker;
  Status why;
};

}  // namespace motley
