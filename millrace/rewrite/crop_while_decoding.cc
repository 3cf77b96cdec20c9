// Decodes only what a crop leaves of an image:
//
//   crop(decode_image(b), box)           decode_region(b, box)
//   resize(crop(                         decode_resized(b, box, ...)
//       decode_image(b), box), ...)
//   random_resized_crop#n(               decode_resized(b,
//       decode_image(b), ...)                random_crop_box#n(image_size(b)), ...)
//
// where nobody else reads the decoded pixels: to decode twice would cost more. What is
// read of the decoded shape, slice(shape(x), stop=2), comes from the header instead.
// The pixels are the same bit for bit, and so is the draw, since the call keeps its
// number.
//
// One thing does change, and is accepted: decoding stops below the crop, so that damage
// there is no longer an error of the row. The row that comes out is the one the whole
// file would have given. Who wants every byte checked switches this pass off.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

using ir::Term;
using ir::TermId;

bool Calls(const Term& term, const char* kernel) {
  return term.kind == Term::Kind::kCall && term.name == kernel;
}

bool IsCrop(const Term& term) {
  return Calls(term, "crop") || Calls(term, "random_resized_crop");
}

// slice(x, stop=2): height and width of a shape.
bool IsFirstTwo(const Term& term) {
  const auto is = [&](const char* argument, const ir::Value& value) {
    return term.arguments[argument] == value;
  };
  return Calls(term, "slice") && (is("start", ir::Value()) || is("start", 0)) &&
         is("stop", 2) && is("step", 1) && (is("axis", 0) || is("axis", -1));
}

// A row function, and which of its decoded images are only cropped.
class Decoding {
 public:
  explicit Decoding(const ir::Expression& function)
      : function_(function), readers_(function.terms().size()) {
    for (size_t i = 0; i < readers_.size(); ++i) {
      for (const TermId operand : function.terms()[i].operands) {
        readers_[static_cast<size_t>(operand)].push_back(i);
      }
    }
    for (const ir::Result& result : function.results()) {
      readers_[static_cast<size_t>(result.term)].push_back(kResult);
    }
  }

  // Whether this is decode_image, read by one crop and else only for its size.
  bool IsOnlyCropped(TermId id) const {
    const Term& term = function_[id];
    if (!Calls(term, "decode_image") || term.arguments["scale"] != ir::Value(1)) {
      return false;
    }
    int crops = 0;
    for (const size_t reader : ReadersOf(id)) {
      if (reader != kResult && IsCrop(function_.terms()[reader])) {
        ++crops;
      } else if (reader == kResult || !IsOnlySize(static_cast<TermId>(reader))) {
        return false;
      }
    }
    return crops == 1;
  }

  // Whether this is the crop of such an image, read by one resize alone.
  bool IsOnlyResized(TermId id) const {
    const Term& term = function_[id];
    if (!Calls(term, "crop") || !IsOnlyCropped(term.operands[0])) return false;
    const std::vector<size_t>& readers = ReadersOf(id);
    return readers.size() == 1 && readers[0] != kResult &&
           Calls(function_.terms()[readers[0]], "resize");
  }

