// SPDX-License-Identifier: Apache-2.0
// Declares the commands that concern one machine.
#include <string>

#include "cli/commands/devices_command.h"
#include "cli/commands/profile_command.h"
#include "cli/commands/worker_command.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"
#include "runtime/links/probe_desk.h"

namespace motley {

CLI::App* AddProfile(CLI::App& app, ProfileFlags& flags) {
  CLI::App* profile =
      app.add_subcommand("profile", "Measure how fast this machine is, for a cluster file");
  AddValue(profile, "--model", flags.model, "NAME", kModelHelp);
  CLI::Option* data =
      profile->add_option("--data", flags.data, "Samples to measure with, as for motley train")
          ->type_name("PATH");
  profile
      ->add_option("--label", flags.label,
                   "Tables: the label's column; default: as for motley train")
      ->type_name("COLUMN")
      ->needs(data);
  AddValue(profile, "--features", flags.features, "N",
           "Number in synthetic samples, without --data")
      ->transform(Within(1U, 1U << 24))
      ->excludes(data);
  AddValue(profile, "--classes", flags.classes, "N", "Number in synthetic samples, without --data")
      ->transform(Within(2U, 1U << 20))
      ->excludes(data);
  AddValue(profile, "--batch", flags.batch, "N", "Samples per step, for the file's step_flops")
      ->transform(Within(1U, kMostCount));
  profile->add_option("--threads", flags.threads, "Threads that compute; default: all")
      ->type_name("N")
      ->transform(Within(1U, 256U));
  AddValue(profile, "--seconds", flags.seconds, "S", "Time for measuring, in seconds")
      ->check(Fits<double>([](double value) { return value >= 0.1 && value <= 3600; },
                           "a time from 0.1 to 3600 seconds"));
  profile
      ->add_option("--name", flags.name,
                   "Name of the worker in the file; default: this host's name")
      ->type_name("NAME");
  profile->add_option("--out", flags.out, "Write the profile (TOML)")->type_name("FILE");
  CLI::Option* server = profile
                            ->add_option("--server", flags.server,
                                         "Measure the link to a server there, a job's or that of "
                                         "motley profile --serve; MOTLEY_TOKEN holds its token")
                            ->type_name("HOST:PORT");
  AddValue(profile, "--streams", flags.streams, "N", "Parallel connections to the server")
      ->transform(Within(1U, static_cast<uint32_t>(kMostProbes)))
      ->needs(server);
  profile
      ->add_option("--serve", flags.serve,
                   "Measure nothing, but let other machines measure their link to this address "
                   "until stopped")
      ->type_name("HOST:PORT")
      ->excludes(server);
  profile->add_flag("--fresh", flags.fresh, "Measure again, even if a result is cached");
  profile->add_flag("--json", flags.json, "The result as one JSON object on standard output");
  profile->add_flag("-q,--quiet", flags.quiet, "No progress");
  profile->footer("Example:\n  motley profile --model mlp:256 --out here.toml");
  return profile;
}

CLI::App* AddDevices(CLI::App& app, DevicesFlags& flags) {
  CLI::App* devices = app.add_subcommand(
      "devices", "List the devices of this machine, and why some cannot be used");
  devices->add_flag("--json", flags.json, "The result as one JSON array");
  CLI::Option* check = devices->add_flag(
      "--check", flags.check,
      "Compare every kernel with float64 arithmetic on this machine; the exit code is 1 if one is "
      "wrong. The first time takes minutes on an OpenCL device, which compiles them");
  devices->add_option("--devices", flags.devices, "Devices to check; default: all that can be used")
      ->type_name("LIST")
      ->needs(check);
  devices->add_flag("-q,--quiet", flags.quiet, "No progress")->needs(check);
  devices->footer(
      "Examples: train with the processor and a graphics card, as two workers, and as one\n"
      "  motley train --data digits.csv.gz --devices cpu,cuda:0\n"
      "  motley train --data digits.csv.gz --workers 1 --devices cpu+cuda:0");
  return devices;
}

namespace {

// The flags of a process that joins a job as `what`. Returns --server.
CLI::Option* AddJoining(CLI::App* app, WorkerFlags& flags, const std::string& what,
                        const char* threads) {
  CLI::Option* server = app->add_option("--server", flags.server,
                                        "Address of the job's server, as motley train prints it")
                            ->type_name("ADDRESS");
  app->add_option("--name", flags.name,
                  "Name of the " + what + " in messages; default: this host's name")
      ->type_name("NAME");
  app->add_option("--threads", flags.threads, threads)->type_name("N")->transform(Within(1U, 256U));
  CLI::Option* wait =
      AddValue(app, "--wait", flags.wait, "TIME",
               "Time to look for the server, at the start and whenever the connection is lost");
  app->add_flag("--forever", flags.forever,
                "Serve one job after the other: wait for the server without limit, even after a "
                "job is done or refuses this " +
                    what + ". Ctrl-C or SIGTERM ends it")
      ->excludes(wait);
  app->add_flag("-v,--verbose", flags.verbose, "Begin each message with the time");
  return server;
}

}  // namespace

CLI::App* AddWorker(CLI::App& app, WorkerFlags& flags) {
  CLI::App* worker =
      app.add_subcommand("worker", "Work for a motley train --remote on another machine");
  AddJoining(worker, flags, "worker",
             "Threads that compute, on the processor; default: as many as this process may use");
  worker
      ->add_option("--devices", flags.devices,
                   "Devices that compute: cuda:0+cuda:1+cpu as one worker, cpu,cuda:0 as one "
                   "worker each. Default: all graphics cards as one worker, or the processor")
      ->type_name("LIST");
  worker->footer(
      "The job's token comes in the environment variable MOTLEY_TOKEN. Choose one once, of 16\n"
      "characters or more, and set it for motley train --remote as well: then this command serves\n"
      "every job there. Ctrl-C and SIGTERM hand the work back first; a second one ends it at "
      "once.\n"
      "A device on which work "
      "takes\n"
      "longer than MOTLEY_DEVICE_TIMEOUT seconds (default: 120) is given up. Drivers of devices "
      "are\n"
      "looked for in MOTLEY_MODULE_DIR first, if that is set. Example:\n"
      "  MOTLEY_TOKEN=3f...9a motley worker --server trainer.local:7000 --forever");
  return worker;
}

CLI::App* AddShardServer(CLI::App& app, ShardServerFlags& flags) {
  CLI::App* server = app.add_subcommand(
      "server", "Hold a part of the vector for a motley train --remote on another machine");
  server
      ->add_flag(
          "--shard", flags.shard,
          "Own and follow ranges of the vector, and compute nothing. The only kind of server "
          "that this command runs; motley train is the server of a job")
      ->required();
  AddJoining(server, flags, "shard server",
             "Threads that sum and update; default: as many as this process may use")
      ->required();
  server->footer(
      "A job with motley train --reduce sharded:S waits for S shard servers. Jobs with --reduce\n"
      "direct or auto use those that joined before the first step. Workers and shard servers must\n"
      "reach each other. The token comes in the environment variable MOTLEY_TOKEN, as for motley\n"
      "worker. Example: a job, and one of its two shard servers\n"
      "  motley train --data digits.csv.gz --remote --reduce sharded:2\n"
      "  MOTLEY_TOKEN=3f...9a motley server --shard --server trainer.local:7000");
  return server;
}

}  // namespace motley
