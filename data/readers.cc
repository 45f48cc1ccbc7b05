// SPDX-License-Identifier: Apache-2.0
#include "data/readers.h"

#include <fmt/format.h>

#include <utility>

#include "base/host.h"
#include "data/files/data_files.h"
#include "data/files/file_io.h"
#include "data/formats/csv_format.h"
#include "data/formats/idx_format.h"
#include "data/formats/libsvm_format.h"
#include "data/formats/npy_format.h"
#include "data/formats/npz_format.h"
#include "data/formats/safetensors_format.h"
#include "data/sample_collector.h"
#include "data/tables/table_reading.h"

namespace motley {
namespace {

// Formats in the order in which they are tried. CSV accepts any text, so it is last.
const FileFormat* const kFormats[] = {&kNpyFormat, &kNpzFormat,    &kSafetensorsFormat,
                                      &kIdxFormat, &kLibsvmFormat, &kCsvFormat};
constexpr size_t kHeadBytes = size_t{1} << 16;

// Recognises formats that Motley does not read, and says how to convert them.
Status CheckConvertible(const std::string& path, std::string_view head) {
  struct Foreign {
    std::string_view start;
    const char* name;
    const char* reader;  // Name of the pandas function that reads it.
  };
  constexpr Foreign kForeign[] = {{"PAR1", "Parquet", "read_parquet"},
                                  {"ARROW1", "Arrow (Feather)", "read_feather"},
                                  {"FEA1", "Feather", "read_feather"},
                                  {"\x89HDF", "HDF5", "read_hdf"},
                                  {"\xD0\xCF\x11\xE0", "Excel", "read_excel"},
                                  {"\x80\x04\x95", "a Python pickle", "read_pickle"}};
  const auto refuse = [&](const char* name, const char* reader) {
    return Status::DataError(fmt::format(
        "{}: is {}. Motley cannot read that. Convert it with\n  python3 -c \"import pandas; "
        "pandas.{}('{}').to_csv('{}.csv', index=False)\"",
        path, name, reader, path, path));
  };
  for (const Foreign& foreign : kForeign) {
    if (head.starts_with(foreign.start)) return refuse(foreign.name, foreign.reader);
  }
  if (head.starts_with("PK") && head.substr(0, 256).find("[Content_Types]") != head.npos) {
    return refuse("Excel", "read_excel");
  }
  if (!head.starts_with("\xFF\xFE") && !head.starts_with("\xFE\xFF")) return Status::Ok();
  return Status::DataError(
      fmt::format("{}: is text in UTF-16. Convert it with\n  iconv -f UTF-16 -t UTF-8 {} > {}.csv",
                  path, path, path));
}

Result<const FileFormat*> FormatOf(const std::string& path, StreamReader& stream) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string_view head, stream.Peek(kHeadBytes));
  if (head.empty()) return Status::DataError(path + ": the file is empty");
  MOTLEY_RETURN_IF_ERROR(CheckConvertible(path, head));
  for (const FileFormat* format : kFormats) {
    if (format->sniff(head)) return format;
  }
  return Status::DataError(
      path + ": is neither NPY, NPZ, safetensors, IDX, LIBSVM nor CSV (each may be gzipped)");
}

// An open file and its format.
struct Opened {
  std::unique_ptr<StreamReader> stream;
  const FileFormat* format = nullptr;
};

Result<Opened> Open(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> file, OpenFileStream(path));
  Opened opened;
  opened.stream = std::make_unique<StreamReader>(std::move(file));
  MOTLEY_ASSIGN_OR_RETURN(opened.format, FormatOf(path, *opened.stream));
  return opened;
}

// Takes samples until they are no longer wanted.
class WantedSink final : public SampleSink {
 public:
  WantedSink(SampleSink& inner, const Unwanted& unwanted) : inner_(inner), unwanted_(unwanted) {}
  Status Take(RawSamples& block) override {
    if (unwanted_ && unwanted_()) return Status::Cancelled("the reading of samples was stopped");
    return inner_.Take(block);
  }

 private:
  SampleSink& inner_;
  const Unwanted& unwanted_;
};

Status ReadInto(const InputFile& file, Opened opened, const ReadOptions& options,
                SampleCollector& samples) {
  if (!options.label.empty() && !opened.format->has_columns) {
    return Status::InvalidArgument(
        fmt::format("{} is {}, which has no columns to choose the label from: leave `label` out",
                    file.path, opened.format->name));
  }
  if (!file.labels.empty() && !opened.format->separate_labels) {
    return Status::InvalidArgument(
        fmt::format("{} is {}, which has its labels inside: leave labels={} out", file.path,
                    opened.format->name, file.labels));
  }
  WantedSink wanted(samples, options.unwanted);
  MOTLEY_RETURN_IF_ERROR(opened.format->read(file, *opened.stream, options, wanted));
  return samples.Check();
}

uint64_t BudgetOf(const ReadOptions& options) {
  constexpr uint64_t kUnknown = uint64_t{1} << 30;
  if (options.memory_bytes != 0) return options.memory_bytes;
  const uint64_t available = AvailableMemoryBytes();
  return available != 0 ? available / 2 : kUnknown;
}

// True if the file has a test part and no other test data were named.
Result<bool> HasOwnTest(const DataSpec& files, const Opened& train) {
  if (!files.test.empty() || train.format->has_test == nullptr) return false;
  return train.format->has_test(files.path);
}