  // Whether this is the shape of such an image, and only height and width are read.
  bool IsOnlySize(TermId id) const {
    if (!Calls(function_[id], "shape")) return false;
    for (const size_t reader : ReadersOf(id)) {
      if (reader == kResult || !IsFirstTwo(function_.terms()[reader])) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kResult = static_cast<size_t>(-1);

  const std::vector<size_t>& ReadersOf(TermId id) const {
    return readers_[static_cast<size_t>(id)];
  }

  const ir::Expression& function_;
  std::vector<std::vector<size_t>> readers_;  // By term; kResult for a result.
};

class CropRewriting {
 public:
  CropRewriting(const ir::Expression& function, ir::ExpressionBuilder& builder)
      : function_(function), decoding_(function), builder_(builder) {}

  // Gives how many crops were moved into their decoding.
  absl::StatusOr<int> Run() {
    for (const Term& term : function_.terms()) placed_.push_back(TRY(Place(term)));
    for (const ir::Result& result : function_.results()) {
      TRY(builder_.AddResult(result.name, At(result.term)));
    }
    return moved_;
  }

 private:
  // Nothing for a term that is no longer needed.
  absl::StatusOr<std::optional<TermId>> Place(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kField:
        return TRY(builder_.Field(term.name));
      case Term::Kind::kLiteral:
        return TRY(builder_.Literal(term.literal, term.type.weak));
      case Term::Kind::kCall:
        break;
    }
    const auto id = static_cast<TermId>(placed_.size());
    if (decoding_.IsOnlyCropped(id) || decoding_.IsOnlyResized(id)) return std::nullopt;
    const TermId image = term.operands[0];
    if (IsCrop(term) && decoding_.IsOnlyCropped(image)) return TRY(MoveCrop(term));
    if (decoding_.IsOnlyResized(image)) return TRY(MoveResize(term));
    if (Calls(term, "shape") && decoding_.IsOnlyCropped(image)) return std::nullopt;
    if (IsFirstTwo(term) && Calls(function_[image], "shape") &&
        decoding_.IsOnlyCropped(function_[image].operands[0])) {
      return TRY(SizeOf(function_[image].operands[0]));
    }
    std::vector<TermId> operands;
    operands.reserve(term.operands.size());
    for (const TermId operand : term.operands) operands.push_back(At(operand));
    return TRY(builder_.Call(term.name, std::move(operands), term.arguments,
                             term.call_number));
  }

  absl::StatusOr<TermId> MoveCrop(const Term& term) {
    ++moved_;
    const TermId image = term.operands[0];
    const TermId bytes = At(function_[image].operands[0]);
    if (term.name == "crop") {
      return builder_.Call("decode_region", {bytes, At(term.operands[1])});
    }
    ir::Arguments ranges;
    ir::Arguments resizing;
    for (const ir::Argument& argument : term.arguments.all()) {
      const bool range =
          argument.name.starts_with("scale_") || argument.name.starts_with("ratio_");
      (range ? ranges : resizing).Set(argument.name, argument.value);
    }
    const TermId box = TRY(builder_.Call("random_crop_box", {TRY(SizeOf(image))},
                                         ranges, term.call_number));
    return builder_.Call("decode_resized", {bytes, box}, resizing);
  }

  absl::StatusOr<TermId> MoveResize(const Term& term) {
    ++moved_;
    const Term& crop = function_[term.operands[0]];
    const TermId bytes = At(function_[crop.operands[0]].operands[0]);
    return builder_.Call("decode_resized", {bytes, At(crop.operands[1])},
                         term.arguments);
  }

  absl::StatusOr<TermId> SizeOf(TermId image) {
    return builder_.Call("image_size", {At(function_[image].operands[0])});
  }

  TermId At(TermId id) const {
    const std::optional<TermId>& placed = placed_[static_cast<size_t>(id)];
    CHECK(placed.has_value());
    return *placed;
  }

  const ir::Expression& function_;
  const Decoding decoding_;
  ir::ExpressionBuilder& builder_;
  std::vector<std::optional<TermId>> placed_;
  int moved_ = 0;
};

// Each crop becomes up to three terms.
bool MayBecomeTooLarge(const ir::Expression& function) {
  size_t terms = function.terms().size();
  for (const Term& term : function.terms()) terms += IsCrop(term) ? 2 : 0;
  return terms > ir::kTermsMax;
}

// The same map with crops moved; nothing when there is none to move.
absl::StatusOr<std::optional<ir::Pipeline>> Moved(const ir::Pipeline& map,
                                                  const ir::Catalog& catalog) {
  if (MayBecomeTooLarge(MapFunction(map))) return std::nullopt;
  const ir::Pipeline& input = map.inputs()[0];
  ir::ExpressionBuilder builder(catalog, input.spec(), map.NextCallNumber());
  const int moved = TRY(CropRewriting(MapFunction(map), builder).Run());
  if (moved == 0) return std::nullopt;
  ir::Arguments arguments = map.arguments();
  arguments.Set("function",
                std::make_shared<const ir::Expression>(TRY(builder.Build())));
  return TRY(ir::Pipeline::Make(catalog, "map", arguments, {input}));
}

absl::StatusOr<std::optional<Replacement>> MoveCrops(const ir::Pipeline& node,
                                                     const ir::Catalog& catalog) {
  if (node.name() != "map") return std::nullopt;
  const std::optional<ir::Pipeline> moved = TRY(Moved(node, catalog));
  if (!moved) return std::nullopt;
  return Replacement{
      *moved,
      base::StrCat("map crops while it decodes, giving ", node.spec().Names(),
                   ": what lies outside of the crop is not decoded, and damage below "
                   "it not seen")};
}

absl::StatusOr<Outcome> CropWhileDecoding(const ir::Pipeline& pipeline,
                                          const ir::Catalog& catalog) {
  return ReplaceNodes(pipeline, catalog, MoveCrops);
}

}  // namespace

Pass CropWhileDecodingPass() {
  return {"crop_while_decoding", "Decodes only what a crop leaves of an image.",
          CropWhileDecoding};
}

}  // namespace millrace::rewrite
