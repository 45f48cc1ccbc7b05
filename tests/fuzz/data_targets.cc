// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/assert.h"
#include "data/formats/safetensors_header.h"
#include "data/readers.h"
#include "data/tables/table_view.h"
#include "tests/fuzz/holds_together.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"
#include "training/model_files/safetensors.h"

namespace motley::fuzz {
namespace {

// Reads labels as classes and as real numbers. An error must have a message.
void Read(const std::string& path) {
  for (const bool regression : {false, true}) {
    const auto data = ReadTrainingData(path, {.regression = regression});
    if (!data.ok()) {
      MOTLEY_ASSERT(!data.status().message().empty());
      continue;
    }
    ExpectHoldsTogether(data->train);
    if (data->test.has_value()) ExpectHoldsTogether(*data->test);
    MOTLEY_ASSERT(data->class_labels.size() == data->train.classes);
  }
}

void ReadTable(const std::string& path) {
  ReadOptions options;
  options.guess = true;
  options.table = std::make_shared<TableReading>(TableOptions{});
  const auto data = OpenTrainingData(path, options);
  if (!data.ok() || !options.table->begun()) return;
  const auto learned =
      LearnTable(*options.table, *data->train, std::nullopt, data->class_labels.empty());
  if (!learned.ok()) return;
  const auto schema = std::make_shared<const TableSchema>(learned->schema);
  MOTLEY_ASSERT(ParseTableSchema(ToJson(*schema)).ok());
  const TableView view(data->train, schema, *options.table);
  ExpectHoldsTogether(*view.Range(0, view.shape().rows));
}

}  // namespace

void Csv(std::string_view input) {
  const std::string path = Scratch::Write("a.csv", input);
  Read(path);
  ReadTable(path);
}
void Gzip(std::string_view input) { Read(Scratch::Write("a.gz", input)); }
void Libsvm(std::string_view input) { Read(Scratch::Write("a.svm", input)); }
void Npy(std::string_view input) { Read(Scratch::Write("a.npy", input)); }
void Npz(std::string_view input) { Read(Scratch::Write("a.npz", input)); }
void SafetensorsData(std::string_view input) { Read(Scratch::Write("a.safetensors", input)); }

// The input is read as images with three labels, and as labels of three images.
void Idx(std::string_view input) {
  using namespace std::string_view_literals;
  Scratch::Write("a-labels-idx1", "\0\0\x08\x01\0\0\0\x03\0\1\2"sv);
  Read(Scratch::Write("a-images-idx3", input));
  Scratch::Write("b-labels-idx1", input);
  Read(Scratch::Write("b-images-idx3", "\0\0\x08\x03\0\0\0\x03\0\0\0\2\0\0\0\1abcdef"sv));
}

void SafetensorsModel(std::string_view input) {
  const auto header = ParseSafetensorsHeader(input);
  if (header.ok()) {
    for (const auto& [name, tensor] : header->tensors) {
      MOTLEY_ASSERT(tensor.begin <= tensor.end);
      MOTLEY_ASSERT(tensor.end <= input.size() - header->data_begin);
    }
  }
  const auto loaded = LoadModel(Scratch::Write("model.safetensors", input));
  if (!loaded.ok()) return;
  MOTLEY_ASSERT(header.ok());
  const auto model = Model::Create(loaded->spec);
  MOTLEY_ASSERT(model.ok());
  MOTLEY_ASSERT(loaded->parameters.size() == (*model)->parameter_count());
  for (const float parameter : loaded->parameters) MOTLEY_ASSERT(std::isfinite(parameter));
}

}  // namespace motley::fuzz
