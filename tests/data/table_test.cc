// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "data/tables/table_view.h"
#include "tests/training/test_data.h"
#include "training/models/model_data.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A table after reading, learning and encoding.
struct Read {
  OpenedData data;
  std::shared_ptr<const TableSchema> schema;
  std::vector<std::string> notes;
  std::shared_ptr<const DataSource> features;
  std::shared_ptr<const DataSource> test;

  std::vector<float> dense() const { return features->Range(0, features->shape().rows)->dense; }
  std::vector<float> labels() const { return features->Range(0, features->shape().rows)->label; }
};

class Table : public testing::Test {
 protected:
  Result<Read> TryRead(const std::string& spec, TableOptions table = {}, ReadOptions options = {},
                       LabelTask task = LabelTask::kGuess,
                       std::optional<std::vector<uint32_t>> rows = std::nullopt) {
    options.table = std::make_shared<TableReading>(std::move(table));
    Read read;
    MOTLEY_ASSIGN_OR_RETURN(read.data, OpenDataFor("", spec, options, task));
    MOTLEY_ASSIGN_OR_RETURN(LearnedTable learned, LearnTable(*options.table, *read.data.train, rows,
                                                             read.data.class_labels.empty()));
    learned.schema.classes = read.data.class_names;
    learned.schema.label_form = read.data.label_form;
    read.schema = std::make_shared<const TableSchema>(learned.schema);
    read.notes = read.data.notes;
    read.notes.insert(read.notes.end(), learned.notes.begin(), learned.notes.end());
    read.features = std::make_shared<TableView>(read.data.train, read.schema, *options.table);
    if (read.data.test != nullptr) {
      read.test = std::make_shared<TableView>(read.data.test, read.schema, *options.table);
    }
    return read;
  }
  Read ReadText(const std::string& text, TableOptions table = {}, ReadOptions options = {}) {
    auto read = TryRead(folder_.Write("t.csv", text), std::move(table), std::move(options));
    EXPECT_TRUE(read.ok()) << read.status().ToString();
    return read.ok() ? *std::move(read) : Read{};
  }
  void ExpectFails(const std::string& text, const std::string& part, TableOptions table = {}) {
    const auto read = TryRead(folder_.Write("t.csv", text), std::move(table));
    EXPECT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.status().ToString(), HasSubstr(part));
  }
  static TableOptions Scaled(TableScale scale, TableMissing missing = TableMissing::kMedian) {
    return {.scale = scale, .scale_given = true, .missing = missing};
  }
  // Reads a file of the same table for the model.
  Result<std::vector<float>> ReadAgain(const Read& read, const std::string& text,
                                       std::vector<std::string>* notes = nullptr) {
    ReadOptions options;
    options.regression = read.schema->regression;
    options.table = std::make_shared<TableReading>(read.schema, KnownFrom::kModelToPredict);
    const auto cells = static_cast<uint32_t>(read.schema->columns.size());
    MOTLEY_ASSIGN_OR_RETURN(const auto source,
                            OpenLabelled(folder_.Write("again.csv", text), options,
                                         read.data.class_labels, cells, read.schema->classes));
    if (notes != nullptr) *notes = options.table->TakeNotes();
    const TableView view(source, read.schema, *options.table);
    MOTLEY_ASSIGN_OR_RETURN(const Dataset all, view.Range(0, view.shape().rows));
    labels_ = all.label;
    return all.dense;
  }

  const TemporaryFolder folder_;
  std::vector<float> labels_;  // Labels of the second file.
};

