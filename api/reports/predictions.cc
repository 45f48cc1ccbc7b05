// SPDX-License-Identifier: Apache-2.0
#include "api/reports/predictions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "data/files/file_io.h"
#include "training/models/model_session.h"

namespace motley {
namespace {

constexpr size_t kBlockRows = 1024;

// Standard output, or a file that replaces an older one when it is complete.
class OutputFile {
 public:
  explicit OutputFile(std::string path)
      : path_(std::move(path)), partial_(path_ + ".partial"), stdout_(path_ == "-") {}
  ~OutputFile() {
    if (file_ == nullptr || stdout_) return;
    std::fclose(file_);
    unlink(partial_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status Open() {
    if (!stdout_) {  // Like SaveModel: refuse devices, follow links.
      MOTLEY_ASSIGN_OR_RETURN(path_, ReplaceTarget(path_));
      partial_ = path_ + ".partial";
    }
    file_ = stdout_ ? stdout : std::fopen(partial_.c_str(), "wb");
    return file_ != nullptr ? Status::Ok() : Failed();
  }
  Status Write(std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ? Status::Ok()
                                                                             : Failed();
  }
  Status Close() {
    if (stdout_) return std::fflush(file_) == 0 ? Status::Ok() : Failed();
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (closed && std::rename(partial_.c_str(), path_.c_str()) == 0) return Status::Ok();
    const Status failed = Failed();
    unlink(partial_.c_str());
    return failed;
  }

 private:
  Status Failed() const {
    return Status::Resource(fmt::format("the predictions cannot be written to {}: {}",
                                        stdout_ ? "the standard output" : path_,
                                        std::generic_category().message(errno)));
  }

  std::string path_;
  std::string partial_;
  bool stdout_;
  std::FILE* file_ = nullptr;
};

// The prediction in a row of a model's outputs.
struct Prediction {
  size_t choice = 0;                // A class.
  double number = 0;                // Used by models without classes.
  std::vector<double> probability;  // One per class.
};

void Explain(const Model& model, const TableSchema* table, std::span<const float> scores,
             Prediction& out) {
  if (model.spec().classes == 0) {
    out.number = scores[0];
    if (table != nullptr) out.number = out.number * table->target_deviation + table->target_mean;
    return;
  }
  if (model.loss() != Loss::kSoftmax) {  // One score, for class 1.
    out.choice = scores[0] > 0 ? 1 : 0;
    const double one = 1 / (1 + std::exp(-static_cast<double>(scores[0])));
    out.probability = {1 - one, one};
    return;
  }
  const auto best = std::max_element(scores.begin(), scores.end());
  out.choice = static_cast<size_t>(best - scores.begin());
  out.probability.clear();
  double sum = 0;
  for (const float score : scores) {
    out.probability.push_back(std::exp(static_cast<double>(score) - *best));
    sum += out.probability.back();
  }
  for (double& probability : out.probability) probability /= sum;
}

// Quotes a field of CSV if necessary.
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\n\r;") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

class Writer {
 public:
  virtual ~Writer() = default;
  virtual std::string Head(uint64_t rows) const = 0;
  virtual void Add(const Prediction& prediction, std::string& to) const = 0;
};

class CsvWriter final : public Writer {
 public:
  CsvWriter(std::vector<std::string> classes, bool probabilities)
      : classes_(std::move(classes)), probabilities_(probabilities) {}

  std::string Head(uint64_t /*rows*/) const override {
    std::string head = "prediction";
    if (probabilities_) {
      for (const std::string& name : classes_) head += "," + Field("p_" + name);
    }
    return head + "\n";
  }
  void Add(const Prediction& prediction, std::string& to) const override {
    to += classes_.empty() ? fmt::format("{:.7g}", prediction.number)
                           : Field(classes_[prediction.choice]);
    if (probabilities_) {
      for (const double probability : prediction.probability) {
        to += fmt::format(",{:.6g}", probability);
      }
    }
    to += '\n';
  }

 private:
  std::vector<std::string> classes_;
  bool probabilities_;
};

std::u32string CodePoints(std::string_view utf8) {
  std::u32string out;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80 && !out.empty()) {
      out.back() = out.back() << 6 | (byte & 0x3f);
    } else {
      out += byte < 0x80 ? byte : byte < 0xe0 ? byte & 0x1f : byte < 0xf0 ? byte & 0x0f : byte & 7;
    }
  }
  return out;
}

template <typename T>
void AppendBytes(const T& value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

class NpyWriter final : public Writer {
 public:
  NpyWriter(const SavedModel& saved, const TableSchema* table, bool probabilities)
      : labels_(saved.class_labels), probabilities_(probabilities) {
    if (table != nullptr) {
      for (const std::string& name : table->classes) names_.push_back(CodePoints(name));
    }
    for (const std::u32string& name : names_) width_ = std::max(width_, name.size());
    whole_ = std::all_of(labels_.begin(), labels_.end(), [](double label) {
      return label == std::floor(label) && std::abs(label) < 9e18;
    });
  }

  std::string Head(uint64_t rows) const override {
    const std::string shape =
        probabilities_ ? fmt::format("({}, {})", rows, labels_.size()) : fmt::format("({},)", rows);
    std::string head =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", Type(), shape);
    constexpr size_t kAlignment = 64, kBefore = 10;
    head.resize((head.size() + kBefore + kAlignment) / kAlignment * kAlignment - kBefore - 1, ' ');
    head += '\n';
    std::string out("\x93NUMPY\x01\x00", 8);
    AppendBytes(static_cast<uint16_t>(head.size()), out);
    return out + head;
  }
  void Add(const Prediction& prediction, std::string& to) const override {
    if (probabilities_) {
      for (const double p : prediction.probability) AppendBytes(static_cast<float>(p), to);
    } else if (!names_.empty()) {
      std::u32string name = names_[prediction.choice];
      name.resize(width_);
      to.append(reinterpret_cast<const char*>(name.data()), name.size() * sizeof(char32_t));
    } else if (!labels_.empty() && whole_) {
      AppendBytes(static_cast<int64_t>(labels_[prediction.choice]), to);
    } else {
      AppendBytes(labels_.empty() ? prediction.number : labels_[prediction.choice], to);
    }
  }

 private:
  std::string Type() const {
    if (probabilities_) return "<f4";
    if (!names_.empty()) return fmt::format("<U{}", width_);
    return !labels_.empty() && whole_ ? "<i8" : "<f8";
  }

  std::vector<double> labels_;
  bool probabilities_;
  std::vector<std::u32string> names_;
  size_t width_ = 1;
  bool whole_ = false;
};

}  // namespace

Status CheckProbabilities(const Model& model, bool wanted) {
  if (!wanted) return Status::Ok();
  const char* why = nullptr;
  if (model.spec().classes == 0) why = "predicts numbers, which have no probabilities";
  if (model.loss() == Loss::kHinge) {
    why = "has scores, but no probabilities; logistic and softmax have some";
  }
  if (why == nullptr) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("`probabilities`: the model {} {}. Leave it out", model.spec().name, why));
}

Result<PredictionCount> WritePredictions(const PredictionRequest& request, const Model& model,
                                         const SavedModel& saved, const ModelData& data,
                                         Device& device) {
  MOTLEY_RETURN_IF_ERROR(CheckProbabilities(model, request.probabilities));
  const DataShape shape = data.samples->shape();
  std::unique_ptr<Writer> writer;
  if (request.out.ends_with(".npy")) {
    writer = std::make_unique<NpyWriter>(saved, data.table.get(), request.probabilities);
  } else {
    writer = std::make_unique<CsvWriter>(ClassNames(saved.class_labels, data.table.get()),
                                         request.probabilities);
  }
  OutputFile file(request.out);
  MOTLEY_RETURN_IF_ERROR(file.Open());
  MOTLEY_RETURN_IF_ERROR(file.Write(writer->Head(shape.rows)));
  ModelSession session(device, model);
  PredictionCount count;
  Prediction prediction;
  std::vector<float> outputs;
  std::string text;
  while (count.rows < shape.rows) {
    MOTLEY_ASSIGN_OR_RETURN(
        Dataset block,
        data.samples->Range(count.rows, std::min<size_t>(count.rows + kBlockRows, shape.rows)));
    for (float& label : block.label) {
      count.labelled += std::isnan(label) ? 0 : 1;
      if (std::isnan(label)) label = 0;  // Not used in any computation.
    }
    MOTLEY_RETURN_IF_ERROR(session.Forward(saved.parameters, 0, block, outputs));
    text.clear();
    for (size_t row = 0; row < block.rows(); ++row) {
      Explain(model, data.table.get(),
              std::span<const float>(outputs).subspan(row * model.outputs(), model.outputs()),
              prediction);
      writer->Add(prediction, text);
    }
    MOTLEY_RETURN_IF_ERROR(file.Write(text));
    count.rows += block.rows();
  }
  MOTLEY_RETURN_IF_ERROR(file.Close());
  return count;
}

}  // namespace motley
