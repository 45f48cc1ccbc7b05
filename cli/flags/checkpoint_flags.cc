// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/checkpoint_command.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"

namespace motley {
namespace {

// Adds an action with the arguments that all actions on a folder of checkpoints have.
CLI::App* AddAction(CLI::App* checkpoint, CheckpointFlags& flags, const char* name,
                    const char* help, CheckpointFlags::Action action) {
  CLI::App* sub = checkpoint->add_subcommand(name, help);
  const bool exports = action == CheckpointFlags::Action::kExport;
  sub->add_option("DIR", flags.folder,
                  exports ? "As given to motley train --checkpoint, or a model's file"
                          : "As given to motley train --checkpoint")
      ->required();
  if (action != CheckpointFlags::Action::kList) {
    sub->add_option("--step", flags.step, "Step of the checkpoint; default: the newest")
        ->type_name("N")
        ->transform(Within(uint64_t{0}, uint64_t{1} << 40));
  }
  if (exports) {
    sub->add_option("--out", flags.out, "The model's file (safetensors)")
        ->type_name("FILE")
        ->required();
    sub->add_option("--format", flags.format, "motley or torch (see motley train); default: motley")
        ->type_name("NAME");
  } else {
    sub->add_flag("--json", flags.json, "The result as JSON");
  }
  sub->callback([&flags, action] { flags.action = action; });
  return sub;
}

}  // namespace

CLI::App* AddCheckpoint(CLI::App& app, CheckpointFlags& flags) {
  using Action = CheckpointFlags::Action;
  CLI::App* checkpoint =
      app.add_subcommand("checkpoint", "Inspect, restore and export saved states of jobs");
  checkpoint->require_subcommand(1);
  AddAction(checkpoint, flags, "list", "List the checkpoints", Action::kList);
  AddAction(checkpoint, flags, "verify", "Read every block of the newest checkpoint, or of --step",
            Action::kVerify);
  AddAction(checkpoint, flags, "restore",
            "Rebuild lost and damaged shards of the newest checkpoint, or of --step",
            Action::kRestore);
  AddAction(checkpoint, flags, "export",
            "Write the model of the newest checkpoint, or of --step, to a file", Action::kExport);
  checkpoint->footer("Example:\n  motley checkpoint verify runs/digits");
  return checkpoint;
}

}  // namespace motley