TEST_F(Table, TextBecomesOneFeaturePerCategory) {
  const Read read = ReadText("size,kind,what\n2,b,cat\n4,a,dog\n3,b,cat\n");
  EXPECT_THAT(read.schema->FeatureNames(), ElementsAre("size", "kind=a", "kind=b"));
  const float far = std::sqrt(1.5f);
  EXPECT_THAT(read.dense(), testing::Pointwise(testing::FloatNear(1e-6f),
                                               {-far, 0.f, 1.f, far, 1.f, 0.f, 0.f, 0.f, 1.f}));
  EXPECT_THAT(read.labels(), ElementsAre(0, 1, 0));
  EXPECT_THAT(read.schema->classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(read.data.class_labels, ElementsAre(0, 1));
}

TEST_F(Table, MeansAndCategoriesAreThoseOfTheRowsThatTrain) {
  const std::string path = folder_.Write("t.csv", "v,k,y\n1,a,0\n3,b,1\n100,c,1\n");
  const auto read = TryRead(path, {}, {}, LabelTask::kGuess, std::vector<uint32_t>{1, 0});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->schema->columns[0].mean, 2);
  EXPECT_EQ(read->schema->columns[0].deviation, 1);
  EXPECT_THAT(read->schema->columns[1].categories, ElementsAre("a", "b"));
  EXPECT_THAT(read->dense(), ElementsAre(-1, 1, 0, 1, 0, 1, 98, 0, 0));
}

TEST_F(Table, MissingValuesAreTheMedianOrAreTold) {
  const std::string text = "v,k,y\n1,a,0\n,b,1\n7,,1\nNA,a,0\n3,?,1\n";
  EXPECT_THAT(ReadText(text, Scaled(TableScale::kNone)).dense(),
              ElementsAre(1, 1, 0, 3, 0, 1, 7, 0, 0, 3, 1, 0, 3, 0, 0));
  const Read indicated = ReadText(text, Scaled(TableScale::kNone, TableMissing::kIndicator));
  EXPECT_THAT(indicated.schema->FeatureNames(),
              ElementsAre("v", "v is missing", "k=a", "k=b", "k is missing"));
  EXPECT_THAT(indicated.features->Range(1, 3)->dense, ElementsAre(3, 1, 0, 1, 0, 7, 0, 0, 0, 1));
  EXPECT_THAT(indicated.notes, testing::Contains(HasSubstr("4 values in 2 columns are missing")));
  ExpectFails(text, "t.csv:3: column 0 (v): a value is missing",
              Scaled(TableScale::kNone, TableMissing::kError));
}

TEST_F(Table, TrueAndFalseAreNumbers) {
  const Read read = ReadText("v,y\nTrue,0\nfalse,1\nTRUE,1\n", Scaled(TableScale::kNone));
  EXPECT_THAT(read.dense(), ElementsAre(1, 0, 1));
  EXPECT_THAT(ReadText("v,y\n1,True\n2,False\n").schema->classes, ElementsAre("False", "True"));
}

TEST_F(Table, NumbersAmongTextsAreCategories) {
  const Read read = ReadText("floor,y\n2,0\nground,1\n2.0,1\n10,0\n", Scaled(TableScale::kNone));
  EXPECT_THAT(read.schema->columns[0].categories, ElementsAre("10", "2", "ground"));
  EXPECT_THAT(read.dense(), ElementsAre(0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0));
  EXPECT_THAT(*ReadAgain(read, "floor\n2.00\n3\nground\n"), ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 1));
}

TEST_F(Table, AConstantColumnCountsNothing) {
  const Read read = ReadText("v,w,y\n7,1,0\n7,2,1\n7,3,1\n");
  EXPECT_THAT(*ReadAgain(read, "v,w\n9,2\n"), ElementsAre(0, 0));
}

TEST_F(Table, ALineWithoutNamesIsToldByTheNext) {
  EXPECT_EQ(ReadText("5.1,3.5,setosa\n4.9,3.0,setosa\n6,3,other\n").features->shape().rows, 3u);
  EXPECT_EQ(ReadText("150,4,setosa,other\n5.1,3.5,1.4,0\n4.9,3,1.4,1\n").features->shape().rows,
            2u);
  EXPECT_EQ(ReadText("p,x,x,e\ne,x,s,p\n").features->shape().rows, 2u);
  EXPECT_EQ(ReadText("job,city,bought\nnurse,Oslo,yes\nclerk,Bonn,no\n").features->shape().rows,
            2u);
  const Read years = ReadText("2019,2020,2021,2022\n1.5,2.5,0.5,0\n2.5,1.5,0.25,1\n");
  EXPECT_THAT(years.schema->FeatureNames(), ElementsAre("2019", "2020", "2021"));
}

