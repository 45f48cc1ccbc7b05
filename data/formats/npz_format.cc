// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npz_format.h"

#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <optional>
#include <vector>

#include "data/formats/array_samples.h"
#include "data/formats/npy_header.h"

namespace motley {
namespace {

constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

class EntryStream final : public ByteStream {
 public:
  EntryStream(zip_file_t* entry, std::string name) : entry_(entry), name_(std::move(name)) {}
  Result<size_t> Read(std::span<char> to) override {
    const zip_int64_t got = zip_fread(entry_.get(), to.data(), to.size());
    if (got >= 0) return static_cast<size_t>(got);
    return Status::DataError(
        fmt::format("{}: damaged: {}", name_, zip_file_strerror(entry_.get())));
  }

 private:
  std::unique_ptr<zip_file_t, CloseEntry> entry_;
  std::string name_;
};

Result<Archive> OpenArchive(const std::string& path) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (archive != nullptr) return Archive(archive);
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  return Status::DataError(
      fmt::format("{}: looks like a ZIP file, but cannot be opened: {}", path, why));
}

// The names of the arrays, without ".npy".
std::vector<std::string> ArraysOf(zip_t* archive) {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    const std::string_view text = name != nullptr ? name : "";
    if (text.ends_with(kSuffix)) names.emplace_back(text.substr(0, text.size() - kSuffix.size()));
  }
  return names;
}

// An open array of an archive.
struct Entry {
  std::unique_ptr<StreamReader> stream;
  ArrayInput array;
};

Result<Entry> OpenEntry(zip_t* archive, const std::string& path, const std::string& name) {
  const std::string place = fmt::format("{}, array '{}'", path, name);
  const std::string file = name + std::string(kSuffix);
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat(archive, file.c_str(), 0, &info) != 0) {
    return Status::DataError(fmt::format("{}: {}", place, zip_strerror(archive)));
  }
  if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && info.encryption_method != ZIP_EM_NONE) {
    return Status::DataError(place + ": is encrypted; save it without a password");
  }
  if ((info.valid & ZIP_STAT_COMP_METHOD) != 0 && info.comp_method != ZIP_CM_STORE &&
      info.comp_method != ZIP_CM_DEFLATE) {
    return Status::DataError(place +
                             ": is not packed as numpy.savez and "
                             "numpy.savez_compressed do; save it with one of these");
  }
  zip_file_t* entry = zip_fopen_index(archive, info.index, 0);
  if (entry == nullptr) {
    return Status::DataError(fmt::format("{}: {}", place, zip_strerror(archive)));
  }
  Entry opened;
  opened.stream = std::make_unique<StreamReader>(std::make_unique<EntryStream>(entry, place));
  const Result<NpyHeader> header = ReadNpyHeader(*opened.stream);
  if (!header.ok()) return header.status().WithContext(place);
  opened.array = {.name = place,
                  .type = header->type,
                  .shape = header->shape,
                  .stream = opened.stream.get(),
                  .column_major = header->column_major};
  return opened;
}

// Reads to the end of the entry, where libzip compares the checksum.
Status ExpectEnd(Entry& entry) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string_view more, entry.stream->Peek(1));
  if (more.empty()) return Status::Ok();
  return Status::DataError(entry.array.name + ": has bytes after its end");
}

Status ReadNpz(const InputFile& file, StreamReader&, const ReadOptions& options, SampleSink& sink) {
  if (file.path == "-") {
    return Status::InvalidArgument(
        "NPZ cannot be read from the standard input: give its path with `data`, or save "
        "NPY or CSV");
  }
  MOTLEY_ASSIGN_OR_RETURN(const Archive archive, OpenArchive(file.path));
  MOTLEY_ASSIGN_OR_RETURN(const ArrayNames names,
                          FindArrays(ArraysOf(archive.get()), file.test, file.path));
  std::optional<std::vector<double>> labels;
  if (!names.labels.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(Entry entry, OpenEntry(archive.get(), file.path, names.labels));
    MOTLEY_ASSIGN_OR_RETURN(labels, ReadLabels(entry.array));
    MOTLEY_RETURN_IF_ERROR(ExpectEnd(entry));
  }
  MOTLEY_ASSIGN_OR_RETURN(Entry entry, OpenEntry(archive.get(), file.path, names.features));
  MOTLEY_RETURN_IF_ERROR(
      ReadSamples(entry.array, labels, file.path, options.unlabelled_features, sink));
  return ExpectEnd(entry);
}

Result<bool> HasTest(const std::string& path) {
  if (path == "-") return false;
  MOTLEY_ASSIGN_OR_RETURN(const Archive archive, OpenArchive(path));
  return HasTestArrays(ArraysOf(archive.get()));
}

bool IsZip(std::string_view head) {
  return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");
}

}  // namespace

const FileFormat kNpzFormat = {"NPZ", IsZip, ReadNpz, HasTest};

}  // namespace motley
