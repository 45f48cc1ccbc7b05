// SPDX-License-Identifier: Apache-2.0
// Collects the samples of one file as they are read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/labels.h"
#include "data/tables/stored_source.h"

namespace motley {

class SampleCollector final : public SampleSink {
 public:
  // `model_features` is the number of features of the model that the samples are for. Sparse
  // samples may have fewer; absent features are 0. All references are borrowed.
  SampleCollector(std::string path, LabelCoder& labels, MemoryBudget& budget,
                  std::optional<uint32_t> model_features);

  // kDataError: bad labels (see LabelCoder), features that do not fit the model, or too many
  // samples.
  Status Take(RawSamples& block) override;
  // Called after the whole file was read. kDataError: no samples, or none with features.
  Status Check() const;
  // Checks that both files have the same features, kind and names; kDataError otherwise.
  Status Match(SampleCollector& other);
  std::shared_ptr<const DataSource> Finish(uint32_t classes, const std::vector<float>& index);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status FitModel(const RawSamples& block) const;

  std::string path_;
  LabelCoder& labels_;
  MemoryBudget& budget_;
  std::optional<uint32_t> model_features_;
  uint32_t features_ = 0;
  bool sparse_ = false;
  std::vector<std::string> names_;
  std::vector<std::string> notes_;
  std::shared_ptr<StoredSource> source_ = std::make_shared<StoredSource>();
};

}  // namespace motley
