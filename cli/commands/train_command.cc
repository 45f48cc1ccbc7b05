// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/train_command.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/commands/library_job.h"
#include "cli/machine/own_address.h"
#include "cli/report/learning_log.h"
#include "cli/report/report.h"
#include "cli/report/svg.h"
#include "cli/report/trace.h"
#include "cli/run/process.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/keys.h"
#include "cli/terminal/output_file.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/stop_signals.h"
#include "fmt/core.h"
#include "motley/motley.h"

namespace motley {
namespace {

// Checks that the two files of a recorded run differ from all other files.
Status CheckRecording(const TrainFlags& flags) {
  if (flags.record_profile.empty()) return Status::Ok();
  const char* flag = "--record-profile";
  MOTLEY_RETURN_IF_ERROR(CheckReplaced(flag, flags.record_profile));
  for (const std::string& path : {flags.record_profile, RecordedStepsFile(flags.record_profile)}) {
    MOTLEY_RETURN_IF_ERROR(CheckApartFromData(flag, path, flags.data));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, path, "--out", flags.out));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, path, "--trace", flags.job.trace));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, path, "--checkpoint", flags.checkpoint));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, path, "--log", flags.log));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, path, "--curve", flags.curve));
  }
  return Status::Ok();
}

Status CheckOutputs(const TrainFlags& flags) {
  const std::string& trace = flags.job.trace;
  MOTLEY_RETURN_IF_ERROR(CheckApartFromData("--out", flags.out, flags.data));
  MOTLEY_RETURN_IF_ERROR(CheckApartFromData("--trace", trace, flags.data));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--out", flags.out, "--trace", trace));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--out", flags.out, "--checkpoint", flags.checkpoint));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--trace", trace, "--checkpoint", flags.checkpoint));
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--out", flags.out));
  MOTLEY_RETURN_IF_ERROR(CheckRecording(flags));
  MOTLEY_RETURN_IF_ERROR(CheckWritable("--trace", trace));
  MOTLEY_RETURN_IF_ERROR(CheckSvgName("--curve", flags.curve));
  const std::pair<const char*, const std::string*> learning[] = {{"--log", &flags.log},
                                                                 {"--curve", &flags.curve}};
  for (const auto& [flag, path] : learning) {
    MOTLEY_RETURN_IF_ERROR(CheckApartFromData(flag, *path, flags.data));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, *path, "--out", flags.out));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, *path, "--trace", trace));
    MOTLEY_RETURN_IF_ERROR(CheckWritable(flag, *path));
  }
  return CheckApart("--log", flags.log, "--curve", flags.curve);
}

ProgressOptions ShownBy(const TrainFlags& flags) {
  ProgressOptions shown;
  shown.style = ChooseProgressStyle(flags.job.quiet);
  shown.verbose = flags.verbose;
  return shown;
}

int NotSaved(const char* what, std::string_view why) {
  Warn(fmt::format("the {} was not saved: {}", what, why));
  return kExitFailure;
}

constexpr const char* kServesAt = "0.0.0.0:7000";  // Default of --listen.
constexpr const char* kLocal = "127.0.0.1:0";

// What users on another machine must know about the address.
std::string AboutAddress(const std::string& address, const std::string& shown) {
  if (!IsLoopback(shown)) {
    return shown == address ? "" : "\nor with another address or name of this machine";
  }
  if (shown != address) return "\nonly on this machine: it has no address that others reach";
  return fmt::format("\nonly on this machine: no other machine reaches {}; use --listen {}", shown,
                     kServesAt);
}

// Prints how to start workers and shard servers. --quiet prints it, too, because nobody could start
// them otherwise.
void TellHowToJoin(const motley_event& event, bool sharded) {
  const std::string_view text = event.text;
  const size_t blank = text.find(' ');
  const std::string address(text.substr(0, blank));
  const bool chosen = blank == std::string_view::npos;
  const std::string shown = ReachableAddress(address);
  Warn(fmt::format(
      "workers join at any time; each is started with\n  MOTLEY_TOKEN={} motley worker --server "
      "{}{}{}{}{}",
      // A worker that waits for the next job needs a token that stays the same.
      chosen ? "..." : text.substr(blank + 1), shown, chosen ? " --forever" : "",
      sharded ? fmt::format("\nand each shard server, with the same token, with\n  motley server "
                            "--shard --server {}",
                            shown)
              : "",
      AboutAddress(address, shown),
      chosen ? ""
             : "\nThe token is new in each run. With a MOTLEY_TOKEN of your own, set here too, the "
               "line stays\n"
               "the same, and with --forever it is typed once"));
}