TEST_F(Table, RowsWithoutALabelDoNotTrain) {
  const Read read = ReadText("v,y\n1,a\n2,\n3,b\n", Scaled(TableScale::kNone));
  EXPECT_THAT(read.dense(), ElementsAre(1, 3));
  EXPECT_THAT(read.notes, testing::Contains("1 row without a label is left out"));
}

TEST_F(Table, TheTaskFollowsFromTheLabels) {
  std::string prices = "v,y\n", classes = "v,y\n", ages = "v,y\n";
  for (int i = 0; i < 300; ++i) {
    prices += fmt::format("{}.5,{}\n", i, 1000 + 7 * i);
    classes += fmt::format("{}.5,{}\n", i, i % 30);
    ages += fmt::format("{}.5,{}\n", i, 17 + i % 60);
  }
  EXPECT_TRUE(ReadText(prices).schema->regression);
  EXPECT_FALSE(ReadText(classes).schema->regression);
  EXPECT_TRUE(ReadText(ages).schema->regression);
  EXPECT_TRUE(ReadText("v,y\n1,0.5\n2,1\n").schema->regression);
  const auto said = TryRead(folder_.Write("t.csv", ages), {}, {}, LabelTask::kClassify);
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->data.class_labels.size(), 60u);
}

TEST_F(Table, TargetsAreStandardisedInTheirUnits) {
  const Read read = ReadText("v,y\n1,1000.5\n2,3000.5\n3,2000.5\n");
  EXPECT_NEAR(read.schema->target_mean, 2000.5, 1e-3);
  EXPECT_NEAR(read.schema->loss_unit(), 2e6 / 3, 1);
  EXPECT_EQ(*read.features->LabelOf(1), read.labels()[1]);
  EXPECT_THAT(read.labels(),
              testing::Pointwise(testing::FloatNear(1e-5f), {-1.224745f, 1.224745f, 0.f}));
}

TEST_F(Table, DataOfOneSizeStayAsTheyAre) {
  EXPECT_EQ(ReadText("v,w,y\n0.5,-1,0\n0.1,0.2,1\n").schema->scale, TableScale::kNone);
  EXPECT_EQ(ReadText("v,w,y\n0.05,-0.01,0\n0.01,0.02,1\n").schema->scale, TableScale::kStandard);
  std::string pixels;
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 40; ++i) pixels += fmt::format("{},", (row * 7 + i * 5) % 17);
    pixels += fmt::format("{}\n", row % 2);
  }
  EXPECT_EQ(ReadText(pixels).schema->scale, TableScale::kLargest);
  EXPECT_EQ(ReadText(pixels, Scaled(TableScale::kStandard)).schema->scale, TableScale::kStandard);
}

TEST_F(Table, OtherFilesAreReadByName) {
  const Read read = ReadText("v,k,w,y\n1,a,10,n\n3,b,30,p\n", Scaled(TableScale::kNone));
  std::vector<std::string> notes;
  EXPECT_THAT(*ReadAgain(read, "more,w,v,k\nx,5,6,b\nx,7,8,c\n", &notes),
              ElementsAre(6, 0, 1, 5, 8, 0, 0, 7));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("column 'more' is not known to the model"),
                                 HasSubstr("column 'k': 'c' is not among the categories")));
  EXPECT_TRUE(std::isnan(labels_[0]));
  EXPECT_THAT(*ReadAgain(read, "y,w,v,k\np,5,6,b\n"), ElementsAre(6, 0, 1, 5));
  EXPECT_THAT(labels_, ElementsAre(1));
  EXPECT_THAT(*ReadAgain(read, "9,a,2\n", &notes), ElementsAre(9, 1, 0, 2));  // Without names.
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("again.csv has no line of column names, so its columns "
                                    "are taken in the order of the model's table: v, k, w")));
  EXPECT_THAT(*ReadAgain(read, "9,a,2,p\n", &notes), ElementsAre(9, 1, 0, 2));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("table: v, k, w, y")));
  EXPECT_THAT(ReadAgain(read, "v,k\n1,a\n").status().ToString(),
              HasSubstr("lacks the column 'w', which the model was trained on: add it"));
  const Read long_names = ReadText("size,colour,w,y\n1,a,10,n\n3,b,30,p\n");
  EXPECT_THAT(ReadAgain(long_names, "SIZE,color,w\n1,a,2\n").status().ToString(),
              HasSubstr("lacks the columns 'size', 'colour', which the model was trained on: add "
                        "them, or rename 'SIZE' to 'size', 'color' to 'colour'"));
  ASSERT_TRUE(ReadAgain(read, "w,v,k,w,y,y\n5,6,b,7,n,p\n", &notes).ok());
  EXPECT_THAT(notes, ElementsAre(HasSubstr(
                         "the columns 'w', 'y' are there more than once, and the first is used")));
  EXPECT_THAT(ReadAgain(read, "v,k,w\n1,a,x\n").status().ToString(),
              HasSubstr("again.csv:2: column 2 (w): the column had only numbers"));
  EXPECT_THAT(ReadAgain(read, "v,k,w,y\n1,a,2,q\n").status().ToString(),
              HasSubstr("the label 'q' is not one of the model's 2 classes"));
}

