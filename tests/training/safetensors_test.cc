// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/safetensors.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <limits>

#include "data/readers.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SavedModel MakeSaved() {
  SavedModel saved{.spec = {"mlp:3", 2, 2}, .class_labels = {-1, 4.5}, .input_scale = 0.0625F};
  for (int i = 0; i < 2 * 3 + 3 + 3 * 2 + 2; ++i) saved.parameters.push_back(0.5f + 0.25f * i);
  return saved;
}

std::string File(const std::string& header, const std::string& data) {
  uint64_t size = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &size, 8);
  return text + header + data;
}

// A file of a logistic model with one feature, built of pieces that tests replace.
struct Pieces {
  std::string metadata =
      R"("__metadata__":{"format":"motley","model":"logistic","features":"1","classes":"2",)"
      R"("class_labels":"[0,1]","input_scale":"1.0"})";
  std::string weight = R"("layer0.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]})";
  std::string bias = R"("layer0.bias":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  std::string data = std::string("\0\0\x80\x3f\0\0\0\x40", 8);  // 1, 2

  std::string Text() const { return File("{" + metadata + "," + weight + "," + bias + "}", data); }
};

TEST(Safetensors, ModelComesBackAsItWas) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m.safetensors");
  const SavedModel saved = MakeSaved();
  const Status status = SaveModel(path, saved);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(folder.Names(), ElementsAre("m.safetensors"));
  const auto loaded = LoadModel(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->spec.name, "mlp:3");
  EXPECT_EQ(loaded->spec.features, 2u);
  EXPECT_EQ(loaded->spec.classes, 2u);
  EXPECT_EQ(loaded->class_labels, saved.class_labels);
  EXPECT_EQ(loaded->parameters, saved.parameters);
  EXPECT_EQ(loaded->input_scale, saved.input_scale);
}

TEST(Safetensors, DataStartsAlignedAndRegressionNeedsNoLabels) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m");
  ASSERT_TRUE(SaveModel(path, {.spec = {"linear", 1, 0}, .parameters = {1, 2}}).ok());
  const std::string content = *ReadFile(path);
  uint64_t header_size = 0;
  std::memcpy(&header_size, content.data(), 8);
  EXPECT_EQ(header_size % 8, 0u);
  EXPECT_EQ(content.size(), 8 + header_size + 8);
  EXPECT_TRUE(LoadModel(path)->class_labels.empty());
}

TEST(Safetensors, TensorsAreTakenByNameWhateverTheirOrder) {
  const TemporaryFolder folder;
  Pieces pieces;
  EXPECT_THAT(LoadModel(folder.Write("a", pieces.Text()))->parameters, ElementsAre(1, 2));
  pieces.weight = R"("layer0.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]})";
  pieces.bias = R"("layer0.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(LoadModel(folder.Write("b", pieces.Text()))->parameters, ElementsAre(2, 1));
}

TEST(Safetensors, FilesThatAreNotStrictlyRightAreRefused) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& content, const std::string& part) {
    const auto loaded = LoadModel(folder.Write("bad", content));
    EXPECT_EQ(loaded.code(), StatusCode::kDataError) << part;
    EXPECT_THAT(loaded.status().ToString(), HasSubstr(part));
    EXPECT_THAT(loaded.status().ToString(), HasSubstr("bad"));
  };
  const auto with = [](std::string Pieces::*piece, const std::string& text) {
    Pieces pieces;
    pieces.*piece = text;
    return pieces.Text();
  };
  expect("", "shorter than 8 bytes");
  expect("1,2,3\n4,5,6\n7,8,9\n", "the limit is");
  expect(File("{}", "").substr(0, 9), "truncated");
  expect(File(" {}", ""), "not a JSON object");
  expect(File("{\"a\":", ""), "not JSON");
  expect(File("{}", ""), "lacks 'format'");
  expect(with(&Pieces::data, "1234567"), "truncated or too long");
  expect(with(&Pieces::data, "123456789"), "truncated or too long");
  expect(with(&Pieces::data, std::string("\0\0\x80\x7f\0\0\0\0", 8)), "not a finite number");
  const std::string weight = Pieces().weight;
  expect(with(&Pieces::bias, weight), "names a key twice");
  const std::string bias = R"("layer0.bias":{"dtype":"F32",)";
  expect(with(&Pieces::bias, bias + R"("shape":[1],"data_offsets":[0,4]})"), "overlap");
  expect(with(&Pieces::bias, bias + R"("shape":[1],"data_offsets":[8,12]})"), "leave a hole");
  expect(with(&Pieces::bias, bias + R"("shape":[2],"data_offsets":[4,8]})"),
         "do not fit its shape");
  expect(with(&Pieces::bias, bias + R"("shape":[1],"data_offsets":[8,4]})"),
         "do not fit its shape");
  expect(with(&Pieces::bias, bias + R"("shape":[-1],"data_offsets":[4,8]})"),
         "needs exactly a dtype");
  expect(with(&Pieces::bias, bias + R"("shape":[1],"data_offsets":[4]})"), "needs exactly a dtype");
  expect(with(&Pieces::bias, bias + R"("shape":[1],"data_offsets":[4,8],"x":1})"), "needs exactly");
  expect(with(&Pieces::bias, bias + R"("shape":[4294967296,4294967296,9],"data_offsets":[4,8]})"),
         "too large for any file");
  expect(with(&Pieces::bias, R"("layer0.bias":{"dtype":"F16","shape":[2],"data_offsets":[4,8]})"),
         "not F32");
  expect(with(&Pieces::bias, R"("layer0.bias":{"dtype":"Q4","shape":[1],"data_offsets":[4,8]})"),
         "unknown dtype");
  expect(with(&Pieces::bias, R"("other":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
         "no tensor 'layer0.bias'");
  expect(with(&Pieces::bias, bias + R"("shape":[1,1],"data_offsets":[4,8]})"),
         "not F32 of the shape");
}

