// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/data_flags.h"

#include "CLI/CLI.hpp"
#include "cli/flags/flag_values.h"

namespace motley {

void AddDataFlags(CLI::App* train, TrainFlags& flags) {
  const char* group = "Data";
  train
      ->add_option("--data", flags.data,
                   "A folder in MNIST's layout, or a file (NPY, NPZ, safetensors, IDX, LIBSVM or "
                   "CSV, also gzipped); NPY: X.npy:labels=Y.npy")
      ->type_name("PATH[:test=FILE]")
      ->required()
      ->group(group);
  train
      ->add_option("--label", flags.label,
                   "Tables: the label's column; default: the one named label, "
                   "target, class or y, else the last")
      ->type_name("COLUMN")
      ->group(group);
  train
      ->add_option("--split", flags.job.options.split,
                   "Fraction of the samples for training, without a test file; default: 0.8")
      ->type_name("PART")
      ->check(Part())
      ->group(group);
  train
      ->add_option("--task", flags.task,
                   "classify or regress; default: texts and few different whole numbers are "
                   "classes, other labels are predicted as numbers")
      ->type_name("WHAT")
      ->group(group);
  train
      ->add_option(
          "--missing", flags.missing,
          "Tables: replacement of a missing value: median (of the column; of text no category), "
          "indicator (the same, plus a feature that marks it) or error; default: median")
      ->type_name("HOW")
      ->group(group);
  train
      ->add_option("--scale", flags.scale,
                   "standard (each column of numbers to mean 0 and deviation 1, and the target of "
                   "a regression), largest (all divided by the largest magnitude) or none; "
                   "default: standard for CSV, unless columns are alike already, else largest")
      ->type_name("HOW")
      ->group(group);
  train
      ->add_option(
          "--decimal", flags.decimal,
          "Tables: the decimal mark of numbers like 1,137: point or comma; default: by the "
          "values of the file")
      ->type_name("MARK")
      ->group(group);
  train->add_option("--drop", flags.drop, "Tables: columns that are not features, like name,date")
      ->type_name("COLUMNS")
      ->group(group);
  train
      ->add_option("--memory", flags.job.options.memory_bytes,
                   "Memory of each process for samples, like 512MiB; more go to a file in TMPDIR. "
                   "Default: a part of the free memory")
      ->type_name("SIZE")
      ->transform(Size())
      ->group(group);
  train
      ->add_option("--storage", flags.storage,
                   "float32, fp16 or bf16: dense features are rounded to this type, sent and kept "
                   "in it; 16 bits take half of the memory; default: float32")
      ->type_name("KIND")
      ->group(group);
}

}  // namespace motley