TEST_F(Table, TestFilesAreReadByNameToo) {
  const std::string train = folder_.Write("a.csv", "v,k,y\n1,a,n\n3,b,p\n");
  const std::string test = folder_.Write("b.csv", "y,k,v\np,c,5\nq,a,7\n");
  const auto read = TryRead(train + ":test=" + test, Scaled(TableScale::kNone));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const auto found = read->test->Range(0, 2);
  EXPECT_THAT(found->dense, ElementsAre(5, 0, 0, 7, 1, 0));
  EXPECT_THAT(found->label, ElementsAre(1, 2));
}

TEST_F(Table, WhatIsDroppedOrUselessIsLeftOut) {
  const Read read = ReadText(",v,k,y\n0,1,a,0\n1,2,b,1\n", {.drop = {"k"}});
  EXPECT_THAT(read.schema->left_out, ElementsAre("", "k"));
  EXPECT_THAT(read.schema->FeatureNames(), ElementsAre("v"));
  std::string names = "name,v,y\n";
  for (int i = 0; i < 40; ++i) names += fmt::format("n{},{},{}\n", i, i, i % 2);
  EXPECT_THAT(ReadText(names).schema->left_out, ElementsAre("name"));
  EXPECT_THAT(
      ReadText("2,\"a,b\",c,y\n1,2,3,0\n2,3,4,1\n", {.drop = {"a,b", "2"}}).schema->FeatureNames(),
      ElementsAre("c"));  // A name comes before a number.
  EXPECT_THAT(ReadText("a,b,c,y\n1,2,3,0\n2,3,4,1\n", {.drop = {"1"}}).schema->FeatureNames(),
              ElementsAre("a", "c"));
  ExpectFails("v,y\n1,0\n2,1\n", "there is no column 'w'", {.drop = {"w"}});
  ExpectFails("Value,y\n1,0\n2,1\n", "did you mean 'Value'?", {.drop = {"value"}});
  ExpectFails("v,y\n1,0\n2,1\n", "that is the label's column", {.drop = {"y"}});
  std::string slip = "v,y\n";
  for (int i = 0; i < 40; ++i) slip += fmt::format("{},{}\n", i, i % 2);
  ExpectFails(slip + "12o,1\n", "t.csv:42: column 0 (v): '12o' is not a number, as 40 of 41");
}

