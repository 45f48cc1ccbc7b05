// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/code_flags.h"

#include <fmt/format.h>

#include "base/wire_format.h"
#include "cli/commands/job_flags.h"
#include "cli/flags/flag_values.h"
#include "coding/code_form.h"
#include "coding/schemes.h"

namespace motley {

std::string CodeList(bool coded_only) {
  std::string text = "Gradient code:";
  for (const Scheme& scheme : Schemes()) {
    if (coded_only && !scheme.fixed_rows()) continue;
    text += fmt::format("\n{:>12}: {}", scheme.name, scheme.summary);
  }
  text +=
      "\nA code that tolerates s stragglers computes every sample s + 1 times, short s + m times, "
      "partial-coded m to s + m times. With none, the work of lost workers also goes to the "
      "others, but later. multi-message stops computing copies as soon as one has arrived.";
  return coded_only ? text : text + " adaptive computes each once, and keeps its data s + 1 times.";
}

std::string WireHelp() {
  std::string text = "How gradients and parameters travel:";
  for (const WireForm& form : kWireForms) {
    text += fmt::format("\n{:>12}: {}", form.name, form.summary);
  }
  return text;
}

CLI::Option* AddParts(CLI::App* app, uint32_t& parts) {
  return app
      ->add_option(
          "--parts", parts,
          "With --code short or partial-coded: answers are 1/M as long as a gradient; default: 2")
      ->type_name("M")
      ->transform(Within(1U, kMaxParts));
}

CLI::Option* AddFollowers(CLI::App* app, const std::function<void(uint32_t)>& take) {
  return app
      ->add_option_function<uint32_t>(
          "--followers", take,
          "With --reduce direct, sharded:S or auto: workers or shard servers that follow each "
          "part, so that it outlives its owner. 0: the job ends if an owner is lost; default: 1")
      ->type_name("N")
      ->transform(Within(0U, 3U));
}

void AddVectorFlags(CLI::App* command, JobFlags& job) {
  command
      ->add_option("--reduce", job.reduce,
                   "Where the vector is summed: star (at the server), direct (at the workers, each "
                   "of which owns a part of it; they must reach each other), sharded:S (with "
                   "--remote: at S processes of motley server --shard, for which the job waits), "
                   "or auto (measures the links first, and takes what is faster); default: " +
                       job.reduce)
      ->type_name("HOW")
      ->group("Workers");
  const auto take = [&job](uint32_t followers) {
    job.options.followers = followers;
    job.options.given |= MOTLEY_GIVEN_FOLLOWERS;
  };
  AddFollowers(command, take)->group("Workers");
  command->add_option("--wire", job.wire, WireHelp())->type_name("FORMAT")->group("Workers");
}

}  // namespace motley
