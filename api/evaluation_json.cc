// SPDX-License-Identifier: Apache-2.0
#include "api/evaluation_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace motley {

using Json = nlohmann::ordered_json;

namespace {

// NaN and infinity become null.
std::string TextOf(const Json& json) { return json.dump(2); }

}  // namespace

std::string EvaluationJson(const Evaluation& found, const std::vector<double>& class_labels) {
  Json json = {{"count", found.samples}, {"loss", found.loss}};
  const std::pair<const char*, std::optional<double>> scores[] = {{"accuracy", found.accuracy},
                                                                  {"f1", found.f1},
                                                                  {"log_loss", found.log_loss},
                                                                  {"auc", found.auc},
                                                                  {"r2", found.r2},
                                                                  {"rmse", found.rmse},
                                                                  {"mae", found.mae}};
  for (const auto& [name, score] : scores) {
    if (score) json[name] = *score;
  }
  if (found.confusion.empty()) return TextOf(json);
  size_t classes = 0;
  while (classes * classes < found.confusion.size()) ++classes;
  Json rows = Json::array();
  for (size_t row = 0; row < classes; ++row) {
    const auto begin = found.confusion.begin() + static_cast<ptrdiff_t>(row * classes);
    rows.push_back(std::vector<uint64_t>(begin, begin + static_cast<ptrdiff_t>(classes)));
  }
  json["confusion"] = {{"matrix", std::move(rows)}};
  if (class_labels.size() == classes) json["confusion"]["labels"] = class_labels;
  return TextOf(json);
}

}  // namespace motley
