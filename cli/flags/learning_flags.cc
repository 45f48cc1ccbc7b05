// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/learning_flags.h"

#include <cstdint>

#include "cli/flags/flag_values.h"
#include "fmt/core.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

std::string ListOfOptimizers(const std::string& chosen) {
  std::string text = "Update rule" + chosen;
  for (const OptimizerRule* rule : OptimizerRules()) {
    text += fmt::format("\n{:>10}: {}", rule->name, rule->help);
  }
  return text;
}

}  // namespace

void AddModelFlags(CLI::App* app, JobFlags& flags, const LearningHelp& help) {
  const char* group = "Model";
  const std::string& chosen = help.chosen;
  const std::string& epochs_help = help.epochs;
  CLI::Option* model = AddValue(app, "--model", flags.model, "NAME", kModelHelp)->group(group);
  if (help.learns) {
    model->default_str("")->description(
        std::string(kModelHelp) +
        "\nDefault: by the labels, softmax for classes and linear for real numbers");
    app->add_option("--optimizer", flags.optimizer, ListOfOptimizers(chosen))
        ->type_name("NAME")
        ->group(group);
    app->add_option("--lr", flags.options.learning_rate, "Learning rate" + chosen)
        ->type_name("RATE")
        ->check(Fits<double>([](double rate) { return rate != 0; }, "a learning rate above 0"))
        ->group(group);
    app->add_option("--l2", flags.options.l2, "L2 regularisation" + chosen)
        ->type_name("WEIGHT")
        ->check(Fits<double>([](double) { return true; }, "a weight of at least 0"))
        ->group(group);
  }
  app->add_option("--batch", flags.options.batch, "Samples per step" + chosen)
      ->type_name("N")
      ->transform(Within(1U, kMostCount))
      ->group(group);
  CLI::Option* epochs = app->add_option("--epochs", flags.options.epochs, epochs_help)
                            ->type_name("N")
                            ->transform(Within(1U, kMostCount))
                            ->group(group);
  app->add_option("--steps", flags.options.steps, "Steps, instead of --epochs")
      ->type_name("N")
      ->transform(Within(uint64_t{1}, uint64_t{1} << 40))
      ->excludes(epochs)
      ->group(group);
  AddValue(app, "--seed", flags.options.seed, "N", "Everything random follows from it")
      ->transform(Seed())
      ->group(group);
}

namespace {

void AddJudgingFlags(CLI::App* train, TrainFlags& flags) {
  const char* group = "Learning";
  train
      ->add_option("--evaluate-every", flags.evaluate_every,
                   "Steps (200) or epochs (1epoch) between two judgements of progress, by the loss "
                   "of validation samples; default: 1epoch, if judging is needed")
      ->type_name("N")
      ->group(group);
  train
      ->add_option_function<double>(
          "--validation",
          [&flags](const double& part) { flags.job.options.validation = part > 0 ? part : -1; },
          "Fraction of the training samples that is held out for judging; 0: none, and the loss of "
          "the steps is judged; default: a tenth for networks on 1000 samples or more, else none")
      ->type_name("PART")
      ->check(Fits<double>([](double part) { return part >= 0 && part < 1; },
                           "a fraction of at least 0 and below 1"))
      ->group(group);
  train
      ->add_option_function<uint32_t>(
          "--patience",
          [&flags](const uint32_t& times) {
            flags.job.options.patience = times > 0 ? static_cast<int32_t>(times) : -1;
          },
          "End after this many judgements without progress, and keep the best version; 0: never; "
          "default: 10, and never with --epochs or --steps")
      ->type_name("N")
      ->transform(Within(0U, kMostCount))
      ->group(group);
}

}  // namespace

void AddScheduleFlag(CLI::App* app, JobFlags& flags, const std::string& chosen, const char* group) {
  app->add_option("--schedule", flags.schedule,
                  "Change of the rate over the steps: constant, cosine, cosine:warmup=100, "
                  "step:every=1000,factor=0.1 (in steps), or "
                  "plateau:patience=3,factor=0.1,times=3 (lowered when the loss no longer falls). "
                  "Each may add warmup=N, and linear=N or sqrt=N: the rate is right for updates "
                  "of N samples, and follows the samples of each; default: " +
                      chosen)
      ->type_name("HOW")
      ->group(group);
}

void AddLearningFlags(CLI::App* train, TrainFlags& flags) {
  const char* group = "Learning";
  const auto add = [&](const char* name, double& value, const char* help, double most) {
    train->add_option(name, value, help)
        ->type_name("X")
        ->check(Fits<double>([most](double given) { return given > 0 && given < most; },
                             fmt::format("a number above 0 and below {:g}", most)))
        ->group(group);
  };
  AddScheduleFlag(train, flags.job, "constant, or plateau if the job ends by itself", group);
  add("--clip", flags.job.options.clip, "Scale gradients down to this norm; default: no limit",
      1e30);
  train
      ->add_option(
          "--class-weights", flags.job.class_weights,
          "Weights of samples in training, by class: balanced, or NAME=W,NAME=W (others weigh 1)")
      ->type_name("WEIGHTS")
      ->group(group);
  train
      ->add_option("--dropout", flags.job.options.dropout,
                   "Probability that a unit of a hidden layer is left out of a sample's step (mlp, "
                   "cnn); default: 0")
      ->type_name("P")
      ->check(Fits<double>([](double chance) { return chance >= 0 && chance < 1; },
                           "a probability of at least 0 and below 1"))
      ->group(group);
  const auto add_of_rule = [&](const char* name, double& value, const char* option) {
    const std::vector<const OptimizerRule*> rules = RulesThatRead(option);
    const RuleOption& read = *FindOption(*rules.front(), option);
    add(name, value,
        fmt::format("For {}; default: {}", NamesOfRules(rules, "and"), read.usual).c_str(),
        read.range.high);
  };
  add_of_rule("--weight-decay", flags.job.options.weight_decay, "weight_decay");
  add_of_rule("--momentum", flags.job.options.momentum, "momentum");
  add_of_rule("--beta1", flags.job.options.beta1, "beta1");
  add_of_rule("--beta2", flags.job.options.beta2, "beta2");
  add_of_rule("--epsilon", flags.job.options.epsilon, "epsilon");
  AddJudgingFlags(train, flags);
  train
      ->add_option("--init", flags.init,
                   "Begin with the parameters of this model: one of --out, whose scaling and "
                   "classes are kept, or PyTorch's tensors (safetensors); docs/how-to/pytorch.md")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace motley
