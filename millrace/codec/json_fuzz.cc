// Feeds the finder of JSON values anything. Whatever is found lies in the text; what
// all of JSON's rules allow is found without an error, if no key comes twice.

#include "millrace/codec/json.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/codec/json_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::codec::JsonValue;
  const std::string padded = std::string(reinterpret_cast<const char*>(data), size) +
                             std::string(millrace::codec::kJsonSlack, '\0');
  const std::string_view text = std::string_view(padded).substr(0, size);
  millrace::codec::JsonPicker picker({"a", "b.c", "d"});
  std::array<JsonValue, 3> values;
  const absl::Status picked = picker.Pick(text, absl::MakeSpan(values));
  CHECK(picked.ok() || absl::IsDataLoss(picked)) << picked;
  for (const JsonValue& value : values) {
    if (value.text.empty()) continue;
    CHECK(value.text.data() >= text.data());
    CHECK(value.text.data() + value.text.size() <= text.data() + size);
    if (value.kind != JsonValue::Kind::kArray) continue;
    millrace::codec::JsonItems items(value.text);
    JsonValue item;
    while (items.Next(item)) CHECK(item.text.size() < value.text.size());
  }
  int64_t members = 0;
  const absl::Status shown = picker.ForEachMember(
      text, [&](std::string_view, const JsonValue&) { ++members; });
  const bool valid = !millrace::codec::FindJsonFlaw(text);
  const bool is_object = millrace::codec::TrimJson(text).starts_with('{');
  if (valid && is_object) CHECK(shown.ok()) << shown;
  CHECK(members <= static_cast<int64_t>(size));
  return 0;
}
