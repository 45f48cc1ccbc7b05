// SPDX-License-Identifier: Apache-2.0
#include "coding/form_bytes.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace motley {
namespace {

constexpr uint32_t kMaxRows = 1u << 20;

template <typename T>
void PutAll(ByteWriter& out, const std::vector<T>& values) {
  out.Put(static_cast<uint32_t>(values.size()));
  for (const T& value : values) out.Put(value);
}

// A number of things that take at least `each` bytes; 0 if that many cannot follow.
uint32_t Count(ByteReader& in, size_t each) {
  const auto count = in.Get<uint32_t>();
  if (count <= in.remaining() / each) return count;
  in.View(in.remaining() + 1);  // Fails, and so does all that is read later.
  return 0;
}

template <typename T>
std::vector<T> GetAll(ByteReader& in) {
  std::vector<T> values(Count(in, sizeof(T)));
  for (T& value : values) value = in.Get<T>();
  return values;
}

// The coefficients of an entry, one for each part.
bool SameWeights(const CodeForm& form, RowId row, size_t a, size_t b) {
  for (uint32_t part = 0; part < form.parts; ++part) {
    if (form.B(row, a, part) != form.B(row, b, part)) return false;
  }
  return true;
}

void PutRow(ByteWriter& out, const CodeForm& form, RowId row) {
  const std::vector<CodeEntry>& entries = form.rows[row];
  std::vector<std::pair<size_t, size_t>> runs;  // Ranges of entries.
  for (size_t e = 0; e < entries.size(); ++e) {
    const bool goes_on = e > 0 && entries[e].partition == entries[e - 1].partition + 1 &&
                         SameWeights(form, row, e - 1, e);
    if (goes_on) {
      ++runs.back().second;
    } else {
      runs.emplace_back(e, e + 1);
    }
  }
  out.Put(static_cast<uint32_t>(runs.size()));
  for (const auto& [begin, end] : runs) {
    out.Put(entries[begin].partition);
    out.Put(static_cast<uint32_t>(end - begin));
    for (uint32_t part = 0; part < form.parts; ++part) out.Put(form.B(row, begin, part));
  }
}

Status GetRow(ByteReader& in, CodeForm& form) {
  std::vector<CodeEntry> entries;
  std::vector<Complex> others;
  const uint32_t runs = Count(in, 2 * sizeof(uint32_t) + form.parts * sizeof(Complex));
  for (uint32_t run = 0; run < runs; ++run) {
    const auto first = in.Get<uint32_t>();
    const auto count = in.Get<uint32_t>();
    std::vector<Complex> weights(form.parts);
    for (Complex& weight : weights) weight = in.Get<Complex>();
    if (first >= form.partitions || count > form.partitions - first ||
        entries.size() + count > form.partitions) {
      return Status::DataError(fmt::format("a code with partitions {} to {} of {}", first,
                                           static_cast<uint64_t>(first) + count, form.partitions));
    }
    for (uint32_t e = 0; e < count; ++e) {
      entries.push_back({first + e, weights[0]});
      others.insert(others.end(), weights.begin() + 1, weights.end());
    }
  }
  form.rows.push_back(std::move(entries));
  if (form.parts > 1) form.other_parts.push_back(std::move(others));
  return Status::Ok();
}

// What else a decoder would stumble over.
Status CheckSizes(const CodeForm& form) {
  const bool sized =
      form.rows.size() == form.workers &&
      form.c.size() == uint64_t{form.accumulators} * form.workers &&
      form.v.size() == (form.accumulators == 0 ? 0 : uint64_t{form.accumulators} * form.parts) &&
      (form.nodes.empty() || form.nodes.size() == form.workers);
  if (!sized) return Status::DataError("a code whose matrices do not fit each other");
  for (const auto& list : form.lists) {
    for (const RowId row : list) {
      if (row >= form.workers) {
        return Status::DataError(fmt::format("a code with row {} of {}", row, form.workers));
      }
    }
  }
  return Status::Ok();
}

}  // namespace

Bytes EncodeForm(const CodeForm& form) {
  ByteWriter out;
  out.Put(static_cast<uint32_t>(form.name.size()));
  for (const char c : form.name) out.Put(c);
  out.Put(static_cast<uint8_t>(form.field));
  out.Put(form.workers);
  out.Put(form.partitions);
  out.Put(form.stragglers);
  out.Put(form.kept_parts);
  out.Put(form.parts);
  out.Put(form.accumulators);
  out.Put(form.largest);
  out.Put(static_cast<uint32_t>(form.rows.size()));
  for (RowId row = 0; row < form.rows.size(); ++row) PutRow(out, form, row);
  out.Put(static_cast<uint32_t>(form.lists.size()));
  for (const auto& list : form.lists) PutAll(out, list);
  PutAll(out, form.c);
  PutAll(out, form.v);
  PutAll(out, form.nodes);
  return out.Take();
}

Result<CodeForm> DecodeForm(BytesView bytes, uint32_t partitions) {
  ByteReader in(bytes);
  CodeForm form;
  for (uint32_t length = Count(in, 1); length > 0; --length) form.name += in.Get<char>();
  form.field = in.Get<uint8_t>() == 0 ? Field::kReal : Field::kComplexPacked;
  form.workers = in.Get<uint32_t>();
  form.partitions = in.Get<uint32_t>();
  form.stragglers = in.Get<uint32_t>();
  form.kept_parts = in.Get<uint32_t>();
  form.parts = in.Get<uint32_t>();
  form.accumulators = in.Get<uint32_t>();
  form.largest = in.Get<double>();
  if (form.partitions != partitions || form.parts == 0 || form.parts > kMaxParts ||
      form.workers > kMaxRows) {
    return Status::DataError(fmt::format("a code for {} partitions in {} parts, where {} belong",
                                         form.partitions, form.parts, partitions));
  }
  for (uint32_t rows = Count(in, sizeof(uint32_t)); rows > 0 && in.ok(); --rows) {
    MOTLEY_RETURN_IF_ERROR(GetRow(in, form));
  }
  for (uint32_t lists = Count(in, sizeof(uint32_t)); lists > 0 && in.ok(); --lists) {
    form.lists.push_back(GetAll<RowId>(in));
  }
  form.c = GetAll<Complex>(in);
  form.v = GetAll<Complex>(in);
  form.nodes = GetAll<Complex>(in);
  if (!in.ok() || in.remaining() > 0)
    return Status::DataError("the bytes of a code end too early, or too late");
  MOTLEY_RETURN_IF_ERROR(CheckSizes(form));
  if (Status fine = Validate(form); !fine.ok()) return Status::DataError(fine.ToString());
  return form;
}

}  // namespace motley
