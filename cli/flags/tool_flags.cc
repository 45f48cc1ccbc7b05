// SPDX-License-Identifier: Apache-2.0
// The commands that answer a question: codes, compare, plan, predict, reproduce.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "cli/commands/codes_command.h"
#include "cli/commands/compare/compare_command.h"
#include "cli/commands/plan/plan_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/reproduce_command.h"
#include "cli/flags/code_flags.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"
#include "cli/flags/learning_flags.h"
#include "cli/flags/worker_flags.h"
#include "cli/report/placement.h"

namespace motley {

CLI::App* AddCodes(CLI::App& app, CodesFlags& flags) {
  CLI::App* codes =
      app.add_subcommand("codes", "Show a gradient code: matrix, loads, conditioning");
  codes->add_option("--speeds", flags.speeds, "Relative speeds of the workers, like 2,2,4,8")
      ->type_name("LIST");
  codes->add_option("--workers", flags.workers, "That many workers of equal speed")
      ->type_name("N")
      ->transform(Within(1U, kMostCount));
  AddValue(codes, "--code", flags.code, "NAME", CodeList(true));
  AddValue(codes, "--tolerate", flags.tolerate, "S", "Workers that may be missing")
      ->transform(Within(0U, kMostCount));
  AddParts(codes, flags.parts);
  codes->add_option("--partitions", flags.partitions, "Parts of the data; default: chosen")
      ->type_name("K")
      ->transform(Within(1U, 1U << 20));
  AddValue(codes, "--seed", flags.seed, "N", "For codes with random coefficients")
      ->transform(Seed());
  codes->add_flag("--json", flags.json, "The result as one JSON object");
  codes->footer(
      "Example:\n  motley codes --speeds 2,2,4,4,8,8,8,12 --code heterogeneous "
      "--tolerate 1");
  return codes;
}

namespace {

void AddTargetFlags(CLI::App* compare, CompareFlags& flags) {
  const char* group = "Comparison";
  AddValue(compare, "--sync", flags.sync, "MODES", "The modes to compare, as for motley train")
      ->each([&flags](const std::string&) { flags.sync_given = true; })
      ->group(group);
  AddValue(compare, "--staleness", flags.job.staleness, "HOW",
           "What becomes of old gradients, as for motley train, in the modes that may have them: "
           "those without a barrier, except dana")
      ->group(group);
  compare
      ->add_option("--rates", flags.rates,
                   "Learning rates to try, like 0.1,0.03. Each mode is shown with its best one; "
                   "default: --lr")
      ->type_name("LIST")
      ->group(group);
  AddScheduleFlag(compare, flags.job, "constant", group);
  CLI::Option* accuracy =
      compare
          ->add_option("--target-accuracy", flags.accuracy,
                       "Accuracy on the test samples that is to be reached; default: 99 % of what "
                       "the first mode has at its end, and for real numbers 105 % of its loss")
          ->type_name("PART")
          ->check(Part())
          ->group(group);
  compare->add_option("--target-loss", flags.loss, "Loss on the test samples that is to be reached")
      ->type_name("X")
      ->check(Fits<double>([](double loss) { return loss > 0 && std::isfinite(loss); },
                           "a finite loss above 0"))
      ->excludes(accuracy)
      ->group(group);
  compare
      ->add_option("--evaluate-every", flags.evaluate_every,
                   "Updates (200) or epochs (1epoch) between two evaluations; default: a quarter "
                   "of an epoch")
      ->type_name("N")
      ->group(group);
  AddValue(compare, "--seeds", flags.seeds, "N", "Runs of each mode, each with its own seed")
      ->transform(Within(1U, 1000U))
      ->group(group);
}

}  // namespace

CLI::App* AddCompare(CLI::App& app, CompareFlags& flags) {
  CLI::App* compare = app.add_subcommand(
      "compare", "Train with several modes of synchronisation on virtual time: which is fastest?");
  compare->add_option("--data", flags.data, "Samples, as for motley train --data")
      ->type_name("PATH[:test=FILE]")
      ->required();
  compare
      ->add_option("--label", flags.label,
                   "Tables: the label's column; default: the one named label, target, class or y, "
                   "else the last")
      ->type_name("COLUMN");
  compare->add_option("--task", flags.task, "classify or regress; default: by the labels")
      ->type_name("WHAT");
  flags.job.optimizer = "nag";
  flags.job.model.clear();
  flags.job.options.learning_rate = 0.05;
  flags.job.options.batch = 32;
  flags.job.options.epochs = 10;
  flags.sync = "bsp,local:4,ssp:3,asp,dana";
  AddModelFlags(compare, flags.job, {"; default: see below", "Passes over the data; default: 10"});
  compare
      ->add_option("--cluster", flags.clusters,
                   "A cluster as a file; may be repeated; docs/reference/cluster-file.md explains "
                   "its keys")
      ->type_name("FILE")
      ->group("Workers");
  AddWorkers(compare, flags.job, MostWorkers::kNumber);
  AddValue(compare, "--worker-speeds", flags.job.speeds, "LIST",
           "Relative speeds, like 1,1,0.5,0.25, instead of --cluster")
      ->group("Workers");
  AddValue(compare, "--sample-time", flags.job.sample_time, "TIME",
           "With --worker-speeds: time of one sample at speed 1; default: 1ms")
      ->group("Workers");
  compare->add_option("--fault", flags.job.faults, "As for motley simulate; may be repeated")
      ->type_name("WHAT")
      ->group("Workers");
  AddVectorFlags(compare, flags.job);
  AddTargetFlags(compare, flags);
  compare->add_option("--plot", flags.plot, "Draw the loss of each mode over time (SVG)")
      ->type_name("FILE");
  compare->add_flag("--json", flags.job.json, "The result as one JSON array");
  compare->add_flag("-q,--quiet", flags.job.quiet, "No progress");
  compare->footer(
      "Defaults: --optimizer nag --lr 0.05 --batch 32. Gradients are real, and times are "
      "those\n"
      "of the described machines. Examples:\n"
      "  motley compare --data digits.csv.gz --model mlp:64 --worker-speeds 1,1,0.5,0.25\n"
      "  motley compare --data digits.csv.gz --cluster profiles/lab-mixed.toml \\\n"
      "    --cluster profiles/uniform-8.toml --rates 0.1,0.03 --plot sync.svg");
  return compare;
}

CLI::App* AddPlan(CLI::App& app, PlanFlags& flags) {
  CLI::App* plan = app.add_subcommand("plan", "Recommend a scheme for a cluster, with reasons");
  plan->add_option("--cluster", flags.cluster,
                   "The cluster as a file (TOML); docs/reference/cluster-file.md explains its keys")
      ->type_name("FILE")
      ->required();
  AddValue(plan, "--batch", flags.batch, "N", "Samples per step")
      ->transform(Within(1U, kMostCount));
  AddValue(plan, "--steps", flags.steps, "N", "Steps of the job, within which copies must pay off")
      ->transform(Within(uint64_t{1}, uint64_t{1} << 40));
  AddValue(plan, "--loss-rate", flags.loss_rate, "P", "Probability that a worker is lost in a step")
      ->check(Fits<double>([](double value) { return value >= 0 && value < 1; },
                           "a probability from 0 up to 1"));
  AddValue(plan, "--data-bytes", flags.data_bytes, "N",
           "Size of all samples, for the cost of copies")
      ->check(Fits<double>([](double value) { return value >= 0 && value < 1e18; },
                           "a number of bytes"));
  AddValue(plan, "--reduce", flags.reduce, "MODE", ReduceHelp());
  AddFollowers(plan, [&flags](uint32_t followers) { flags.followers = followers; });
  AddValue(plan, "--wire", flags.wire, "FORMAT", WireHelp());
  AddValue(plan, "--optimizer", flags.optimizer, "NAME",
           "Update rule of the job; motley train chooses adam for most models");
  AddValue(plan, "--copies", flags.copies, "R", "Largest number of copies of each partition")
      ->transform(Within(1U, 16U));
  plan->add_flag("--explain", flags.explain, "Show every scheme with its flags and its reason");
  plan->add_flag("--json", flags.json, "All schemes as one JSON object");
  plan->add_flag("-q,--quiet", flags.quiet, "No progress");
  plan->footer("Example:\n  motley plan --cluster profiles/lab-mixed.toml --explain");
  return plan;
}

CLI::App* AddPredict(CLI::App& app, PredictFlags& flags) {
  CLI::App* predict =
      app.add_subcommand("predict", "Predict with a saved model, or test it on labels");
  predict->add_option("--model", flags.model, "Model file, as from motley train --out")
      ->type_name("FILE")
      ->required();
  predict->add_option("--data", flags.data, "Samples, as for motley train --data")
      ->type_name("PATH")
      ->required();
  predict
      ->add_option("--label", flags.label,
                   "Tables: the label's column; default: the one named label, "
                   "target, class or y, else the last")
      ->type_name("COLUMN");
  CLI::Option* out =
      predict
          ->add_option(
              "--out", flags.out,
              "Write the prediction for each sample, a class or a number: NPY if the name ends in "
              ".npy, else CSV; - is the standard output. Samples then need no labels")
          ->type_name("FILE");
  predict
      ->add_flag(
          "--probabilities", flags.probabilities,
          "With --out: also the probabilities of all classes (NPY: only these, one row per sample)")
      ->needs(out);
  predict->add_flag("--json", flags.json, "The result as one JSON object");
  predict->footer(
      "Columns of a table are found by name. Without --out it tests the model on the labels of\n"
      "the samples. Examples:\n"
      "  motley predict --model model.safetensors --data new.csv --out predictions.csv\n"
      "  motley predict --model model.safetensors --data digits.csv.gz");
  return predict;
}

CLI::App* AddReproduce(CLI::App& app, ReproduceFlags& flags) {
  std::string names = "Which; default: all:";
  for (const Experiment& experiment : Experiments()) {
    names += fmt::format("\n{:>12}: {}", experiment.name, experiment.shows);
  }
  CLI::App* reproduce = app.add_subcommand("reproduce", "Repeat experiments on gradient coding");
  reproduce->add_option("NAME", flags.names, names);
  reproduce
      ->add_option("--data", flags.data,
                   "Folder with traces/lambda256.csv.gz; default: shared/data beside the checkout")
      ->type_name("DIR");
  AddValue(reproduce, "--seed", flags.seed, "N", "Everything random follows from it")
      ->transform(Seed());
  reproduce->add_option("--threads", flags.threads, "Default: one per processor")
      ->type_name("N")
      ->transform(Within(1U, 256U));
  reproduce->add_flag("--json", flags.json, "The figures as one JSON array");
  reproduce->add_flag("-q,--quiet", flags.quiet, "No progress");
  reproduce->footer(
      "The exit code is 1 if a figure is outside its tolerance. Example:\n"
      "  motley reproduce A1 A3");
  return reproduce;
}

}  // namespace motley