TEST(Safetensors, MetadataThatCannotBeIsRefused) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& part) {
    Pieces pieces;
    const size_t at = pieces.metadata.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    pieces.metadata.replace(at, from.size(), to);
    const auto loaded = LoadModel(folder.Write("bad", pieces.Text()));
    EXPECT_EQ(loaded.code(), StatusCode::kDataError) << part;
    EXPECT_THAT(loaded.status().ToString(), HasSubstr(part));
  };
  expect("\"motley\"", "\"pt\"", "not 'motley'");
  expect("\"motley\"", "7", "not a string");
  expect("logistic", "magic", "does not name a usable model");
  expect("\"features\":\"1\"", "\"features\":\"2\"", "has 3 parameters");
  expect("\"features\":\"1\"", "\"features\":\"x\"", "not a count");
  expect("\"features\":\"1\"", "\"features\":\"4294967295\"", "bytes of tensors where");
  expect("\"classes\":\"2\"", "\"classes\":\"3\"", "2 class labels for 3 classes");
  expect("[0,1]", "[1,0]", "not ascending");
  expect("[0,1]", "[0,[1]]", "not numbers");
  expect("[0,1]", "{}", "not a list");
  expect("[0,1]", "[0,", "not JSON");
}

TEST(Safetensors, WhatCouldNotBeLoadedIsNotSaved) {
  const TemporaryFolder folder;
  SavedModel saved = MakeSaved();
  saved.parameters[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(SaveModel(folder.Path("m"), saved).code(), StatusCode::kInvalidArgument);
  saved = MakeSaved();
  saved.parameters.pop_back();
  EXPECT_EQ(SaveModel(folder.Path("m"), saved).code(), StatusCode::kInvalidArgument);
  saved = MakeSaved();
  saved.class_labels = {1};
  EXPECT_EQ(SaveModel(folder.Path("m"), saved).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(folder.Names().empty());
}

TEST(Safetensors, MissingFilesAndFoldersAreNotFound) {
  const TemporaryFolder folder;
  EXPECT_EQ(LoadModel(folder.Path("none")).code(), StatusCode::kNotFound);
  EXPECT_EQ(SaveModel(folder.Path("none/m"), MakeSaved()).code(), StatusCode::kNotFound);
  EXPECT_EQ(LoadModel(folder.Path("")).code(), StatusCode::kInvalidArgument);
}

TEST(Safetensors, FullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m");
  ASSERT_TRUE(SaveModel(path, MakeSaved()).ok());
  SavedModel large = MakeSaved();
  large.parameters[0] = 9;
  // A limit on file sizes makes writes fail like a full disk.
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = SaveModel(path, large);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_THAT(status.ToString(), HasSubstr(path));
  EXPECT_THAT(folder.Names(), ElementsAre("m"));
  EXPECT_EQ(LoadModel(path)->parameters, MakeSaved().parameters);
}

}  // namespace
}  // namespace motley
