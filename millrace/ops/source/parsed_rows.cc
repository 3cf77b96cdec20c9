#include "millrace/ops/source/parsed_rows.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/found_rows.h"
#include "millrace/ops/source/row_parser.h"

namespace millrace::ops {
namespace {

class ParsedRows {
 public:
  ParsedRows(const FoundRows& found, const RowsPlan& plan, const SourceContext& context)
      : found_(found),
        plan_(plan),
        context_(context),
        names_(NamesOf(plan)),
        parser_(plan.make_parser(found.rows(), context.pool)),
        ends_(found.EndsOfSources()) {
    numbers_.reserve(found.rows());
  }

  absl::Status Add(int64_t place) {
    TRY(found_.WhyOf(place));
    TRY(parser_->Add(TextOf(place)));
    numbers_.push_back(found_.row(place).number);
    return absl::OkStatus();
  }

  absl::Status Give(RowsSink& sink) {
    if (numbers_.empty()) return absl::OkStatus();
    const core::Block block(std::ssize(numbers_), names_, TRY(parser_->Take()));
    core::Block named = TRY(WithSourceIds(block, plan_.split, numbers_, context_));
    numbers_.clear();
    return sink.Give(std::move(named));
  }

 private:
  static std::shared_ptr<const core::FieldNames> NamesOf(const RowsPlan& plan) {
    core::FieldNames names;
    for (const core::FieldSpec& field : plan.spec.fields()) names.push_back(field.name);
    return std::make_shared<const core::FieldNames>(std::move(names));
  }

  // Where the row lies in one piece it is parsed there. What was found behind it can be
  // read as well; what was not may still be on its way into memory.
  RowText TextOf(int64_t place) {
    const FoundRows::Piece* const only = found_.OnlyPiece(place, 0);
    if (only != nullptr) {
      return {.text = found_.TextOf(*only),
              .slack = ends_[only->source] - only->begin - only->size};
    }
    joined_.resize(found_.ContentBytes(place, 0));
    auto* room = reinterpret_cast<std::byte*>(joined_.data());
    found_.CopyContent(place, 0, /*sums=*/false, room);
    return {.text = joined_};
  }

  const FoundRows& found_;
  const RowsPlan& plan_;
  const SourceContext& context_;
  const std::shared_ptr<const core::FieldNames> names_;
  const std::unique_ptr<RowParser> parser_;
  const std::vector<int64_t> ends_;
  std::vector<int64_t> numbers_;
  std::string joined_;
};

}  // namespace

absl::Status GiveParsed(const FoundRows& found, const RowsPlan& plan,
                        const SourceContext& context, RowsSink& sink) {
  ParsedRows rows(found, plan, context);
  for (int64_t place = 0; place < found.rows(); ++place) {
    absl::Status added = rows.Add(place);
    if (added.ok()) continue;
    if (!absl::IsDataLoss(added)) return added;
    TRY(rows.Give(sink));
    TRY(sink.LeaveOut({.why = WrongRow(added, found.row(place), plan)}));
  }
  TRY(rows.Give(sink));
  return found.lost().ok() ? absl::OkStatus() : sink.LeaveOut({.why = found.lost()});
}

}  // namespace millrace::ops
