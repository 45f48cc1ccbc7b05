// SPDX-License-Identifier: Apache-2.0
// Creates array files in the formats of NumPy and safetensors.
#pragma once

#include <zip.h>

#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace motley {

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

inline std::string NpyWith(const std::string& dict, const std::string& data, char version = 1) {
  std::string header = dict;
  const size_t fixed = version == 1 ? 10 : 12;
  while ((fixed + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text = std::string("\x93NUMPY") + version + '\0';
  for (size_t i = 0; i < fixed - 8; ++i) text += static_cast<char>(header.size() >> (8 * i));
  return text + header + data;
}

// `shape` is in Python's notation: "(3, 2)".
inline std::string Npy(const std::string& type, const std::string& shape, const std::string& data) {
  return NpyWith("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }",
                 data);
}

// An archive of these files in memory; not compressed if `method` is ZIP_CM_STORE.
inline std::string Zip(const std::vector<std::pair<std::string, std::string>>& files,
                       int method = ZIP_CM_DEFLATE, const char* password = nullptr) {
  zip_error_t error;
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_t* archive = zip_open_from_source(target, ZIP_TRUNCATE, &error);
  MOTLEY_ASSERT(archive != nullptr);
  zip_source_keep(target);
  for (const auto& [name, content] : files) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    MOTLEY_ASSERT(index >= 0);
    const auto entry = static_cast<zip_uint64_t>(index);
    MOTLEY_ASSERT(zip_set_file_compression(archive, entry, method, 0) == 0);
    if (password != nullptr) {
      MOTLEY_ASSERT(zip_file_set_encryption(archive, entry, ZIP_EM_AES_128, password) == 0);
    }
  }
  MOTLEY_ASSERT(zip_close(archive) == 0);
  std::string text;
  MOTLEY_ASSERT(zip_source_open(target) == 0);
  zip_source_seek(target, 0, SEEK_END);
  text.resize(static_cast<size_t>(zip_source_tell(target)));
  zip_source_seek(target, 0, SEEK_SET);
  zip_source_read(target, text.data(), text.size());
  zip_source_close(target);
  zip_source_free(target);
  return text;
}

struct Tensor {
  std::string name;
  std::string dtype;
  std::string shape;  // "[3,2]"
  std::string data;
};

inline std::string SafetensorsOf(const std::vector<Tensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const Tensor& tensor : tensors) {
    if (header.size() > 1) header += ',';
    header += "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype +
              "\",\"shape\":" + tensor.shape + ",\"data_offsets\":[" + std::to_string(data.size()) +
              ",";
    data += tensor.data;
    header += std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::string text;
  for (size_t i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i));
  return text + header + data;
}

}  // namespace motley
