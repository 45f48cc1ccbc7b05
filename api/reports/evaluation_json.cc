// SPDX-License-Identifier: Apache-2.0
#include "api/reports/evaluation_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace motley {

using Json = nlohmann::ordered_json;

namespace {

// The text of `json`, with null for NaN and infinity.
std::string TextOf(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string EvaluationJson(const Evaluation& found, const std::vector<double>& class_labels,
                           const std::vector<std::string>& names) {
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
  if (names.size() == classes) {
    json["confusion"]["labels"] = names;
  } else if (class_labels.size() == classes) {
    json["confusion"]["labels"] = class_labels;
  }
  return TextOf(json);
}

Evaluation InUnitsOfLabels(Evaluation found, double loss_unit) {
  found.loss *= loss_unit;
  found.weighted_loss *= loss_unit;
  if (found.rmse) *found.rmse *= std::sqrt(loss_unit);
  if (found.mae) *found.mae *= std::sqrt(loss_unit);
  return found;
}

}  // namespace motley
