// SPDX-License-Identifier: Apache-2.0
// Keeps the samples of one file as they are read.
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
  // `model_features`: of the model that the samples are for; absent features are 0 where samples
  // are sparse. All references are borrowed.
  SampleCollector(std::string path, LabelCoder& labels, MemoryBudget& budget,
                  std::optional<uint32_t> model_features);

  // kDataError: labels (see LabelCoder), features that do not fit the model, too many samples.
  Status Take(RawSamples& block) override;
  // Once the file has been read. kDataError: no samples, or none with features.
  Status Check() const;
  // kDataError when the samples of both have other features, kinds or names.
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
