// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/help_topics.h"

#include <algorithm>
#include <iterator>

#include "fmt/core.h"
#include "runtime/fault_plan.h"

namespace motley {
namespace {

struct Topic {
  const char* name;
  const char* line;
  const char* page;  // The text {list} stands for what `list` returns.
  std::string (*list)() = nullptr;
};

std::string ListOfFaults() {
  std::string text;
  for (const FaultForm& form : FaultForms()) {
    text += fmt::format("  {:<22}{}\n", form.example, form.effect);
  }
  return text;
}

constexpr Topic kTopics[] = {
    {"choosing-codes", "Which --code to choose, and what each costs",
     R"(Codes: how a step gets along without its slowest workers

auto, the default, chooses while the job runs, from the workers that it has. The others are for
comparisons, and for users who know their cluster.

The cost of a missing answer with each code:
  none            The step waits, or others compute the missing part. No work is done twice.
  adaptive        Work moves within a step from a late worker to one that has a copy of its data.
                  No work is done twice; data are sent and kept S + 1 times.
  repetition, multi-message
                  Copies are computed S + 1 times, and the first one counts. Sums are exact.
  cyclic, heterogeneous, group, rs, graph
                  Coded copies: any S workers may be missing. Work is S + 1 times the batch.
  short, partial-coded
                  Answers are 1/M as long as the gradient, for S + M copies: for thin links.
  approximate     A step ends before all needed answers are there, and reports the error of its
                  gradient.

S is --tolerate, M is --parts. On your own cluster:
  motley plan --cluster FILE.toml
  motley simulate --cluster FILE.toml --compare none,repetition,adaptive
  motley codes --code NAME           shows a code's matrix and its loads
)"},
    {"data", "Files that --data takes",
     R"(Data: files that --data takes

  CSV             Tables, with text, classes by name and missing values; --label names the label's
                  column. Columns are standardised (--scale), and found by name when predicting.
  NPY, NPZ        NumPy's arrays: X.npy:labels=Y.npy, or one NPZ with both.
  safetensors     One array of features and one of labels.
  IDX             MNIST's files, or a folder that has them under their usual names.
  LIBSVM          Sparse rows: label index:value index:value ...

All but NPZ may be compressed with gzip; - is the standard input. --data train.csv:test=test.csv
names a test file; without one a fifth of the samples is held out for testing (--split). Samples
that do not fit into memory are kept in a file in TMPDIR (--memory).
)"},
    {"environment", "Variables that commands read",
     R"(Environment: variables that commands read

  MOTLEY_TOKEN           The token that admits a worker. motley train --remote generates and prints
                         one; set it on the server to keep commands the same between jobs.
  MOTLEY_PYTHON          motley run: the interpreter of programs that end in .py.
  MOTLEY_RUN_DIR         motley run under srun and mpirun: the folder where tasks find their server.
  MOTLEY_RUN_ID          motley run under mpirun: the job's name, if mpirun gives its tasks none.
  MOTLEY_MODULE_DIR      The folder of the kernel modules, if it is not beside the program.
  MOTLEY_DEVICE_TIMEOUT  Seconds after which a device that does not answer counts as hung.
  TMPDIR                 The folder for samples that do not fit into memory.
  XDG_CACHE_HOME         The folder for measured profiles and compiled kernels, in motley below it;
                         default: ~/.cache.
  NO_COLOR               The progress bar is drawn without colour.
  TERM=dumb              Progress comes in plain lines, as without a terminal.
)"},
    {"exit-codes", "Exit codes of the program",
     R"(Exit codes

    0       All is well.
    1       The job or the command failed. An audit that found a wrong answer counts as failure.
    2       The command line is wrong.
    3       A file, a checkpoint or a device was not found.
    4       The server or all workers are unavailable, or a time limit has passed.
    5       No permission: a file, or a token that is not the job's.
    6       Conflict: another job uses the folder, or the releases do not match.
  128 + N   Signal N stopped it: 130 for Ctrl-C.
)"},
    {"faults", "Faults that --fault causes",
     R"(Faults: what --fault does to a job of local or simulated workers

{list}
Workers and steps count from 0. The flag may be repeated. An example:
  motley train --data digits.csv.gz --workers 4 --fault pause:1@step=20,2s --fault kill:2@step=50
)",
     ListOfFaults},
    {"keys", "Keys while a job trains in a terminal",
     R"(Keys: what they do while a job trains in a terminal

  t                     Shows a table of the workers above the bar, and hides it:
                          share      fraction of all samples computed in the last two seconds
                          samples/s  samples of the worker per second
                          late       steps that ended without an answer from the worker
                          state      up, idle (it computed nothing in these seconds),
                                     late (others do its work until it answers again),
                                     left (it left by itself) or lost
  Ctrl-C                Stops in good order: the last checkpoint, --out, the table at the end.
                        A second one ends it at once.
  Ctrl-Z                Pauses the job; fg continues it.

motley train --verbose reports events in between, with their times.
)"},
    {"models", "Models that --model takes",
     R"(Models: what --model takes

  softmax         Any number of classes. The default where labels are classes.
  logistic        Two classes.
  hinge           Two classes: a linear support vector machine.
  linear          Real numbers. The default where labels are real numbers.
  mlp:256,128     Hidden layers of these widths, for classes or real numbers;
                  mlp:256,norm,128 has a layer normalisation in between.
  cnn:16,32/128   Square images: convolutions of 3 x 3 with pooling, then hidden layers, for classes
                  or real numbers; cnn@28x28x1:16,32 gives the shape.
  factorization:16
                  A factorisation machine of 16 factors, for two classes or real numbers.

--task says whether labels are classes or real numbers, if they could be either. --init begins
with the parameters of a model's file.
)"},
    {"remote", "Training on several machines",
     R"(Remote: training on several machines

Choose a token of 16 characters or more, and set it on every machine:
  export MOTLEY_TOKEN=...
On the machine that has the data:
  motley train --data FILE --remote --workers 2..8
It prints the command that starts a worker, and runs one itself. On each of the other machines:
  motley worker --server HOST:7000 --forever

Workers need nothing but the program: data and model come from the server. They may come and leave
at any time (Ctrl-C hands their work back). The job goes on without a worker that dies, is switched
off or loses its network. With --forever a worker serves the next job, too. The token keeps
strangers out. Nothing is encrypted: use a tunnel on networks that you do not trust.
)"},
};

}  // namespace

std::vector<std::string> TopicNames() {
  std::vector<std::string> names;
  std::transform(std::begin(kTopics), std::end(kTopics), std::back_inserter(names),
                 [](const Topic& topic) { return topic.name; });
  return names;
}

std::string ListOfTopics() {
  std::string text = "Topics (motley help TOPIC):\n";
  for (const Topic& topic : kTopics) text += fmt::format("  {:<28}{}\n", topic.name, topic.line);
  return text;
}

std::string TopicPage(std::string_view topic) {
  const auto found = std::find_if(std::begin(kTopics), std::end(kTopics),
                                  [&](const Topic& each) { return topic == each.name; });
  if (found == std::end(kTopics)) return "";
  constexpr std::string_view kList = "{list}";
  std::string page = found->page;
  if (found->list != nullptr) page.replace(page.find(kList), kList.size(), found->list());
  return page;
}

}  // namespace motley
