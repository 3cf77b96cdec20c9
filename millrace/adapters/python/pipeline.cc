#include "millrace/adapters/python/pipeline.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/api/catalog.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/core/spec.h"
#include "millrace/exec/explain_lanes.h"
#include "millrace/exec/known_rows.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/renumber.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/ops/source/packed_rows.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::python {
namespace {

// The inputs with call numbers that are all their own.
absl::StatusOr<std::vector<ir::Pipeline>> Joined(const std::vector<Pipeline>& inputs) {
  std::vector<ir::Pipeline> joined;
  for (const Pipeline& input : inputs) {
    const int64_t by = joined.empty() ? 0 : joined.back().NextCallNumber();
    joined.push_back(TRY(ir::Renumbered(input.inner(), by, Catalog())));
  }
  return joined;
}

absl::StatusOr<core::Spec> RowsSeen(const std::string& name,
                                    const NamedArguments& arguments,
                                    const std::vector<Pipeline>& inputs) {
  const ir::OperatorSchema* schema = TRY(Catalog().FindOperator(name));
  if (inputs.empty()) return core::Spec();
  absl::StatusOr<core::Spec> rows =
      schema->function_input(ToArguments(arguments), inputs[0].inner().spec());
  if (!rows.ok()) return base::Annotate(rows.status(), name);
  return rows;
}

// -1 where they never end.
std::optional<int64_t> RowsOrEndless(const ir::Cardinality& rows) {
  if (rows.infinite()) return -1;
  return rows.known() ? std::optional(rows.rows()) : std::nullopt;
}

int64_t NextCallNumber(const std::vector<Pipeline>& inputs) {
  return inputs.empty() ? 0 : inputs[0].inner().NextCallNumber();
}

}  // namespace

std::string CatalogJson() { return api::CatalogToJson(Catalog()); }

Attachment::Attachment(std::string content)
    : inner_(std::make_shared<const ir::Attachment>(std::move(content))) {}

Attachment Attachment::Of(const Plain& value) {
  return Attachment(std::make_shared<const ir::Attachment>(
      ir::EncodeTensor(Checked(ToTensor(value)))));
}

std::string_view Attachment::content() const { return inner_->content(); }

std::string Attachment::Hash() const { return base::ToHex(inner_->hash()); }

PackedRows PackRows(
    const std::vector<std::vector<std::pair<std::string, Plain>>>& rows) {
  std::vector<ops::GivenRow> given;
  given.reserve(rows.size());
  for (const auto& row : rows) {
    ops::GivenRow& fields = given.emplace_back();
    fields.reserve(row.size());
    for (const auto& [name, value] : row) {
      fields.emplace_back(name, Checked(ToTensor(value)));
    }
  }
  const ops::PackedRows packed = Checked(ops::PackRows(given));
  const auto wrapped = [](const std::vector<ir::Attachment>& attachments) {
    std::vector<Attachment> wraps;
    wraps.reserve(attachments.size());
    for (const ir::Attachment& attachment : attachments) {
      wraps.emplace_back(std::make_shared<const ir::Attachment>(attachment));
    }
    return wraps;
  };
  return {.names = packed.names,
          .values = wrapped(packed.values),
          .shapes = wrapped(packed.shapes)};
}

std::string Function::Text() const { return ir::PrintExpression(*inner_); }

Pipeline::Pipeline(const ir::Pipeline& inner)
    : inner_(std::make_shared<const ir::Pipeline>(inner)) {}

Pipeline Pipeline::Make(const std::string& name, const NamedArguments& arguments,
                        const std::vector<Pipeline>& inputs, int64_t reserved) {
  std::vector<ir::Pipeline> joined = Checked(Joined(inputs));
  const int64_t number = reserved > 0 && !joined.empty()
                             ? joined.back().NextCallNumber() + reserved - 1
                             : ir::kNoCallNumber;
  return Pipeline(Checked(ir::Pipeline::Make(Catalog(), name, ToArguments(arguments),
                                             std::move(joined), number)));
}