void LeaveOpen(const TrainFlags::Given& given, motley_job_options& options) {
  if (!given.model) options.model = nullptr;
  if (given.seed) options.given |= MOTLEY_GIVEN_SEED;
  if (given.dropout) options.given |= MOTLEY_GIVEN_DROPOUT;
  if (!given.checkpoint_every) options.checkpoint_every = 0;
  if (!given.checkpoint_code) options.checkpoint_code = nullptr;
}

class TrainRun {
 public:
  explicit TrainRun(const TrainFlags& flags)
      : flags_(flags), out_(flags.out), progress_(ShownBy(flags)) {}
  int Run();

 private:
  motley_status CreateJob();
  void OnEvent(const motley_event& event);
  void ExpectJob();
  Progress::Workers LookAtWorkers() const;
  int Failed(int code, const std::string& why);
  std::string FailureKind() const;
  int Ended(motley_status status);
  void SpareAGoodModel();
  std::string WhatIsLeft(const motley_metrics& job) const;
  int ReportAndSave(int code, const std::string& why);
  int EndLog();

  const TrainFlags& flags_;
  std::string out_;  // The path of the model.
  Progress progress_;
  std::unique_ptr<Keys> keys_;  // Null: no terminal.
  bool expected_ = false;       // The progress display knows the job's length.
  bool stopping_ = false;       // The progress display knows that a signal stops the job.
  TraceRecorder trace_;
  std::unique_ptr<LearningLog> log_;  // Null: neither a log nor a curve was requested.
  LibraryJob job_;
  StopSignals signals_;  // Disarmed before the job is destroyed.
};

motley_status TrainRun::CreateJob() {
  const std::string faults = flags_.job.JoinedFaults();
  const std::string program = ThisProgram();
  const std::array<const char*, 3> worker = {program.c_str(), "worker", nullptr};
  motley_job_options options = OptionsOf(flags_.job, faults);
  options.data = flags_.data.c_str();
  options.label = flags_.label.c_str();
  if (!flags_.storage.empty()) options.storage = flags_.storage.c_str();
  options.task = flags_.task.c_str();
  options.missing = flags_.missing.c_str();
  options.scale = flags_.scale.c_str();
  options.decimal = flags_.decimal.c_str();
  options.drop = flags_.drop.c_str();
  options.init = flags_.init.c_str();
  options.format = flags_.format.c_str();
  if (!flags_.given.model) options.model = nullptr;
  if (!flags_.evaluate_every.empty()) options.evaluate_every = flags_.evaluate_every.c_str();
  options.evaluate_training = flags_.evaluate_training ? 1 : 0;
  if (flags_.audit >= 0) options.audit = flags_.audit > 0 ? flags_.audit : -1;  // 0: none.
  options.listen = flags_.remote ? kServesAt : kLocal;
  if (!flags_.listen.empty()) options.listen = flags_.listen.c_str();
  if (!flags_.wait.empty()) options.wait = flags_.wait.c_str();
  if (flags_.remote) {
    options.role = MOTLEY_SERVER;
    options.token = std::getenv("MOTLEY_TOKEN");
  }
  if (!flags_.alone) options.worker_command = worker.data();
  if (!flags_.devices.empty()) options.devices = flags_.devices.c_str();
  if (!flags_.checkpoint.empty()) options.checkpoint = flags_.checkpoint.c_str();
  options.checkpoint_every = flags_.checkpoint_every;
  options.checkpoint_code = flags_.checkpoint_code.c_str();
  if (!flags_.record_profile.empty()) options.record_profile = flags_.record_profile.c_str();
  if (!flags_.resume.empty()) {
    options.resume = flags_.resume.c_str();
    LeaveOpen(flags_.given, options);
  }
  if (flags_.given.l2) options.given |= MOTLEY_GIVEN_L2;
  const motley_status made = job_.Create(options);
  if (made != MOTLEY_OK) return made;
  const auto pass_on = [](void* self, const motley_event* event) {
    static_cast<TrainRun*>(self)->OnEvent(*event);
  };
  return motley_job_set_events(job_.get(), pass_on, this);
}

