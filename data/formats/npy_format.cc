// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npy_format.h"

#include <fmt/format.h>

#include <optional>

#include "data/formats/array_samples.h"
#include "data/formats/npy_header.h"

namespace motley {
namespace {

Result<ArrayInput> OpenArray(const std::string& path, StreamReader& stream) {
  const Result<NpyHeader> header = ReadNpyHeader(stream);
  if (!header.ok()) return header.status().WithContext(path);
  return ArrayInput{.name = path,
                    .type = header->type,
                    .shape = header->shape,
                    .stream = &stream,
                    .column_major = header->column_major};
}

Status ExpectEnd(const std::string& path, StreamReader& stream) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string_view more, stream.Peek(1));
  if (more.empty()) return Status::Ok();
  return Status::DataError(path + ": has bytes after the end of its array");
}

Result<std::vector<double>> ReadLabelFile(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> file, OpenFileStream(path));
  StreamReader stream(std::move(file));
  MOTLEY_ASSIGN_OR_RETURN(const ArrayInput array, OpenArray(path, stream));
  MOTLEY_ASSIGN_OR_RETURN(std::vector<double> labels, ReadLabels(array));
  MOTLEY_RETURN_IF_ERROR(ExpectEnd(path, stream));
  return labels;
}

Status ReadNpy(const InputFile& file, StreamReader& stream, const ReadOptions& options,
               SampleSink& sink) {
  std::optional<std::vector<double>> labels;
  if (!file.labels.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(labels, ReadLabelFile(file.labels));
  }
  MOTLEY_ASSIGN_OR_RETURN(const ArrayInput array, OpenArray(file.path, stream));
  MOTLEY_RETURN_IF_ERROR(ReadSamples(array, labels, file.path, options.unlabelled_features, sink));
  return ExpectEnd(file.path, stream);
}

}  // namespace

const FileFormat kNpyFormat = {"NPY",
                               IsNpy,
                               ReadNpy,
                               nullptr,
                               /*has_columns=*/false,
                               /*separate_labels=*/true};

}  // namespace motley
