#include "millrace/adapters/arrow/export.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"

namespace millrace::arrow {
namespace {

// Arrow's format text of a type without a shape; null where it has none.
const char* FormatOf(core::DType dtype) {
  switch (dtype) {
    case core::DType::kBool:
      return "b";
    case core::DType::kInt8:
      return "c";
    case core::DType::kInt16:
      return "s";
    case core::DType::kInt32:
      return "i";
    case core::DType::kInt64:
      return "l";
    case core::DType::kUint8:
      return "C";
    case core::DType::kUint16:
      return "S";
    case core::DType::kUint32:
      return "I";
    case core::DType::kUint64:
      return "L";
    case core::DType::kFloat16:
      return "e";
    case core::DType::kFloat32:
      return "f";
    case core::DType::kFloat64:
      return "g";
    case core::DType::kBytes:
      return "Z";
    case core::DType::kString:
      return "U";
    case core::DType::kBFloat16:
      return nullptr;
  }
  return nullptr;
}

// A tree of schemas, with all that they point to.
struct SchemaNode {
  std::string format;
  std::string name;
  std::deque<SchemaNode> children = {};
  ArrowSchema schema = {};
  std::vector<ArrowSchema*> pointers = {};

  void Link() {
    for (SchemaNode& child : children) {
      child.Link();
      pointers.push_back(&child.schema);
    }
    schema = {.format = format.c_str(),
              .name = name.c_str(),
              .metadata = nullptr,
              .flags = 0,
              .n_children = static_cast<int64_t>(pointers.size()),
              .children = pointers.data(),
              .dictionary = nullptr,
              .release = [](ArrowSchema* released) { released->release = nullptr; },
              .private_data = nullptr};
  }
};

// The same of arrays.
struct ArrayNode {
  int64_t length = 0;
  std::vector<core::Buffer> buffers;  // Behind the one of nulls, which is not there.
  std::deque<ArrayNode> children = {};
  ArrowArray array = {};
  std::vector<const void*> starts = {};
  std::vector<ArrowArray*> pointers = {};