void TrainRun::OnEvent(const motley_event& event) {
  if (event.kind == MOTLEY_EVENT_LISTENING) {
    // From now on a signal must end the job in good order.
    signals_.Arm(job_.get(), "stopping in good order; a second signal ends it now",
                 "ended by a second signal: nothing more is saved");
    if (flags_.remote) TellHowToJoin(event, flags_.job.reduce.starts_with("sharded"));
  }
  if (event.kind == MOTLEY_EVENT_STEP_OPENED && !std::exchange(expected_, true)) ExpectJob();
  // The signal's message has replaced the bar.
  if (signals_.caught() != 0 && !std::exchange(stopping_, true)) progress_.StartAfresh();
  if (event.kind == MOTLEY_EVENT_WARNING) {
    progress_.Hide();
    Warn(event.text);
  }
  progress_.OnEvent(event);
  if (log_ != nullptr) {
    motley_metrics job MOTLEY_METRICS_INIT;
    motley_job_metrics(job_.get(), &job);
    log_->OnEvent(event, job);
  }
  if (!flags_.job.trace.empty()) trace_.OnEvent(event);
}

// The job listens before it reads its data, and its length is known only afterwards.
void TrainRun::ExpectJob() {
  motley_metrics job MOTLEY_METRICS_INIT;
  motley_job_metrics(job_.get(), &job);
  progress_.Expect(job.steps_wanted, static_cast<double>(job.steps_per_epoch), job.workers_wanted,
                   job.ends_early != 0);
  const ProgressStyle style = ChooseProgressStyle(flags_.job.quiet);
  const bool bar = style == ProgressStyle::kBar || style == ProgressStyle::kColourBar;
  if (bar) {
    keys_ = Keys::Listen({[this](char key) {
                            if (key == 't') progress_.ToggleTable();
                          },
                          [this] { progress_.Refresh(); }, [this] { progress_.StartAfresh(); }});
  }
  progress_.AskOfWorkers([this] { return LookAtWorkers(); }, keys_ != nullptr);
}

// The first workers of a large cluster, because a screen has no room for all.
Progress::Workers TrainRun::LookAtWorkers() const {
  constexpr uint32_t kMost = 100;
  motley_metrics job MOTLEY_METRICS_INIT;
  motley_job_metrics(job_.get(), &job);
  Progress::Workers workers;
  for (uint32_t worker = 0; worker < std::min(kMost, job.workers_wanted); ++worker) {
    motley_worker_metrics metrics MOTLEY_WORKER_METRICS_INIT;
    // A worker may not have joined.
    if (motley_job_worker(job_.get(), worker, &metrics) != MOTLEY_OK) continue;
    workers.emplace_back(worker, metrics);
  }
  return workers;
}

int TrainRun::Run() {
  if (flags_.job.workers_range && !flags_.remote) {
    return Failed(ExitCodeOf(MOTLEY_INVALID_ARGUMENT),
                  fmt::format("--workers {}..{}: the workers of one machine are all started at "
                              "once. Give one number, or add --remote for workers elsewhere",
                              flags_.job.options.min_workers, flags_.job.options.workers));
  }
  if (const motley_status made = CreateJob(); made != MOTLEY_OK) {
    return Failed(ExitCodeOf(made), motley_last_error());
  }
  if (const std::string idle = flags_.job.WithoutEffect(); !idle.empty()) Warn(idle);
  if (const Status outputs = CheckOutputs(flags_); !outputs.ok()) {
    return Failed(ExitCodeOf(static_cast<motley_status>(outputs.code())), outputs.ToString());
  }
  if (!flags_.log.empty() || !flags_.curve.empty()) {
    auto log = LearningLog::Open(flags_.log);
    if (!log.ok()) return Failed(ExitCodeOf(MOTLEY_RESOURCE), log.status().ToString());
    log_ = std::move(log).value();
  }
  const motley_status status = motley_job_run(job_.get());
  keys_.reset();
  signals_.Disarm();
  progress_.End();
  const int logged = EndLog();
  const int code = status == MOTLEY_OK ? ReportAndSave(kExitOk, "") : Ended(status);
  return code == kExitOk ? logged : code;
}

// Ends the log and draws the curve, however the job ended.
int TrainRun::EndLog() {
  if (log_ == nullptr) return kExitOk;
  int code = kExitOk;
  if (const Status closed = log_->Close(); !closed.ok()) {
    code = NotSaved("log", closed.ToString());
  }
  if (flags_.curve.empty()) return code;
  const Status drawn = WriteFile(flags_.curve, CurveSvg(log_->points()));
  return drawn.ok() ? code : NotSaved("curve", drawn.ToString());
}

