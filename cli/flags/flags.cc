// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/flags.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/simulate_command.h"
#include "cli/commands/train_command.h"
#include "cli/flags/code_flags.h"
#include "cli/flags/data_flags.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/learning_flags.h"
#include "cli/flags/worker_flags.h"
#include "fmt/core.h"
#include "runtime/fault_plan.h"
#include "runtime/links/probe_desk.h"
#include "scheduler/sync/sync_mode.h"

namespace motley {
namespace {

void AddClusterFlags(CLI::App* app, JobFlags& flags, MostWorkers most) {
  const char* group = "Workers";
  AddWorkers(app, flags, most);
  app->add_option("--worker-speeds", flags.speeds, "Emulated relative speeds, like 1,1,0.5,0.25")
      ->type_name("LIST")
      ->group(group);
  app->add_option("--sample-time", flags.sample_time,
                  "Modelled time of one sample at speed 1, like 2ms; default: chosen")
      ->type_name("TIME")
      ->group(group);
  AddValue(app, "--shares", flags.shares, "HOW",
           "proportional (to the speeds, as learned) or equal")
      ->group(group);
  AddValue(app, "--code", flags.code, "NAME", CodeList(false))->group(group);
  AddValue(app, "--tolerate", flags.options.tolerate, "S",
           "Workers that may be missing without delay (not with --code none); for auto the "
           "minimum, if given")
      ->transform(Within(0U, kMostCount))
      ->each([&flags](const std::string&) { flags.tolerate_given = true; })
      ->group(group);
  AddParts(app, flags.options.parts)->group(group);
  app->add_option("--fastest", flags.options.fastest,
                  "Only the N fastest workers compute, and the others stand by until one is lost; "
                  "not with --code auto or adaptive")
      ->type_name("N")
      ->transform(Within(1U, kMostCount))
      ->group(group);
  app->add_option("--quorum", flags.options.quorum,
                  "With --code approximate: a step ends with N answers, exact or not; default: all "
                  "but S")
      ->type_name("N")
      ->transform(Within(1U, kMostCount))
      ->group(group);
  app->add_option("--step-deadline", flags.step_deadline,
                  "With --code approximate: a step also ends after this time, like 50ms, with at "
                  "least one answer; default: when the missing answers are overdue")
      ->type_name("TIME")
      ->group(group);
  app->add_option("--fault", flags.faults,
                  fmt::format("May be repeated: {}; workers count from 0", FaultExamples()))
      ->type_name("WHAT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
}

void AddOutputFlags(CLI::App* app, JobFlags& flags) {
  const char* group = "Output";
  app->add_flag("--json", flags.json, "The result as one JSON object on standard output")
      ->group(group);
  app->add_option("--trace", flags.trace, "Write Chrome trace events (see ui.perfetto.dev)")
      ->type_name("FILE")
      ->group(group);
  app->add_flag("-q,--quiet", flags.quiet, "No progress, no notices")->group(group);
}

void AddCheckpointFlags(CLI::App* app, TrainFlags& flags) {
  const char* group = "Checkpoints";
  CLI::Option* folder =
      app->add_option("--checkpoint", flags.checkpoint, "Save the job's state in this folder")
          ->type_name("DIR")
          ->group(group);
  AddValue(app, "--checkpoint-every", flags.checkpoint_every, "N",
           "Steps from one checkpoint to the next")
      ->needs(folder)
      ->transform(Within(uint64_t{1}, uint64_t{1} << 40))
      ->group(group);
  AddValue(app, "--checkpoint-code", flags.checkpoint_code, "[NAME:]K+M",
           "K shards of data and M of parity, each in its own folder; any M may be lost. NAME: "
           "vandermonde or cauchy")
      ->needs(folder)
      ->group(group);
  app->add_option("--resume", flags.resume,
                  "Resume from the newest checkpoint in this folder; flags of data, model, "
                  "learning and checkpoints that are not given keep their values")
      ->type_name("DIR")
      ->group(group);
  app->add_option("--resume-step", flags.job.options.resume_step,
                  "Resume from the checkpoint of step N there; default: the newest")
      ->type_name("N")
      ->transform(Within(uint64_t{1}, uint64_t{1} << 40))
      ->group(group);
  app->final_callback([app, &given = flags.given] {
    given.model = app->count("--model") > 0;
    given.seed = app->count("--seed") > 0;
    given.l2 = app->count("--l2") > 0;
    given.dropout = app->count("--dropout") > 0;
    given.checkpoint_every = app->count("--checkpoint-every") > 0;
    given.checkpoint_code = app->count("--checkpoint-code") > 0;
  });
}

// Adds flags for the places and devices of workers.
void AddPlaceFlags(CLI::App* train, TrainFlags& flags) {
  CLI::Option* devices =
      train
          ->add_option("--devices", flags.devices,
                       "Devices that workers use in turn, as in motley devices: cpu,opencl,cuda:0; "
                       "cuda:0+cuda:1 is one worker on both. Default: one worker on each graphics "
                       "card, the others on the processor")
          ->type_name("LIST")
          ->group("Workers");
  CLI::Option* threads =
      train
          ->add_option("--threads", flags.job.options.threads,
                       "Threads of each worker on the processor; default: its share of the cores")
          ->type_name("N")
          ->transform(Within(1U, 256U))
          ->group("Workers");
  CLI::Option* remote =
      train
          ->add_flag(
              "--remote", flags.remote,
              "Accept workers from other machines: motley worker --server joins at any time, up to "
              "--workers. The command to type is printed. One worker runs here, too")
          ->group("Workers");
  train->add_flag("--no-local-worker", flags.alone, "With --remote: no worker runs here")
      ->needs(remote)
      ->excludes(devices)
      ->excludes(threads)
      ->group("Workers");
  train
      ->add_option("--listen", flags.listen,
                   "Address to which workers connect; port 0: any port. With tcp:// shared memory "
                   "is not used; unix://NAME is for workers of this user on this machine. Default "
                   "with --remote: 0.0.0.0:7000, which other machines reach")
      ->type_name("ADDRESS")
      ->group("Workers");
  train
      ->add_option("--wait", flags.wait,
                   "Time that a job without workers waits for one to come back (default: 10min). "
                   "With --remote also the time that the start waits for more workers than "
                   "--min-workers (default: 0s; 30s if --workers, like 8, has no minimum)")
      ->type_name("TIME")
      ->group("Workers");
}

// Explains WorkerTable (report.h).
constexpr const char* kTableHelp =
    "The table at the end shows for each worker\n"
    "  speed          as measured; the fastest worker has 1; not for steps of less than 1 ms\n"
    "  share %        part of all samples in the run's steps that it computed, used or not;\n"
    "                 with a code they add up to more than 100\n"
    "  samples/epoch  samples that it computed, used or not\n"
    "  in time        answers that came while their step was open\n"
    "  late           answers that came too late: the step ended without them\n"
    "  lost           yes: it was gone at the end, or never came; left: it left by itself\n"
    "  held MB        data that it kept in memory";

}  // namespace

// The most used flags come first in --help.
void ShowFirst(CLI::App& command, const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) command.get_option(flag)->group("Most used");
}

void AddTrainFiles(CLI::App* train, TrainFlags& flags) {
  CLI::Option* out = train->add_option("--out", flags.out, "Write the model (safetensors)")
                         ->type_name("FILE")
                         ->group("Output");
  train
      ->add_option(
          "--format", flags.format,
          "Format of --out: motley, or torch: PyTorch's names, shapes and order, with the scaling "
          "of the data folded into the layers (docs/how-to/pytorch.md). Default: motley")
      ->type_name("NAME")
      ->needs(out)
      ->group("Output");
  train
      ->add_option("--log", flags.log,
                   "Write a log of the training, one JSON object per line: step, epoch, loss, "
                   "rate, workers, seconds, and each judgement with its validation scores")
      ->type_name("FILE.jsonl")
      ->group("Output");
  train->add_option("--curve", flags.curve, "Draw the loss over the epochs (SVG)")
      ->type_name("FILE.svg")
      ->group("Output");
  train
      ->add_option("--record-profile", flags.record_profile,
                   "Write the cluster as measured in the run, for motley plan and simulate, and "
                   "beside it the times of each step (FILE.trace.csv), for simulate --replay")
      ->type_name("FILE.toml")
      ->group("Output");
}

void AddSyncFlags(CLI::App* train, JobFlags& job) {
  std::string modes = "When gradients become updates:";
  for (const SyncForm& form : SyncForms()) {
    modes += fmt::format("\n{:>12}: {}", form.form, form.summary);
  }
  train->add_option("--sync", job.sync, modes)->type_name("HOW")->group("Workers");
  train
      ->add_option("--outer-rate", job.options.outer_rate,
                   "--sync local:H: learning rate of updates; default: 0.7")
      ->type_name("RATE")
      ->check(Fits<double>([](double rate) { return rate > 0 && std::isfinite(rate); },
                           "a learning rate above 0"))
      ->group("Workers");
  train
      ->add_option_function<double>(
          "--outer-momentum",
          [&job](const double& given) { job.options.outer_momentum = given > 0 ? given : -1; },
          "--sync local:H: Nesterov's momentum of updates, below 1; 0: none; default: 0.9")
      ->type_name("M")
      ->check(Fits<double>([](double momentum) { return momentum < 1; }, "a momentum below 1"))
      ->group("Workers");
}

CLI::App* AddTrain(CLI::App& app, TrainFlags& flags) {
  CLI::App* train = app.add_subcommand("train", "Train a model, on this machine or with others");
  AddDataFlags(train, flags);
  AddModelFlags(
      train, flags.job,
      {"; default: chosen from model and data, and printed",
       "Passes over the data, exactly this many; default: until there is no more progress"});
  AddLearningFlags(train, flags);
  AddClusterFlags(train, flags.job, MostWorkers::kRange);
  AddVectorFlags(train, flags.job);
  AddCheckpointFlags(train, flags);
  AddPlaceFlags(train, flags);
  AddTrainFiles(train, flags);
  AddSyncFlags(train, flags.job);
  train
      ->add_option(
          "--staleness", flags.job.staleness,
          "With --sync asp and others whose workers have updates of their own, what becomes of "
          "gradients that are updates old: rate: divide an update's learning rate by the number of "
          "updates that its gradient is old; gap: divide each parameter's gradient by how far the "
          "parameter has moved since, in average steps; none (default): do neither")
      ->type_name("HOW")
      ->group("Workers");
  train
      ->add_option("--step-limit", flags.job.options.step_limit,
                   "For unattended jobs: end the job when a step makes no progress for this many "
                   "seconds; default: wait")
      ->type_name("SECONDS")
      ->transform(Fits<double>([](double limit) { return limit >= 0.1 && limit <= 1e6; },
                               "a number of seconds from 0.1 to 1000000"))
      ->group("Workers");
  train
      ->add_option("--audit", flags.audit,
                   "Check the answers of this fraction of steps (0 to 1), at least one in any "
                   "1/RATE steps, against sums that the server computes itself, whatever that "
                   "costs; 0: none; default: 0.02, within 1 % of the time. A worker with a wrong "
                   "answer is named and dismissed, and the exit code is 1")
      ->type_name("RATE")
      ->transform(Fits<double>([](double rate) { return rate >= 0 && rate <= 1; },
                               "a fraction of the steps from 0 to 1"))
      ->group("Workers");
  train
      ->add_flag("--evaluate-training", flags.evaluate_training,
                 "Evaluate the trained model on all training samples; without this flag only if "
                 "that is quick, and else the loss is the mean of the last epoch's steps")
      ->group("Output");
  AddOutputFlags(train, flags.job);
  train
      ->add_flag("-v,--verbose", flags.verbose,
                 "Begin messages with the time, and print more of them: workers that join, are "
                 "late or lose work to others, the reason for a code, each checkpoint")
      ->excludes(train->get_option("--quiet"))
      ->group("Output");
  train->footer(std::string("Example: four workers, one of which is killed\n"
                            "  motley train --data digits.csv.gz --worker-speeds 1,1,0.5,0.25 \\\n"
                            "    --code heterogeneous --tolerate 1 --fault kill:2@step=50 --out "
                            "model.safetensors\n\n") +
                kTableHelp);
  ShowFirst(*train, {"--data", "--model", "--workers", "--epochs", "--out", "--remote"});
  return train;
}

std::vector<std::string> TrainFlagNames() {
  CLI::App app;
  TrainFlags flags;
  std::vector<std::string> names;
  for (const CLI::Option* option : AddTrain(app, flags)->get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

CLI::App* AddSimulate(CLI::App& app, SimulateFlags& flags) {
  CLI::App* simulate =
      app.add_subcommand("simulate", "Run a job on virtual time: how fast would it be?");
  AddModelFlags(simulate, flags.job, {"", "Passes over the data; default: 5", false});
  AddClusterFlags(simulate, flags.job, MostWorkers::kNumber);
  simulate
      ->add_option("--cluster", flags.cluster,
                   "The cluster as a file, instead of --worker-speeds; "
                   "docs/reference/cluster-file.md explains its keys")
      ->type_name("FILE")
      ->group("Workers");
  simulate
      ->add_option(
          "--replay", flags.replay,
          "Recorded times of workers (CSV, also gzipped): those of a run, from motley train "
          "--record-profile, with its --cluster; or load,round,worker,seconds, instead of "
          "--cluster")
      ->type_name("FILE")
      ->group("Workers");
  AddValue(simulate, "--seeds", flags.seeds, "N", "Runs, each with its own seed")
      ->transform(Within(1U, 1000000U))
      ->group("Workers");
  AddVectorFlags(simulate, flags.job);
  AddValue(simulate, "--optimizer", flags.job.optimizer, "NAME",
           "Update rule of the job. With --reduce direct, sharded:S or auto, owners send sums to "
           "their followers if the rule has a state or vectors are rounded")
      ->group("Workers");
  AddOutputFlags(simulate, flags.job);
  CLI::Option* compare =
      simulate
          ->add_option("--compare", flags.compare,
                       "Run these codes instead of one, and print one table: mean, 95 % interval "
                       "over 5 seeds (or --seeds), p99, ratio to the first. CODE:S is a code that "
                       "tolerates S: none,repetition:2,adaptive")
          ->type_name("CODES")
          ->excludes(simulate->get_option("--code"))
          ->excludes(simulate->get_option("--trace"))
          ->group("Workers");
  simulate
      ->add_option("--plot", flags.plot,
                   "Draw the mean step of each code, and the distribution of its steps (SVG)")
      ->type_name("FILE")
      ->group("Output");
  CLI::Option* timeline =
      simulate->add_option("--timeline", flags.timeline, "Draw one step of the first run (SVG)")
          ->type_name("FILE")
          ->excludes(compare)
          ->group("Output");
  simulate
      ->add_option("--timeline-step", flags.timeline_step,
                   "The step to draw, from 0; default: the slowest")
      ->type_name("N")
      ->transform(Within(uint64_t{0}, uint64_t{1} << 40))
      ->needs(timeline)
      ->group("Output");
  simulate->final_callback([simulate, &given = flags.given] {
    given.batch = simulate->count("--batch") > 0;
    given.seeds = simulate->count("--seeds") > 0;
    given.steps = simulate->count("--steps") + simulate->count("--epochs") > 0;
  });
  simulate->footer(
      "Examples: which code suits a cluster, and what one buys when a worker pauses\n"
      "  motley simulate --cluster profiles/lab-mixed.toml --compare none,repetition,adaptive \\\n"
      "    --plot codes.svg\n"
      "  motley simulate --worker-speeds 1,1,0.5,0.25 --code repetition --tolerate 1 \\\n"
      "    --steps 100 --fault pause:0@step=20,2s");
  return simulate;
}

}  // namespace motley