Pipeline Pipeline::Parse(const std::string& text,
                         const std::vector<Attachment>& attachments) {
  ir::Attachments beside;
  for (const Attachment& attachment : attachments) beside.Add(attachment.inner());
  return Pipeline(Checked(ir::Parse(text, beside, Catalog())));
}

std::string Pipeline::Operator() const { return inner_->name(); }

std::vector<Pipeline> Pipeline::Inputs() const {
  std::vector<Pipeline> inputs;
  for (const ir::Pipeline& input : inner_->inputs()) inputs.emplace_back(input);
  return inputs;
}

std::string Pipeline::Text() const { return ir::Print(*inner_).text; }

std::string Pipeline::Shown() const {
  return ir::Print(*inner_, {.for_people = true}).text;
}

std::vector<Attachment> Pipeline::Attachments() const {
  std::vector<Attachment> all;
  const ir::PipelineText printed = ir::Print(*inner_);
  for (const auto& [hash, attachment] : printed.attachments.all()) {
    all.emplace_back(std::make_shared<const ir::Attachment>(attachment));
  }
  return all;
}

std::vector<FieldType> Pipeline::Fields() const { return ToFields(inner_->spec()); }

std::optional<int64_t> Pipeline::Rows() const {
  return RowsOrEndless(inner_->cardinality());
}

CountedRows Pipeline::Count() const {
  const exec::KnownRows known = Checked(exec::RowsOf(*inner_, Library()));
  return {.rows = RowsOrEndless(known.rows), .why_unknown = known.why_unknown};
}

std::string Pipeline::Fingerprint() const { return base::ToHex(inner_->fingerprint()); }

std::string Pipeline::RowFingerprint() const {
  return base::ToHex(ir::RowFingerprint(*inner_));
}

bool Pipeline::IsRandom() const { return inner_->IsRandom(); }

bool Pipeline::Batches() const {
  for (ir::Pipeline node = *inner_; !node.inputs().empty(); node = node.inputs()[0]) {
    const ir::OperatorSchema& schema = node.schema();
    if (schema.traits.batching || schema.keyed_runs(node.arguments())) return true;
    if (node.schema().traits.unstacks) return false;
  }
  return false;
}

std::string Pipeline::Explain() const {
  return exec::ExplainPass(Checked(rewrite::Rewrite(*inner_, Catalog())), Library());
}

// --- Tracer ---

struct Tracer::State {
  std::string operator_name;
  ir::ExpressionBuilder builder;
};

Tracer::Tracer(const std::string& name, const NamedArguments& arguments,
               const std::vector<Pipeline>& inputs)
    : state_(std::make_unique<State>(
          name,
          ir::ExpressionBuilder(Catalog(), Checked(RowsSeen(name, arguments, inputs)),
                                NextCallNumber(inputs)))) {}

Tracer::~Tracer() = default;

std::vector<FieldType> Tracer::Fields() const {
  return ToFields(state_->builder.input());
}

int64_t Tracer::Field(const std::string& name) {
  return static_cast<int64_t>(Checked(state_->builder.Field(name)));
}

int64_t Tracer::Literal(const Plain& value, bool weak) {
  return static_cast<int64_t>(
      Checked(state_->builder.Literal(Checked(ToTensor(value)), weak)));
}

int64_t Tracer::Call(const std::string& kernel, const std::vector<int64_t>& operands,
                     const NamedArguments& arguments) {
  std::vector<ir::TermId> terms;
  terms.reserve(operands.size());
  for (const int64_t operand : operands) terms.push_back(ir::TermId(operand));
  return static_cast<int64_t>(
      Checked(state_->builder.Call(kernel, std::move(terms), ToArguments(arguments))));
}

FieldType Tracer::TypeOf(int64_t term) const {
  return ToFieldType(state_->builder.term(ir::TermId(term)).type);
}

Function Tracer::Build(const std::vector<std::pair<std::string, int64_t>>& results) {
  for (const auto& [name, term] : results) {
    Check(state_->builder.AddResult(name, ir::TermId(term)));
  }
  return Function(
      std::make_shared<const ir::Expression>(Checked(state_->builder.Build())));
}

}  // namespace millrace::python