  void Link() {
    starts.push_back(nullptr);
    for (const core::Buffer& buffer : buffers) starts.push_back(buffer.data());
    for (ArrayNode& child : children) {
      child.Link();
      pointers.push_back(&child.array);
    }
    array = {.length = length,
             .null_count = 0,
             .offset = 0,
             .n_buffers = static_cast<int64_t>(starts.size()),
             .n_children = static_cast<int64_t>(pointers.size()),
             .buffers = starts.data(),
             .children = pointers.data(),
             .dictionary = nullptr,
             .release = [](ArrowArray* released) { released->release = nullptr; },
             .private_data = nullptr};
  }
};

// The root owns the tree: children are released with it, or before. Those that were
// moved away keep pointing into it, as Arrow's own bridge has it: whoever moves a child
// releases the root no sooner.
template <typename Node, typename Struct>
Struct Owned(std::unique_ptr<Node> root, Struct Node::* member) {
  root->Link();
  Struct out = (*root).*member;
  out.private_data = root.release();
  out.release = [](Struct* released) {
    delete static_cast<Node*>(released->private_data);
    released->release = nullptr;
  };
  return out;
}

SchemaNode SchemaOf(const core::FieldSpec& field) {
  SchemaNode node = {.format = FormatOf(field.dtype), .name = field.name};
  const absl::Span<const int64_t> sizes = field.shape.sizes();
  for (size_t axis = sizes.size(); axis-- > 0;) {
    node.name = "item";
    SchemaNode list = {.format = sizes[axis] == core::kUnknownSize
                                     ? "+L"
                                     : base::StrCat("+w:", sizes[axis]),
                       .name = field.name};
    list.children.push_back(std::move(node));
    node = std::move(list);
  }
  return node;
}

absl::StatusOr<core::Buffer> PackedBits(const core::Buffer& bools, int64_t count,
                                        core::Pool& pool) {
  core::Buffer bits = TRY(pool.Allocate((count + 7) / 8));
  if (bits.size() > 0) std::memset(bits.mutable_data(), 0, bits.size());
  for (int64_t i = 0; i < count; ++i) {
    const bool set = bools.data()[i] != std::byte{0};
    if (set) bits.mutable_data()[i / 8] |= std::byte{1} << (i % 8);
  }
  return bits;
}

// The offsets of so many lists of one size.
absl::StatusOr<core::Buffer> EvenOffsets(int64_t count, int64_t size,
                                         core::Pool& pool) {
  core::Buffer offsets = TRY(pool.AllocateFor<int64_t>(count + 1));
  int64_t next = 0;
  for (int64_t& offset : offsets.MutableAs<int64_t>()) {
    offset = next;
    next += size;
  }
  return offsets;
}

// Offsets of the lists that tensors are along one axis: as many lists as the sizes of
// the axes before it say.
absl::StatusOr<core::Buffer> OffsetsAlong(int axis,
                                          absl::Span<const core::Tensor> tensors,
                                          core::Pool& pool) {
  std::vector<int64_t> offsets = {0};
  for (const core::Tensor& tensor : tensors) {
    const absl::Span<const int64_t> sizes = tensor.shape().sizes();
    const int64_t lists = std::accumulate(sizes.begin(), sizes.begin() + axis,
                                          int64_t{1}, std::multiplies<>());
    for (int64_t i = 0; i < lists; ++i) offsets.push_back(offsets.back() + sizes[axis]);
  }
  return core::CopyBytes(offsets.data(),
                         static_cast<int64_t>(offsets.size() * sizeof(int64_t)), pool);
}

absl::StatusOr<core::Buffer> JoinedValues(absl::Span<const core::Tensor> tensors,
                                          core::Pool& pool) {
  int64_t bytes = 0;
  for (const core::Tensor& tensor : tensors) bytes += tensor.values().size();
  core::Buffer values = TRY(pool.Allocate(bytes));
  std::byte* to = values.mutable_data();
  for (const core::Tensor& tensor : tensors) {
    if (tensor.values().size() == 0) continue;
    std::memcpy(to, tensor.values().data(), tensor.values().size());
    to += tensor.values().size();
  }
  return values;
}

// The texts of tensors, one after another.
absl::StatusOr<core::Column> JoinedTexts(core::DType dtype,
                                         absl::Span<const core::Tensor> tensors,
                                         core::Pool& pool) {
  std::vector<core::Column> columns = {
      core::Column::Texts(dtype, 0, TRY(EvenOffsets(0, 0, pool)), {})};
  for (const core::Tensor& tensor : tensors) {
    columns.push_back(
        core::Column::Texts(dtype, tensor.count(), tensor.offsets(), tensor.values()));
  }
  return core::Concatenate(columns, pool);
}

// A tensor per row as lists with offsets along all of their axes.
absl::StatusOr<core::Column> TensorsAsLevels(const core::Column& column, int rank,
                                             core::Pool& pool) {
  const absl::Span<const core::Tensor> tensors = column.tensors();
  core::Levels levels = column.levels();
  const int above = static_cast<int>(levels.size());
  for (int axis = 0; axis < rank - above; ++axis) {
    levels.push_back(core::Level::Variable(TRY(OffsetsAlong(axis, tensors, pool))));
  }
  if (!core::IsVariable(column.dtype())) {
    return core::Column::FromLevels(column.dtype(), column.rows(), std::move(levels),
                                    TRY(JoinedValues(tensors, pool)));
  }
  const core::Column texts = TRY(JoinedTexts(column.dtype(), tensors, pool));
  levels.push_back(texts.levels()[0]);
  return core::Column::FromLevels(column.dtype(), column.rows(), std::move(levels),
                                  texts.values());
}

// Lays a column out so that Arrow can point to it: levels that begin at 0.
absl::StatusOr<core::Column> AsLevels(const core::FieldSpec& field,
                                      const core::Column& column, core::Pool& pool) {
  core::Column laid = TRY(core::WithoutGaps(column, pool));
  if (laid.HoldsTensors()) {
    laid = TRY(TensorsAsLevels(laid, field.shape.rank(), pool));
  }
  const bool begins_at_0 =
      std::ranges::all_of(laid.levels(), [](const core::Level& level) {
        return level.fixed() || level.offsets.As<int64_t>()[0] == 0;
      });
  if (begins_at_0) return laid;
  std::vector<int64_t> rows(laid.rows());
  std::iota(rows.begin(), rows.end(), 0);
  return core::Gather(laid, rows, pool);
}

// Arrow's texts are UTF-8, and who reads them goes by that.
absl::Status CheckTexts(const core::Column& texts, int64_t count) {
  if (texts.dtype() != core::DType::kString) return absl::OkStatus();
  const absl::Span<const int64_t> offsets = texts.levels().back().offsets.As<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view text =
        texts.values().text().substr(offsets[i], offsets[i + 1] - offsets[i]);
    if (base::IsUtf8(text)) continue;
    return absl::InvalidArgumentError(base::StrCat(
        "text ", i,
        " of a block is not UTF-8, as Arrow's are: save it as "
        "bytes, or leave such rows out with check_utf8 and ignore_errors"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ArrayNode> ValuesOf(const core::Column& column, int64_t count,
                                   core::Pool& pool) {
  ArrayNode node = {.length = count, .buffers = {}};
  if (core::IsVariable(column.dtype())) {
    TRY(CheckTexts(column, count));
    node.buffers = {column.levels().back().offsets, column.values()};
  } else if (column.dtype() == core::DType::kBool) {
    node.buffers = {TRY(PackedBits(column.values(), count, pool))};
  } else {
    node.buffers = {column.values()};
  }
  return node;
}

absl::StatusOr<ArrayNode> ArrayOf(const core::FieldSpec& field,
                                  const core::Column& column, core::Pool& pool) {
  const core::Column laid = TRY(AsLevels(field, column, pool));
  const absl::Span<const core::Level> levels = laid.shape_levels();
  CHECK_EQ(static_cast<int>(levels.size()), field.shape.rank());
  std::deque<ArrayNode> lists;
  int64_t count = laid.rows();
  for (size_t axis = 0; axis < levels.size(); ++axis) {
    ArrayNode list = {.length = count, .buffers = {}};
    const bool known = field.shape[static_cast<int>(axis)] != core::kUnknownSize;
    if (!known && levels[axis].fixed()) {
      list.buffers = {TRY(EvenOffsets(count, levels[axis].size, pool))};
    } else if (!known) {
      list.buffers = {levels[axis].offsets};
    }
    count = levels[axis].Below({0, count}).end;
    lists.push_back(std::move(list));
  }
  ArrayNode node = TRY(ValuesOf(laid, count, pool));
  while (!lists.empty()) {
    lists.back().children.push_back(std::move(node));
    node = std::move(lists.back());
    lists.pop_back();
  }
  return node;
}

}  // namespace

absl::Status CheckHolds(const core::Spec& spec) {
  for (const core::FieldSpec& field : spec.fields()) {
    const std::string shown = core::Spec({field}).ToString();
    if (FormatOf(field.dtype) == nullptr) {
      return absl::InvalidArgumentError(
          base::StrCat("Arrow has no such type: ", shown,
                       "; cast it to float32 with map, or save in another format"));
    }
    if (!field.shape.ranked()) {
      return absl::InvalidArgumentError(
          base::StrCat("Arrow needs to know how many axes a field has: ", shown,
                       "; reshape it with map, or save in another format"));
    }
  }
  if (!spec.fields().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("Arrow files cannot hold rows without fields");
}

ArrowSchema ExportSchema(const core::Spec& spec) {
  auto root = std::make_unique<SchemaNode>(SchemaNode{.format = "+s", .name = ""});
  for (const core::FieldSpec& field : spec.fields()) {
    root->children.push_back(SchemaOf(field));
  }
  return Owned(std::move(root), &SchemaNode::schema);
}

absl::StatusOr<ArrowArray> ExportRows(const core::Spec& spec, const core::Block& rows,
                                      core::Pool& pool) {
  auto root =
      std::make_unique<ArrayNode>(ArrayNode{.length = rows.rows(), .buffers = {}});
  for (const core::FieldSpec& field : spec.fields()) {
    const core::Column* const column = rows.Find(field.name);
    CHECK(column != nullptr) << field.name;
    absl::StatusOr<ArrayNode> array = ArrayOf(field, *column, pool);
    if (!array.ok()) return base::Annotate(array.status(), field.name);
    root->children.push_back(*std::move(array));
  }
  return Owned(std::move(root), &ArrayNode::array);
}

}  // namespace millrace::arrow
