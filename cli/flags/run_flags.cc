// SPDX-License-Identifier: Apache-2.0
// Declares the commands that start processes: run and sweep.
#include "cli/commands/run_command.h"
#include "cli/commands/sweep/sweep_command.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"

namespace motley {

CLI::App* AddRun(CLI::App& app, RunFlags& flags) {
  CLI::App* run = app.add_subcommand(
      "run", "Start the server and the workers of a program: motley run [OPTIONS] PROGRAM [ARGS]");
  // Flags after the program are its own. An unknown one before it is an error.
  run->prefix_command();
  run->parse_complete_callback([run, &flags] {
    flags.program = run->remaining();
    const bool flag = !flags.program.empty() && flags.program.front().starts_with('-');
    run->prefix_command(!flag);
  });
  run->add_option("--workers", flags.workers,
                  "Number of workers on this machine; with --hosts on all hosts in turn, default: "
                  "one on each")
      ->type_name("N")
      ->transform(Within(1U, 1024U));
  run->add_option("--hosts", flags.hosts,
                  "Start workers over ssh on these hosts, a,b,c or a file with one name per line. "
                  "The server runs here. Hosts need the program in the same folder")
      ->type_name("LIST|FILE");
  run->add_option("--address", flags.address,
                  "Name or number by which other machines reach this one; default: its first "
                  "address that is not a loopback, and any port")
      ->type_name("HOST[:PORT]");
  AddValue(run, "--restart", flags.restart, "N",
           "Start a worker again that ended with an error, up to N times each")
      ->transform(Within(0U, kMostCount));
  run->add_option("--python", flags.python,
                  "Interpreter of programs that end in .py; default: MOTLEY_PYTHON, the virtual "
                  "environment's, or python3")
      ->type_name("PROGRAM");
  AddValue(run, "--grace", flags.grace, "TIME",
           "Time from SIGTERM to SIGKILL when the job is stopped, like 30s");
  run->add_option("--shared", flags.shared,
                  "Under srun and mpirun: folder that all machines share, in which the tasks find "
                  "their server; default: MOTLEY_RUN_DIR, or ~/.motley/run")
      ->type_name("DIR");
  AddValue(run, "--wait", flags.wait, "TIME",
           "Under srun and mpirun: time that a task waits for the first one to listen");
  run->add_flag("--no-local-worker", flags.alone,
                "Under srun and mpirun: the first task serves, and runs no worker");
  run->add_flag("-q,--quiet", flags.quiet, "Show nothing of what workers print");
  run->footer(
      "All processes run the same program. The server's output is the command's; lines of workers\n"
      "begin with [worker N] and go to standard error. A worker that fails is reported, and the\n"
      "job goes on. The exit code is the server's. Ctrl-C and SIGTERM end the job, the server\n"
      "first; a second one ends it at once. Nothing of the job outlives this command. Examples:\n"
      "  motley run --workers 4 train.py --epochs 3\n"
      "  motley run --hosts anna,ben,cleo train.py\n"
      "  srun --ntasks 8 --no-kill motley run train.py\n"
      "  mpirun -n 8 motley run train.py");
  return run;
}

CLI::App* AddSweep(CLI::App& app, SweepFlags& flags) {
  CLI::App* sweep =
      app.add_subcommand("sweep", "Train with many values of flags, and find the best ones");
  sweep->add_option("FILE", flags.file, "The search (TOML); docs/how-to/sweep.md explains its keys")
      ->required();
  sweep
      ->add_option("--out", flags.out,
                   "Folder for the results and models; default: FILE with the ending .out. A sweep "
                   "that was interrupted goes on from it")
      ->type_name("DIR");
  sweep->add_option("--plot", flags.plot, "Draw the loss by the values of each flag (SVG)")
      ->type_name("FILE");
  AddValue(sweep, "--grace", flags.grace, "TIME",
           "Time from SIGTERM to SIGKILL for a trial that is stopped, like 30s");
  sweep->add_flag("--json", flags.json, "The result as one JSON object");
  sweep->add_flag("-q,--quiet", flags.quiet, "No progress");
  flags.train_flags = TrainFlagNames;
  sweep->footer(
      "Each trial is a motley train of low priority. Ctrl-C ends the trials under way, and the "
      "same\n"
      "command goes on with them. Example:\n"
      "  motley sweep examples/sweep.toml --plot sweep.svg");
  return sweep;
}

}  // namespace motley
