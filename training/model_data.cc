// SPDX-License-Identifier: Apache-2.0
#include "training/model_data.h"

#include <utility>

#include "training/architecture.h"

namespace motley {

Result<OpenedData> OpenDataFor(const std::string& model, const std::string& spec,
                               ReadOptions options) {
  const bool either = WordOf(model) == "factorization";
  options.regression = model == "linear";
  Result<OpenedData> data = OpenTrainingData(spec, options);
  const bool two = data.ok() && data->class_labels.size() == 2;
  if (!either || two || (!data.ok() && data.code() != StatusCode::kDataError)) return data;
  // Labels that are no classes are an error of that reading alone.
  data = Status::Cancelled("read again");  // First, so that both need not fit.
  options.regression = true;
  return OpenTrainingData(spec, options);
}

uint32_t ClassesFor(const std::string& model, uint32_t wanted) {
  const std::string_view word = WordOf(model);
  if (word == "linear" || word == "factorization") return 0;
  return word == "logistic" || word == "hinge" ? 2 : wanted;
}

}  // namespace motley
