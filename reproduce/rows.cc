// SPDX-License-Identifier: Apache-2.0
#include "reproduce/rows.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace motley {

bool IsPublished(ReferenceKind kind) {
  return kind == ReferenceKind::kPaper || kind == ReferenceKind::kArtefact ||
         kind == ReferenceKind::kStatement;
}

const char* KindName(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kPaper: return "paper";
    case ReferenceKind::kArtefact: return "artefact";
    case ReferenceKind::kStatement: return "statement";
    case ReferenceKind::kAuthorsCode: return "authors' code";
    case ReferenceKind::kFormula: return "formula";
    case ReferenceKind::kOurSimulation: return "our simulation";
  }
  return "";
}

double NearestIn(const Reference& reference, double measured) {
  return std::clamp(measured, reference.value, reference.up_to.value_or(reference.value));
}

void RowList::Compare(std::string scheme, std::string setting, Reference reference, double measured,
                      double tolerance) {
  // The comparison is false for NaN, so NaN does not pass.
  const bool pass = std::abs(measured - reference.value) <= tolerance * std::abs(reference.value);
  result_.rows.push_back({experiment_, std::move(scheme), std::move(setting), std::move(reference),
                          measured, tolerance, pass});
}

bool RowList::CompareRange(std::string scheme, std::string setting, Reference range,
                           double measured, double rounding) {
  const double nearest = NearestIn(range, measured);
  const bool within = std::abs(measured - nearest) <= rounding;
  const auto tolerance = within ? std::optional(rounding / nearest) : std::nullopt;
  result_.rows.push_back({experiment_, std::move(scheme), std::move(setting), std::move(range),
                          measured, tolerance, std::isfinite(measured)});
  return within;
}

void RowList::AtMost(std::string scheme, std::string setting, double measured, double most) {
  result_.rows.push_back({experiment_, std::move(scheme), std::move(setting), std::nullopt,
                          measured, most, measured <= most});
}

void RowList::AtLeast(std::string scheme, std::string setting, double measured, double least) {
  result_.rows.push_back({experiment_, std::move(scheme), std::move(setting), std::nullopt,
                          measured, least, measured >= least});
}

void RowList::Show(std::string scheme, std::string setting, double measured) {
  result_.rows.push_back({experiment_, std::move(scheme), std::move(setting), std::nullopt,
                          measured, std::nullopt, std::isfinite(measured)});
}

}  // namespace motley