TEST_F(Table, MarksOfMissingValuesAmongNumbersAreTold) {
  std::string text = "v,y\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},{}\n", i, i % 2);
  const Read read = ReadText(text + "-,1\nn.a.,0\nUnknown,1\n", Scaled(TableScale::kNone));
  EXPECT_THAT(read.schema->FeatureNames(), ElementsAre("v"));
  EXPECT_EQ(read.dense()[40], 19.5f);
  EXPECT_EQ(read.dense()[42], 19.5f);
  EXPECT_THAT(read.notes, testing::Contains("column 'v': '-', 'n.a.', 'Unknown' are each taken for "
                                            "a missing value"));
  EXPECT_THAT(read.notes, testing::Contains(HasSubstr("3 values in 1 column are missing")));
  std::vector<std::string> notes;
  EXPECT_THAT(*ReadAgain(read, "v\n--\n3\n", &notes), ElementsAre(19.5f, 3));
  EXPECT_THAT(notes, ElementsAre("column 'v': '--' is taken for a missing value"));
  EXPECT_THAT(ReadAgain(read, "v\ntall\n").status().ToString(),
              HasSubstr("'tall' is not a number"));
  EXPECT_THAT(ReadText(text + "-,1\n", Scaled(TableScale::kNone, TableMissing::kIndicator))
                  .features->Range(40, 41)
                  ->dense,
              ElementsAre(19.5f, 1));
  ExpectFails(text + "-,1\n12o,1\n", "t.csv:43: column 0 (v): '12o' is not a number");
  ExpectFails(text + "-,1\n", "t.csv:42: column 0 (v): '-' is not a number",
              Scaled(TableScale::kNone, TableMissing::kError));
}

TEST_F(Table, TheLabelOfAFileWithoutNamesMayBeAnywhere) {
  const Read read = ReadText("1.5,2.5,0\n3.5,4.5,1\n", Scaled(TableScale::kNone));
  EXPECT_THAT(*ReadAgain(read, "5.5,6.5,1\n"), ElementsAre(5.5f, 6.5f));
  ReadOptions options;
  options.label = "0";
  options.table = std::make_shared<TableReading>(read.schema, KnownFrom::kModelToPredict);
  const auto source =
      OpenLabelled(folder_.Write("first.csv", "1,5.5,6.5\n"), options, read.data.class_labels, 2);
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_THAT((*source)->Range(0, 1)->dense, ElementsAre(5.5f, 6.5f));
  EXPECT_THAT((*source)->Range(0, 1)->label, ElementsAre(1));
  options.table = std::make_shared<TableReading>(read.schema, KnownFrom::kModelToPredict);
  EXPECT_THAT(
      OpenLabelled(folder_.Write("none.csv", "5.5,6.5\n"), options, read.data.class_labels, 2)
          .status()
          .ToString(),
      HasSubstr("`label` 0: the file has 2 columns, which are those of the features"));
}

TEST_F(Table, CellsMayBeSpilled) {
  std::string text = "v,k,y\n";
  for (int i = 0; i < 300000; ++i) text += fmt::format("{},{},{}\n", i % 100, "ab"[i % 2], i % 3);
  const Read kept = ReadText(text);
  const Read spilled = ReadText(text, {}, {.memory_bytes = 1});
  EXPECT_LT(spilled.features->memory_bytes(), kept.features->memory_bytes() / 2);
  EXPECT_EQ(spilled.dense(), kept.dense());
  EXPECT_EQ(ToJson(*spilled.schema), ToJson(*kept.schema));
}

TEST_F(Table, AHeaderWithANameTwiceIsNoSample) {
  const std::string error = "t.csv:1: the header has the column 'city' twice. Rename one";
  ExpectFails("city,city,y\nA,B,yes\nB,A,no\nA,A,yes\nB,B,no\n", error);
  ExpectFails("city,city,price\nA,B,1.5\nB,A,2.5\n", error);
  ExpectFails("size,city,city,kind\n1,A,B,yes\n2,B,A,no\n", error);
  // These first lines are samples.
  EXPECT_EQ(ReadText("A,A,yes\nB,A,no\nA,B,yes\n").labels().size(), 3u);
  EXPECT_EQ(ReadText("A,A,yes\nB,C,no\nA,B,no\n").labels().size(), 3u);
  EXPECT_EQ(ReadText("A,A,0\nB,A,1\nA,B,1\n").labels().size(), 3u);
  EXPECT_EQ(ReadText("1,1,only\n2,A,no\n3,B,no\n").labels().size(), 3u);
}

TEST_F(Table, TextThatIsNotUtf8IsTakenForLatin1) {
  const Read read = ReadText("k,y\nM\xfcller,0\nM\xc3\xbcller,1\nx,1\n");
  EXPECT_THAT(read.schema->columns[0].categories, ElementsAre("M\xc3\xbcller", "x"));
}

