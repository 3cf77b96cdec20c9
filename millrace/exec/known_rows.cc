#include "millrace/exec/known_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/decompress.h"
#include "millrace/core/pool.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

bool IsUnknown(const KnownRows& known) {
  return !known.rows.known() && !known.rows.infinite();
}

// "filter (%1)", as the text form and errors have it.
std::string NameAt(const std::vector<ir::Pipeline>& nodes, size_t number) {
  return base::StrCat(nodes[number].name(), " (%", number, ")");
}

// Why a source with such splits does not know its rows, and what to do.
std::string NotCounted(const std::string& source, const lanes::Manifest& manifest) {
  std::vector<const lanes::Split*> splits;
  for (const lanes::Split& split : manifest.splits) {
    if (!split.rows) splits.push_back(&split);
  }
  const auto named = std::ranges::find_if(
      splits, [](const lanes::Split* split) { return split->bytes.count() > 0; });
  if (named == splits.end()) {
    return base::StrCat(source, " does not tell how many rows it gives");
  }
  const lanes::Split& first = **named;
  if (codec::CompressionOfName(first.name) != codec::Compression::kNone) {
    return base::StrCat(source, ": the rows of compressed files are not counted (",
                        first.name,
                        "); store them plain, and index them with `millrace"
                        " data index`");
  }
  return base::StrCat(source, ": ", splits.size(), " of ", manifest.splits.size(),
                      manifest.splits.size() == 1 ? " file has" : " files have",
                      " no index that counts its rows; make it with `millrace data "
                      "index ",
                      first.name, "`",
                      splits.size() > 1 ? ", and so for the others" : "");
}

absl::StatusOr<KnownRows> Listed(const ir::Pipeline& source, const std::string& name,
                                 const ops::Library& library) {
  const std::unique_ptr<ops::Source> listing =
      library.MakeSource(source, {.pool = core::HeapPool(), .with_ids = false});
  const lanes::Manifest manifest = TRY(listing->List());
  TRY(lanes::Check(manifest));
  if (!manifest.counted()) return KnownRows{.why_unknown = NotCounted(name, manifest)};
  return KnownRows{.rows = ir::Cardinality::Known(manifest.total_rows())};
}

using CountSource = std::function<absl::StatusOr<KnownRows>(const ir::Pipeline& source,
                                                            const std::string& name)>;

// Follows rows from the sources, those that do not know theirs by themselves as told.
absl::StatusOr<KnownRows> Follow(const std::vector<ir::Pipeline>& nodes,
                                 const CountSource& count) {
  std::vector<KnownRows> known;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ir::Pipeline& node = nodes[i];
    std::vector<ir::Cardinality> inputs;
    std::string why;
    for (const ir::Pipeline& input : node.inputs()) {
      const KnownRows& before = known[std::ranges::find(nodes, input) - nodes.begin()];
      inputs.push_back(before.rows);
      if (why.empty()) why = before.why_unknown;
    }
    KnownRows rows = {.rows = node.schema().cardinality(node.arguments(), inputs)};
    if (IsUnknown(rows) && node.inputs().empty()) {
      rows = TRY(count(node, NameAt(nodes, i)));
    } else if (IsUnknown(rows)) {
      rows.why_unknown = !why.empty()
                             ? why
                             : base::StrCat("how many rows ", NameAt(nodes, i),
                                            " gives depends on what is in them");
    }
    known.push_back(std::move(rows));
  }
  return known.back();
}

}  // namespace

absl::StatusOr<KnownRows> RowsOf(const ir::Pipeline& pipeline,
                                 const ops::Library& library) {
  const std::vector<ir::Pipeline> nodes = pipeline.Nodes();
  // As if every source told: where that is not enough, none is asked.
  constexpr int64_t kSome = 1000;
  KnownRows at_best = TRY(Follow(nodes, [](const auto&, const auto&) {
    return KnownRows{.rows = ir::Cardinality::Known(kSome)};
  }));
  if (IsUnknown(at_best)) return at_best;
  if (pipeline.cardinality().known() || pipeline.cardinality().infinite()) {
    return KnownRows{.rows = pipeline.cardinality()};
  }
  return Follow(nodes, [&](const ir::Pipeline& source, const std::string& name) {
    return Listed(source, name, library);
  });
}

}  // namespace millrace::exec
