// SPDX-License-Identifier: Apache-2.0
#include "cli/report/scores.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "cli/report/table.h"
#include "fmt/core.h"

namespace motley {
namespace {

using nlohmann::json;

constexpr size_t kMostColumns = 12;  // Widest table for a terminal.

// NaN for null, which stands for NaN and infinity in JSON.
double Number(const json& value) { return value.is_number() ? value.get<double>() : NAN; }

// A label as text: 3, "setosa".
std::string Word(const json& label) {
  if (label.is_string()) return label.get<std::string>();
  return fmt::format("{:g}", Number(label));
}

}  // namespace

std::string ScoresText(const std::string& given) {
  const json evaluation = json::parse(given);
  const std::pair<const char*, const char*> scores[] = {{"accuracy", "accuracy"},
                                                        {"f1", "F1"},
                                                        {"log_loss", "log loss"},
                                                        {"auc", "AUC"},
                                                        {"r2", "R2"},
                                                        {"rmse", "RMSE"},
                                                        {"mae", "MAE"}};
  std::string text;
  for (const auto& [key, words] : scores) {
    if (!evaluation.contains(key)) continue;
    const double value = Number(evaluation[key]);
    const bool percent = std::string_view(key) == "accuracy";
    text += text.empty() ? "" : ", ";
    text += percent ? fmt::format("{} {:.2f} %", words, value * 100)
                    : fmt::format("{} {:.4g}", words, value);
  }
  return text;
}

std::string ConfusionText(const std::string& given) {
  const json evaluation = json::parse(given);
  const auto found = evaluation.find("confusion");
  if (found == evaluation.end()) return "";
  const json& rows = found->at("matrix");
  if (rows.size() > kMostColumns) return "";
  std::vector<std::string> labels;
  for (size_t i = 0; i < rows.size(); ++i) {
    labels.push_back(found->contains("labels") ? Word(found->at("labels").at(i))
                                               : std::to_string(i));
  }
  std::vector<std::string> head = {"class"};
  head.insert(head.end(), labels.begin(), labels.end());
  Table table(std::move(head));
  for (size_t row = 0; row < rows.size(); ++row) {
    std::vector<std::string> cells = {labels[row]};
    for (const json& count : rows.at(row)) cells.push_back(std::to_string(count.get<uint64_t>()));
    table.Add(std::move(cells));
  }
  return "samples of each class (rows) by the class that the model predicts (columns):\n" +
         table.Format();
}

std::string EvaluationText(const std::string& evaluation) {
  const json found = json::parse(evaluation);
  return fmt::format("{}: {}, loss {:.6g}\n", Counted(found.at("count").get<uint64_t>(), "sample"),
                     ScoresText(evaluation), Number(found.at("loss"))) +
         ConfusionText(evaluation);
}

}  // namespace motley