Result<OpenedData> OpenAll(const DataSpec& files, const ReadOptions& given) {
  using Kind = LabelCoder::Kind;
  ReadOptions options = given;
  const Kind kind = options.guess ? Kind::kGuess : Kind::kDiscover;
  LabelCoder labels(options.regression ? Kind::kRegression : kind, {});
  labels.Expect({.classes = options.expected_classes, .names = options.expected_names});
  if (options.table != nullptr && options.table->schema() == nullptr) {
    labels.TakeWritten(options.table->options().decimal);
  }
  MemoryBudget budget{.left = BudgetOf(options)};
  MOTLEY_ASSIGN_OR_RETURN(Opened opened, Open(files.path));
  OpenedData data;
  // Test samples in CSV for training samples in arrays are plain numbers.
  if (!opened.format->has_columns) options.table = nullptr;
  if (opened.format->separate_labels && files.labels.empty()) {
    data.notes.emplace_back(
        "the last column of `data` is taken for the labels. A separate file of labels is "
        "given as in X.npy:labels=Y.npy");
  }
  MOTLEY_ASSIGN_OR_RETURN(const bool own_test, HasOwnTest(files, opened));
  SampleCollector train(files.path, labels, budget, std::nullopt);
  MOTLEY_RETURN_IF_ERROR(
      ReadInto({.path = files.path, .labels = files.labels}, std::move(opened), options, train));
  if (options.table != nullptr) MOTLEY_RETURN_IF_ERROR(options.table->EndFirst());
  const std::string& test_path = own_test ? files.path : files.test;
  SampleCollector test(test_path, labels, budget, std::nullopt);
  if (!test_path.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(opened, Open(test_path));
    MOTLEY_RETURN_IF_ERROR(
        ReadInto({.path = test_path, .labels = files.test_labels, .test = own_test},
                 std::move(opened), options, test));
    MOTLEY_RETURN_IF_ERROR(train.Match(test));
  }
  std::vector<float> index;
  const bool table = options.table != nullptr && options.table->begun();
  LabelRule rule = table ? LabelRule::kFewAreClasses : LabelRule::kWholeAreClasses;
  if (options.two_classes) rule = LabelRule::kTwoAreClasses;
  const Decimal likely = table ? options.table->LikelyDecimal() : Decimal::kPoint;
  MOTLEY_ASSIGN_OR_RETURN(LabelMeaning meaning, labels.Finish(files.path, rule, index, likely));
  data.class_labels = std::move(meaning.classes);
  data.class_names = std::move(meaning.names);
  data.label_form = std::move(meaning.form);
  const auto classes = static_cast<uint32_t>(data.class_labels.size());
  data.names = train.names();
  for (const SampleCollector* part : {&train, &test}) {
    data.notes.insert(data.notes.end(), part->notes().begin(), part->notes().end());
  }
  if (options.table != nullptr) {
    for (std::string& note : options.table->TakeNotes()) data.notes.push_back(std::move(note));
  }
  if (!meaning.note.empty()) data.notes.push_back(std::move(meaning.note));
  data.train = train.Finish(classes, index);
  if (!test_path.empty()) data.test = test.Finish(classes, index);
  return data;
}

Result<std::shared_ptr<const DataSource>> OpenForModel(const DataSpec& files,
                                                       const ReadOptions& options,
                                                       const std::vector<double>& class_labels,
                                                       uint32_t features,
                                                       const std::vector<std::string>& names) {
  using Kind = LabelCoder::Kind;
  const bool test = !files.test.empty();
  InputFile file{.path = test ? files.test : files.path,
                 .labels = test ? files.test_labels : files.labels};
  MOTLEY_ASSIGN_OR_RETURN(Opened opened, Open(file.path));
  MOTLEY_ASSIGN_OR_RETURN(file.test, HasOwnTest(files, opened));
  LabelCoder labels(class_labels.empty() ? Kind::kRegression : Kind::kKnown, class_labels, names);
  MemoryBudget budget{.left = BudgetOf(options)};
  SampleCollector samples(file.path, labels, budget, features);
  MOTLEY_RETURN_IF_ERROR(ReadInto(file, std::move(opened), options, samples));
  return samples.Finish(static_cast<uint32_t>(class_labels.size()), {});
}

}  // namespace

Result<OpenedData> OpenTrainingData(const std::string& spec, const ReadOptions& options) {
  return WithinMemory(spec, [&]() -> Result<OpenedData> {
    MOTLEY_ASSIGN_OR_RETURN(const DataSpec files, FindFiles(spec));
    return OpenAll(files, options);
  });
}

Result<std::shared_ptr<const DataSource>> OpenLabelled(
    const std::string& spec, const ReadOptions& options, const std::vector<double>& class_labels,
    uint32_t features, const std::vector<std::string>& class_names) {
  return WithinMemory(spec, [&]() -> Result<std::shared_ptr<const DataSource>> {
    MOTLEY_ASSIGN_OR_RETURN(const DataSpec files, FindFiles(spec));
    return OpenForModel(files, options, class_labels, features, class_names);
  });
}

Result<TrainingData> ReadTrainingData(const std::string& spec, const ReadOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(const OpenedData opened, OpenTrainingData(spec, options));
  return WithinMemory(spec, [&]() -> Result<TrainingData> {
    TrainingData data;
    data.class_labels = opened.class_labels;
    MOTLEY_ASSIGN_OR_RETURN(data.train, opened.train->Range(0, opened.train->shape().rows));
    if (opened.test == nullptr) return data;
    MOTLEY_ASSIGN_OR_RETURN(data.test, opened.test->Range(0, opened.test->shape().rows));
    return data;
  });
}

Result<Dataset> ReadLabelled(const std::string& path, const ReadOptions& options,
                             const std::vector<double>& class_labels, uint32_t features) {
  MOTLEY_ASSIGN_OR_RETURN(const auto source, OpenLabelled(path, options, class_labels, features));
  return WithinMemory(path, [&] { return source->Range(0, source->shape().rows); });
}

}  // namespace motley