TEST_F(Table, SchemasSurviveAsText) {
  const Read read = ReadText("v,k,z,y\n1,\"a, \"\"b\"\"\",,n\n,b,3,p\n2.5,b,1,p\n",
                             Scaled(TableScale::kStandard, TableMissing::kIndicator));
  const std::string json = ToJson(*read.schema);
  const auto parsed = ParseTableSchema(json);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(ToJson(*parsed), json);
  for (const char* bad : {"", "{}", "[1]", "{\"version\":99,\"columns\":[]}"}) {
    EXPECT_FALSE(ParseTableSchema(bad).ok()) << bad;
  }
  std::string broken = json;
  broken.replace(broken.find("\"position\":0"), 12, "\"position\":9");
  EXPECT_THAT(ParseTableSchema(broken).status().ToString(), HasSubstr("column 'v' is invalid"));
}

TEST_F(Table, WrittenNumbersAreRead) {
  const Read read =
      ReadText("price,rate,v,y\n\"$1,851,955\",12 %,\"3,5\",a\n$7,8%,\"0,25\",b\n-,\"1,5 %\",2,a\n",
               Scaled(TableScale::kNone));
  EXPECT_THAT(read.schema->FeatureNames(), ElementsAre("price", "rate", "v"));
  EXPECT_THAT(read.dense(),
              ElementsAre(1851955, 12, 3.5f, 7, 8, 0.25f, (1851955 + 7) / 2.f, 1.5f, 2));
  EXPECT_THAT(read.notes,
              testing::Contains("3 columns are read as numbers: 'price' ('$1,851,955' is 1851955), "
                                "'rate' ('12 %' is 12), 'v' ('3,5' is 3.5)"));
  EXPECT_THAT(*ReadAgain(read, "price,rate,v\n$1,7 %,\"1,137\"\n5,\"7,5%\",1\n"),
              ElementsAre(1, 7, 1.137f, 5, 7.5f, 1));
  EXPECT_THAT(ReadAgain(read, "price,rate,v\n$1,7,2\n").status().ToString(),
              HasSubstr("again.csv:2: column 1 (rate): the column had only numbers, with a decimal "
                        "comma and '%', in the data of the model: '7' is not a number"));
  const auto parsed = ParseTableSchema(ToJson(*read.schema));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(ToJson(*parsed), ToJson(*read.schema));
}

TEST_F(Table, ACommaThatMayMeanEitherIsTold) {
  const std::string text = "v;k;y\n1,137;x;a\n2,000;z;b\n";
  const Read read = ReadText(text, Scaled(TableScale::kNone));
  EXPECT_EQ(read.dense()[0], 1137);
  EXPECT_THAT(read.notes, testing::Contains("column 'v' is read as numbers: '1,137' is 1137, but "
                                            "1.137 with `decimal` comma"));
  TableOptions comma = Scaled(TableScale::kNone);
  comma.decimal = Decimal::kComma;
  EXPECT_EQ(ReadText(text, comma).dense()[0], 1.137f);
  // Another column shows what the comma means.
  const Read other = ReadText("v;w;y\n1,137;0,5;a\n2,000;1,5;b\n", Scaled(TableScale::kNone));
  EXPECT_THAT(other.dense(), ElementsAre(1.137f, 0.5f, 2, 1.5f));
  // With a decimal comma a point separates thousands, in the model's other files, too.
  const Read points = ReadText("v;w;y\n1.137;1;a\n2,5;2;b\n", comma);
  EXPECT_THAT(points.dense(), ElementsAre(1137, 1, 2.5f, 2));
  EXPECT_THAT(*ReadAgain(points, "v;w\n3;1,5\n"), ElementsAre(3, 1.5f));
}

