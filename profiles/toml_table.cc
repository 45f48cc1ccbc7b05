// SPDX-License-Identifier: Apache-2.0
#include "profiles/toml_table.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <optional>
#include <utility>

#include "base/suggest.h"

namespace motley {

void TomlTable::OnlyKeys(std::span<const std::string_view> keys) {
  for (auto&& [key, node] : table_) {
    const std::string_view name = key.str();
    bool known = false;
    for (const std::string_view allowed : keys) known = known || allowed == name;
    if (!known) {
      Fail(key.source(), fmt::format("unknown key '{}'{}", name, DidYouMean(name, keys)));
    }
  }
}

std::string TomlTable::Text(std::string_view key, std::string fallback) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return fallback;
  if (const auto* value = node->as_string()) return value->get();
  Fail(node->source(), fmt::format("'{}' must be a text in quotes", key));
  return fallback;
}

double TomlTable::Number(std::string_view key, double fallback, double low, double high) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return fallback;
  // The node's own conversion to a double refuses integers that a double cannot hold exactly.
  double value = 0;
  if (const auto* whole = node->as_integer()) {
    value = static_cast<double>(whole->get());
  } else if (const auto* real = node->as_floating_point()) {
    value = real->get();
  } else {
    Fail(node->source(), fmt::format("'{}' must be a number", key));
    return fallback;
  }
  if (value >= low && value <= high) return value;
  Fail(node->source(),
       fmt::format("'{}' is {}; it must be at least {} and at most {}", key, value, low, high));
  return fallback;
}

double TomlTable::Measure(std::string_view key, Quantity quantity, double high) {
  const toml::node* node = table_.get(key);
  const auto* text = node == nullptr ? nullptr : node->as_string();
  if (text == nullptr) return Number(key, 0, 0, high);
  const Result<double> value = ParseQuantity(quantity, text->get());
  if (!value.ok()) {
    Fail(node->source(), fmt::format("'{}': {}", key, value.status().message()));
  } else if (*value > high) {
    Fail(node->source(), fmt::format("'{}' is {}; it must be at most {}", key, text->get(),
                                     FormatQuantity(quantity, high)));
  } else {
    return *value;
  }
  return 0;
}

uint64_t TomlTable::Bytes(std::string_view key, uint64_t high) {
  const toml::node* node = table_.get(key);
  const auto* exact = node == nullptr ? nullptr : node->as_integer();
  if (exact != nullptr && exact->get() >= 0 && static_cast<uint64_t>(exact->get()) <= high) {
    return static_cast<uint64_t>(exact->get());
  }
  const double value = Measure(key, Quantity::kSize, static_cast<double>(high));
  return static_cast<uint64_t>(std::llround(value));
}

uint64_t TomlTable::Count(std::string_view key, uint64_t fallback, uint64_t high) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return fallback;
  const auto* value = node->as_integer();
  if (value != nullptr && value->get() >= 1 && static_cast<uint64_t>(value->get()) <= high) {
    return static_cast<uint64_t>(value->get());
  }
  Fail(node->source(), fmt::format("'{}' must be a whole number from 1 to {}", key, high));
  return fallback;
}

bool TomlTable::Truth(std::string_view key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return false;
  if (const auto* value = node->as_boolean()) return value->get();
  Fail(node->source(), fmt::format("'{}' must be true or false, without quotes", key));
  return false;
}

void TomlTable::Require(std::string_view key) {
  if (table_.get(key) == nullptr) {
    Fail(table_.source(), fmt::format("'{}' is missing here", key));
  }
}

void TomlTable::Fail(const toml::source_region& where, const std::string& what) {
  if (!status_.ok()) return;
  status_ = Status::DataError(
      fmt::format("{}:{}:{}: {}", source_, where.begin.line, where.begin.column, what));
}

const toml::table* InnerTable(TomlTable& outer, std::string_view key, std::string_view form) {
  const toml::node* node = outer.Node(key);
  if (node == nullptr) return nullptr;
  const toml::table* table = node->as_table();
  if (table == nullptr) outer.Fail(node->source(), fmt::format("'{}' must be {}", key, form));
  return table;
}

Result<toml::table> ParseToml(const std::string& text, const std::string& source) {
  toml::parse_result parsed = toml::parse(std::string_view(text), std::string_view(source));
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& error = parsed.error();
  return Status::DataError(fmt::format("{}:{}:{}: {}", source, error.source().begin.line,
                                       error.source().begin.column, error.description()));
}

Result<std::string> ReadTomlFile(const std::string& path, std::string_view what) {
  constexpr size_t kMaxFileBytes = 16u << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status::NotFound(fmt::format("cannot open the {} '{}': check the path", what, path));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Status::DataError(fmt::format("cannot read '{}'", path));
  if (text.size() > kMaxFileBytes) {
    return Status::DataError(fmt::format("'{}' is too large for a {}", path, what));
  }
  return text;
}

}  // namespace motley