// Prints an object for --json in this case, too: the error, and what was done before.
int TrainRun::Failed(int code, const std::string& why) {
  Warn(why);
  if (!flags_.job.json) return code;
  const char* report = job_.get() != nullptr ? motley_job_report(job_.get()) : nullptr;
  const int printed =
      PrintResult(FailureJson(report != nullptr ? report : "{}", FailureKind(), code, why));
  return printed == kExitOk ? code : printed;
}

std::string TrainRun::FailureKind() const {
  const std::string kind = motley_job_failure(job_.get());
  return kind.empty() ? "other" : kind;  // The job did not begin.
}

// Says what a user can do with a job that ended early. A job that diverged reports its checkpoints
// itself.
std::string TrainRun::WhatIsLeft(const motley_metrics& job) const {
  std::string left;
  if (FailureKind() != "diverged") {
    if (flags_.checkpoint.empty()) {
      if (flags_.out.empty() || job.steps == 0) {
        return "; nothing was saved: --out and --checkpoint would keep it";
      }
    } else if (job.checkpoint_step == 0) {
      left = "; no checkpoint was written before";
    } else {
      left = fmt::format(
          "; {} safe: --resume {} continues from there",
          job.checkpoint_step == 1 ? "1 step is" : fmt::format("{} steps are", job.checkpoint_step),
          flags_.checkpoint);
    }
  }
  if (out_.empty() || job.steps == 0) return left;
  return left + "; the model so far goes to " + out_;
}

// The last parameters of a job that diverged are finite but seldom useful. So they do not replace
// an existing file and are written beside it. A version that did best on validation samples does
// replace it.
void TrainRun::SpareAGoodModel() {
  const char* report = motley_job_report(job_.get());
  std::error_code error;
  if (report == nullptr || KeptBest(report)) return;
  if (!out_.empty() && std::filesystem::is_regular_file(out_, error)) out_ += ".diverged";
}

// Handles an end by a signal or an error. Results so far are still reported and saved.
int TrainRun::Ended(motley_status status) {
  motley_metrics job MOTLEY_METRICS_INIT;
  std::string why = motley_last_error();
  motley_job_metrics(job_.get(), &job);
  const bool signalled = status == MOTLEY_CANCELLED && signals_.caught() != 0;
  const int code = signalled ? 128 + signals_.caught() : ExitCodeOf(status);
  if (signalled) why = fmt::format("signal {}: {}", signals_.caught(), why);
  if (FailureKind() == "diverged") SpareAGoodModel();
  if (signalled || job.steps > 0) why += WhatIsLeft(job);
  return job.steps > 0 ? ReportAndSave(code, why) : Failed(code, why);
}

// Reports and saves all results or, with `why`, those of a job that ended early.
int TrainRun::ReportAndSave(int code, const std::string& why) {
  const char* report = motley_job_report(job_.get());
  if (report == nullptr && !why.empty()) return Failed(code, why);
  if (report == nullptr) return Failed(ExitCodeOf(MOTLEY_INTERNAL), motley_last_error());
  if (!why.empty()) Warn(why);
  const auto also = [&code](int other) { code = code == kExitOk ? other : code; };
  const std::string json = why.empty() ? report : FailureJson(report, FailureKind(), code, why);
  also(PrintResult(flags_.job.json ? json : TrainTable(report)));
  if (const std::string error = CheckpointError(report); !error.empty()) {
    also(NotSaved("checkpoint", error));
  }
  if (const std::string wrong = AuditFailure(report); !wrong.empty()) {
    Warn(wrong);
    also(kExitFailure);
  }
  if (const std::string weak = CheckpointWeakness(report); !weak.empty()) Warn(weak);
  if (const std::string error = RecordingError(report); !error.empty()) {
    also(NotSaved("profile", error));
  }
  if (!out_.empty() && motley_job_save(job_.get(), out_.c_str()) != MOTLEY_OK) {
    also(NotSaved("model", motley_last_error()));
  }
  if (!flags_.job.trace.empty()) {
    const Status saved = WriteFile(flags_.job.trace, trace_.Json());
    if (!saved.ok()) also(NotSaved("trace", saved.ToString()));
  }
  return code;
}

}  // namespace

int RunTrain(const TrainFlags& flags) { return TrainRun(flags).Run(); }

}  // namespace motley
