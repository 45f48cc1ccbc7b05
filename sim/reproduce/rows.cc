// SPDX-License-Identifier: Apache-2.0
#include "sim/reproduce/rows.h"

#include <cmath>
#include <optional>

namespace motley {

void RowList::Compare(std::string scheme, std::string setting, double published, double measured,
                      double tolerance) {
  // Written so that a figure that is no number does not pass.
  const bool pass = std::abs(measured - published) <= tolerance * std::abs(published);
  result_.rows.push_back(
      {experiment_, std::move(scheme), std::move(setting), published, measured, tolerance, pass});
}

void RowList::NoMoreThan(std::string scheme, std::string setting, double published, double measured,
                         double tolerance) {
  const bool pass = measured <= published + tolerance * std::abs(published);
  result_.rows.push_back(
      {experiment_, std::move(scheme), std::move(setting), published, measured, tolerance, pass});
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