TEST_F(Table, NumbersOfSeveralFormsAreCategories) {
  const Read read = ReadText("v,w,k,y\n\"1,5\",$5,\"1,137\",a\n2.5,£5,many,b\n3,$6,few,a\n");
  EXPECT_TRUE(read.schema->columns[0].text && read.schema->columns[1].text &&
              read.schema->columns[2].text);
  EXPECT_THAT(read.notes, testing::Contains(
                              "column 'v' looks like numbers, such as '1,5', but the decimal mark "
                              "is a point in some and a comma in others: each of its texts is a "
                              "category. Write them alike to have numbers"));
  EXPECT_THAT(read.notes, testing::Contains(HasSubstr("such as '$5', but its units differ")));
  EXPECT_THAT(read.notes, Not(testing::Contains(HasSubstr("column 'k'"))));
  std::string slip = "v,y\n";
  for (int i = 0; i < 40; ++i) slip += fmt::format("\"{},000\",{}\n", i + 1, i % 2);
  ExpectFails(slip + "12o,1\n", "t.csv:42: column 0 (v): '12o' is not a number, as 40 of 41");
}

TEST_F(Table, WrittenLabelsAreNumbersToPredict) {
  std::string text = "v,price\n";
  for (int i = 0; i < 30; ++i) text += fmt::format("{},\"${},0{:02}\"\n", i, i + 1, i);
  const Read read = ReadText(text + "7,$5\n", Scaled(TableScale::kNone));
  ASSERT_TRUE(read.schema->regression);
  EXPECT_EQ(read.labels()[1], 2001);
  EXPECT_EQ(read.labels()[30], 5);
  EXPECT_THAT(read.notes, testing::Contains(HasSubstr("labels are read as numbers: '$1,000' is")));
  ASSERT_TRUE(ReadAgain(read, "v,price\n1,\"$1,137\"\n2,7\n").ok());
  EXPECT_THAT(labels_, ElementsAre(1137, 7));
  EXPECT_THAT(ReadAgain(read, "v,price\n1,high\n").status().ToString(),
              HasSubstr("the label 'high' is not a number"));
  EXPECT_THAT(ReadText("v,y\n1,5 %\n2,10 %\n").schema->classes, ElementsAre("10 %", "5 %"));
  const auto regress = TryRead(folder_.Write("t.csv", "v,y\n1,5 %\n2,10 %\n"),
                               Scaled(TableScale::kNone), {}, LabelTask::kRegress);
  ASSERT_TRUE(regress.ok()) << regress.status().ToString();
  EXPECT_THAT(regress->labels(), ElementsAre(5, 10));
  // A model of plain numbers has no written ones.
  const Read plain = ReadText("v,y\n1,5.5\n2,10\n", Scaled(TableScale::kNone));
  EXPECT_THAT(ReadAgain(plain, "v,y\n1,$5\n").status().ToString(),
              HasSubstr("the label '$5' is not a number"));
}

// More different texts than the dictionary takes, in memory and in a file.
TEST_F(Table, ManyWrittenNumbersAreRead) {
  std::string text = "v,w,y\n";
  for (int i = 0; i < 25000; ++i) {
    text += fmt::format("\"{},{:03}\",n{},\"${},{:03}.5\"\n", i / 1000 + 1, i % 1000, i,
                        i / 1000 + 1, i % 1000);
  }
  const Read kept = ReadText(text, Scaled(TableScale::kNone));
  EXPECT_THAT(kept.schema->left_out, ElementsAre("w"));
  EXPECT_THAT(kept.schema->FeatureNames(), ElementsAre("v"));
  const std::vector<float> dense = kept.dense(), labels = kept.labels();
  for (size_t i = 0; i < dense.size(); ++i) {
    ASSERT_EQ(dense[i], static_cast<float>(1000 + i));
    ASSERT_EQ(labels[i], static_cast<float>(1000 + i) + 0.5f);
  }
  const Read spilled = ReadText(text, Scaled(TableScale::kNone), {.memory_bytes = 1});
  EXPECT_EQ(spilled.dense(), dense);
  EXPECT_EQ(ToJson(*spilled.schema), ToJson(*kept.schema));
  ExpectFails(text + "many,n,$5\n", "t.csv:25002: column 0 (v): 'many' is not a number");
}

TEST_F(Table, ALineOfWrittenNumbersIsNoHeader) {
  EXPECT_EQ(ReadText("\"$1,137\",a\n\"$1,200\",b\n").features->shape().rows, 2u);
  EXPECT_EQ(ReadText("price,kind\n\"$1,137\",a\n\"$1,200\",b\n").features->shape().rows, 2u);
}

}  // namespace
}  // namespace motley
