// SPDX-License-Identifier: Apache-2.0
// What a training run reads, and what it decides from that before it begins.
#include <fmt/format.h>

#include <utility>

#include "api/job/training_run.h"
#include "api/request/begin_with.h"
#include "api/request/class_weights.h"
#include "api/request/resume.h"
#include "api/request/sync_plan.h"
#include "data/index_source.h"

namespace motley {

Status TrainingRun::OpenData() {
  const JobRequest& request = parts_.request;
  if (request.data.empty() && parts_.foreign == nullptr) {
    return Status::InvalidArgument(
        "`sample_count` is for trainers, which know their samples. Give `data`, or set a trainer");
  }
  const Storage storage = plan_.job.meaning.storage;
  if (request.data.empty() && storage != Storage::kFloat32) {
    return Status::InvalidArgument(fmt::format(
        "`storage` {}: nothing is sent of samples that the trainer knows. Leave `storage` out",
        NameOf(storage)));
  }
  if (request.data.empty()) {
    samples_ = std::make_shared<IndexSource>(request.sample_count);
    return PlanLearning();
  }
  // A trainer gets samples as the file has them, and all of them unless told otherwise.
  const bool own = parts_.foreign != nullptr;
  const double split = own && request.split == 0 ? kAllTrain : request.split;
  DataRequest wanted;
  wanted.spec = request.data;
  wanted.label = request.label;
  wanted.model = own ? "linear" : request.model;
  wanted.task = request.task;
  if (own && wanted.task == LabelTask::kClassify) wanted.model = "softmax";
  wanted.table = request.table;
  if (plan_.job.resume != nullptr) {
    MOTLEY_RETURN_IF_ERROR(ReadAs(plan_.job.resume->about.meaning, wanted));
  }
  if (parts_.initial) MOTLEY_RETURN_IF_ERROR(ReadAs(*parts_.initial, wanted));
  wanted.split = split;
  wanted.seed = request.seed;
  wanted.memory_bytes = request.memory_bytes;
  wanted.unwanted = [this] { return stopped(); };
  if (own) wanted.features = Features::kAsTheyAre;
  wanted.storage = storage;
  if (!own) {
    wanted.hold_out = [this](const DataShape& train) -> Result<double> {
      JobRequest chosen = chosen_;
      MOTLEY_ASSIGN_OR_RETURN(const JudgingPlan judging,
                              ChooseDefaults(ModelName(train.classes), train, chosen, false));
      return judging.validation;
    };
  }
  MOTLEY_ASSIGN_OR_RETURN(data_, PrepareTrainingData(wanted));
  if (data_.table != nullptr) table_ = ToJson(*data_.table);
  const DataShape shape = data_.train->shape();
  plan_.job.model.features = shape.features;
  plan_.job.model.classes = shape.classes;
  if (!own) plan_.job.model.name = ModelName(shape.classes);
  parts_.events.SetLossUnit(data_.loss_unit());
  parts_.metrics.SetLossUnit(data_.loss_unit());
  if (!own) {
    MOTLEY_ASSIGN_OR_RETURN(model_, Model::Create(plan_.job.model));
    MOTLEY_RETURN_IF_ERROR(CheckFormat(About(), request.format));
  }
  if (parts_.initial) MOTLEY_RETURN_IF_ERROR(BeginWith(*parts_.initial));
  return PlanLearning();
}

// The model that is trained, without its parameters.
SavedModel TrainingRun::About() const {
  return {plan_.job.model, data_.class_labels, {}, data_.input_scale, table_};
}

Status TrainingRun::BeginWith(const InitialModel& initial) {
  const SavedModel about = About();
  auto first = initial.ParametersFor(about);
  if (!first.ok()) return first.status().WithContext("`init`");
  plan_.job.first_parameters = std::make_shared<const std::vector<float>>(std::move(first).value());
  data_.notes.push_back(Describe(initial, about, data_.table.get()));
  return Status::Ok();
}

// Of the built-in model for samples of so many classes.
std::string TrainingRun::ModelName(uint32_t classes) const {
  if (!parts_.request.model.empty()) return parts_.request.model;
  if (parts_.initial) return NameFor(*parts_.initial, classes);
  return classes == 0 ? "linear" : plan_.job.model.name;
}

// Chooses what the user leaves open.
Status TrainingRun::PlanLearning() {
  if (model_ != nullptr) {
    const TableSchema* table = data_.table.get();
    const bool standardised =
        table != nullptr && (table->target_mean != 0 || table->target_deviation != 1);
    DataShape shape = data_.train->shape();
    if (data_.validation != nullptr) shape.rows += data_.validation->shape().rows;
    MOTLEY_ASSIGN_OR_RETURN(judging_, ChooseDefaults(plan_.job.model.name, shape, chosen_,
                                                     data_.class_labels.empty() && !standardised));
  } else {
    chosen_.optimizer.name = plan_.job.optimizer.name;  // Where it was open, `sync` decided.
    MOTLEY_ASSIGN_OR_RETURN(judging_, JudgingOfTrainer(chosen_));
  }
  if (data_.train != nullptr) samples_ = data_.train;
  MOTLEY_RETURN_IF_ERROR(WeighClasses());
  plan_.job.optimizer = chosen_.optimizer;
  plan_.job.batch = chosen_.batch;
  MOTLEY_RETURN_IF_ERROR(PlanLocalSteps(chosen_, plan_.job));
  MOTLEY_RETURN_IF_ERROR(FitToData(chosen_, samples_->shape().rows, plan_));
  ValidationOptions& validation = plan_.job.validation;
  validation.every = judging_.every + judging_.every_epochs * plan_.steps_per_epoch;
  validation.patience = judging_.patience;
  validation.samples = data_.validation;
  validation.by_trainer = parts_.foreign != nullptr && parts_.foreign->evaluate;
  return Status::Ok();
}

Status TrainingRun::WeighClasses() {
  std::vector<float>& weights = plan_.job.model.class_weights;
  const ClassWeightsWish& wish = parts_.request.class_weights;
  if (!wish.given()) {
    if (plan_.job.resume != nullptr) weights = plan_.job.resume->about.model.class_weights;
    return Status::Ok();
  }
  MOTLEY_ASSIGN_OR_RETURN(
      weights, ResolveClassWeights(wish, ClassNames(data_.class_labels, data_.table.get()),
                                   *samples_, [this] { return stopped(); }));
  return Status::Ok();
}

}  // namespace motley
