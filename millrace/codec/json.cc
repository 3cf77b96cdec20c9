#include "millrace/codec/json.h"

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/text.h"
#include "millrace/codec/json_path.h"
#include "millrace/codec/json_text.h"

namespace millrace::codec {

namespace ondemand = simdjson::ondemand;
using Kind = JsonValue::Kind;

struct JsonStep {
  std::string key;
  bool plain = true;        // Stands in a text as it is, and is short.
  std::string quoted = {};  // With the quote behind it, as it stands in a text.
  int value = -1;           // The path that ends here; else there are steps.
  std::vector<JsonStep> steps = {};
  absl::flat_hash_map<std::string, int> by_key = {};

  JsonStep& Add(const std::string& name) {
    const auto [entry, is_new] = by_key.try_emplace(name, std::ssize(steps));
    if (is_new) {
      std::string quoted = name + '"';
      const bool plain = name.find_first_of("\"\\") == std::string::npos &&
                         std::ssize(quoted) <= kJsonSlack;
      steps.push_back({.key = name, .plain = plain, .quoted = std::move(quoted)});
    }
    return steps[entry->second];
  }
};

namespace {

static_assert(kJsonSlack >= static_cast<int64_t>(simdjson::SIMDJSON_PADDING));

// Enters the steps that a path's dots make.
void AddSteps(JsonStep& root, std::string_view path, int value) {
  JsonStep* step = &root;
  for (size_t dot = path.find('.'); dot != std::string_view::npos;
       dot = path.find('.')) {
    step = &step->Add(std::string(path.substr(0, dot)));
    path.remove_prefix(dot + 1);
  }
  step->Add(std::string(path)).value = value;
}

// Enters what is left of a path at each of its steps, as one key.
void AddKeysWithDots(JsonStep& root, std::string_view path, int value) {
  JsonStep* step = &root;
  for (size_t dot = path.find('.'); dot != std::string_view::npos;
       dot = path.find('.')) {
    step->Add(std::string(path)).value = value;
    step = &step->Add(std::string(path.substr(0, dot)));
    path.remove_prefix(dot + 1);
  }
}

absl::Status NotJson(std::string_view text) {
  const std::optional<JsonFlaw> flaw = FindJsonFlaw(text);
  if (flaw) {
    return absl::DataLossError(
        base::StrCat("no valid JSON: it has ", flaw->what, " at its byte ", flaw->at));
  }
  return absl::DataLossError("no valid JSON");
}

absl::Status NoObject(std::string_view text) {
  const JsonValue found = JsonValueOf(TrimJson(text));
  const bool other = found.kind != Kind::kObject && !FindJsonFlaw(text);
  if (!other) return NotJson(text);
  return absl::DataLossError(base::StrCat("no JSON object, but ", Name(found.kind)));
}

simdjson::padded_string_view Padded(std::string_view text) {
  return simdjson::padded_string_view(text.data(), text.size(),
                                      text.size() + kJsonSlack);
}

// Tells whether all of a text was read: where nothing is left, there is no location.
bool IsAtEnd(ondemand::document& document) {
  return document.current_location().error() == simdjson::error_code::OUT_OF_BOUNDS;
}

// Takes a member's value as it stands in the text.
bool TakeValue(ondemand::value& value, JsonValue& found) {
  const std::string_view token = value.raw_json_token();
  std::string_view all = token;
  if (token.starts_with('[')) {
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) return false;
    if (array.raw_json().get(all) != simdjson::SUCCESS) return false;
  } else if (token.starts_with('{')) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    if (object.raw_json().get(all) != simdjson::SUCCESS) return false;
  }
  found = JsonValueOf(TrimJson(all));
  return found.kind != Kind::kWrong;
}

// The key that begins here, as it stands, up to its closing quote.
std::string_view KeyAt(const char* begin) {
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<size_t>(end - begin)};
}

// A key without escapes; the room keeps it where it had any.
bool UnescapeKey(std::string_view& key, std::string& room) {
  if (key.find('\\') == std::string_view::npos) return true;
  room.resize(key.size());
  const std::optional<size_t> size = UnescapeJson(key, room.data());
  if (!size) return false;
  key = std::string_view(room).substr(0, *size);
  return true;
}

}  // namespace

class JsonPicker::Parser {
 public:
  using Visit = absl::FunctionRef<void(std::string_view key, const JsonValue& value)>;

  absl::Status Pick(const JsonStep& root, std::string_view text,
                    absl::Span<JsonValue> values) {
    values_ = values;
    wrong_ = absl::OkStatus();
    return Read(text, [&](ondemand::object& object) { return Walk(root, object); });
  }

  absl::Status ForEachMember(std::string_view text, Visit visit) {
    wrong_ = absl::OkStatus();
    return Read(text, [&](ondemand::object& object) { return Show(object, visit); });
  }

 private:
  // Opens a text and reads its object, all of it.
  absl::Status Read(std::string_view text,
                    absl::FunctionRef<bool(ondemand::object&)> read) {
    ondemand::document document;
    ondemand::object object;
    const bool opened =
        parser_.iterate(Padded(text)).get(document) == simdjson::SUCCESS &&
        document.get_object().get(object) == simdjson::SUCCESS;
    const bool done = opened && read(object);
    if (!wrong_.ok()) return wrong_;
    return done && IsAtEnd(document) ? absl::OkStatus() : NoObject(text);
  }

  bool Show(ondemand::object& object, Visit visit) {
    for (auto member : object) {
      ondemand::field field;
      if (std::move(member).get(field) != simdjson::SUCCESS) return false;
      std::string_view key = KeyAt(field.key().raw());
      JsonValue value;
      if (!UnescapeKey(key, key_) || !TakeValue(field.value(), value)) return false;
      visit(key, value);
    }
    return true;
  }

  bool Walk(const JsonStep& from, ondemand::object& object) {
    const absl::Span<const JsonStep> steps = from.steps;
    size_t expected = 0;  // Members mostly come in the order of the paths.
    for (auto member : object) {
      if (member.error() != simdjson::SUCCESS) return false;
      // Where it lies: a copy would wait for its parts to be written.
      ondemand::field&& field = std::move(member).value_unsafe();
      const char* const key = field.key().raw();
      const JsonStep* step = nullptr;
      if (expected < steps.size() && Matches(steps[expected], key)) {
        step = &steps[expected];
      } else if (!Find(from, key, step)) {
        return false;
      }
      if (step == nullptr) continue;
      expected = static_cast<size_t>(step - steps.data()) + 1;
      if (!(step->value >= 0 ? Keep(*step, field) : Enter(*step, field))) return false;
    }
    return true;
  }

  static bool Matches(const JsonStep& step, const char* key) {
    // Behind the text are bytes enough for a short key.
    return step.plain && std::memcmp(key, step.quoted.data(), step.quoted.size()) == 0;
  }

  // False where the key is wrong.
  bool Find(const JsonStep& from, const char* begin, const JsonStep*& step) {
    std::string_view key = KeyAt(begin);
    if (!UnescapeKey(key, key_)) return false;
    const auto entry = from.by_key.find(base::ToAbsl(key));
    if (entry != from.by_key.end()) step = &from.steps[entry->second];
    return true;
  }

  bool Keep(const JsonStep& step, ondemand::field& field) {
    JsonValue& value = values_[step.value];
    if (value.kind != Kind::kMissing) {
      wrong_ = absl::DataLossError(base::StrCat("two values for the key ", step.key));
      return false;
    }
    return TakeValue(field.value(), value);
  }

  bool Enter(const JsonStep& step, ondemand::field& field) {
    ondemand::object object;
    if (field.value().get_object().get(object) == simdjson::SUCCESS) {
      return Walk(step, object);
    }
    JsonValue value;
    if (!TakeValue(field.value(), value)) return false;
    if (value.kind == Kind::kNull) return true;  // So is all that would be in it.
    wrong_ = absl::DataLossError(
        base::StrCat("key ", step.key, " is ", Name(value.kind), ", no object"));
    return false;
  }

  ondemand::parser parser_;
  absl::Span<JsonValue> values_;
  absl::Status wrong_;
  std::string key_;
};

JsonPicker::JsonPicker(const std::vector<std::string>& paths)
    : root_(std::make_unique<JsonStep>()), parser_(std::make_unique<Parser>()) {
  // First the usual ones, so that steps have the order in which members are expected.
  for (size_t i = 0; i < paths.size(); ++i) {
    AddSteps(*root_, paths[i], static_cast<int>(i));
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    AddKeysWithDots(*root_, paths[i], static_cast<int>(i));
  }
}

JsonPicker::~JsonPicker() = default;

absl::Status JsonPicker::Pick(std::string_view text, absl::Span<JsonValue> values) {
  for (JsonValue& value : values) value = {};
  return parser_->Pick(*root_, text, values);
}

absl::Status JsonPicker::ForEachMember(
    std::string_view text,
    absl::FunctionRef<void(std::string_view key, const JsonValue& value)> visit) {
  return parser_->ForEachMember(text, visit);
}

// --- JsonFinder ---

class JsonFinder::Parser {
 public:
  explicit Parser(const JsonPath& path) : steps_(path.steps()) {}

  absl::StatusOr<JsonFound> Find(std::string_view text) {
    const std::string_view trimmed = TrimJson(text);
    if (!LeadsOn(trimmed, 0)) {
      if (FindJsonFlaw(text)) return NotJson(text);
      return JsonFound{.value = JsonValueOf(trimmed)};
    }
    found_ = {};
    wrong_ = absl::OkStatus();
    ondemand::document document;
    const bool read =
        parser_.iterate(Padded(text)).get(document) == simdjson::SUCCESS &&
        Enter(document, 0) && IsAtEnd(document);
    if (!wrong_.ok()) return wrong_;
    if (!read) return NotJson(text);
    return found_;
  }

 private:
  // Tells whether the next step can be taken into the value that begins so.
  bool LeadsOn(std::string_view value, size_t step) const {
    return step < steps_.size() &&
           value.starts_with(steps_[step].is_item() ? '[' : '{');
  }

  // Takes a step into an object or array, which has the bracket for it.
  template <typename From>
  bool Enter(From& from, size_t step) {
    found_.steps = step;
    if (steps_[step].is_item()) {
      ondemand::array array;
      return from.get_array().get(array) == simdjson::SUCCESS && EnterItem(array, step);
    }
    ondemand::object object;
    return from.get_object().get(object) == simdjson::SUCCESS &&
           EnterMember(object, step);
  }

  bool EnterItem(ondemand::array& array, size_t step) {
    int64_t index = 0;
    for (auto item : array) {
      ondemand::value value;
      if (std::move(item).get(value) != simdjson::SUCCESS) return false;
      if (index++ == steps_[step].index && !Follow(value, step + 1)) return false;
    }
    return true;
  }

  bool EnterMember(ondemand::object& object, size_t step) {
    bool seen = false;
    for (auto member : object) {
      ondemand::field field;
      if (std::move(member).get(field) != simdjson::SUCCESS) return false;
      std::string_view key = KeyAt(field.key().raw());
      if (!UnescapeKey(key, key_)) return false;
      if (key != steps_[step].key) continue;
      if (seen) return FailTwice(step);
      seen = true;
      if (!Follow(field.value(), step + 1)) return false;
    }
    return true;
  }

  bool FailTwice(size_t step) {
    wrong_ =
        absl::DataLossError(base::StrCat("two values for the key ", steps_[step].key));
    return false;
  }

  // Goes on from a value to which so many steps led.
  bool Follow(ondemand::value& value, size_t step) {
    if (LeadsOn(value.raw_json_token(), step)) return Enter(value, step);
    found_.steps = step;
    return TakeValue(value, found_.value);
  }

  const std::vector<JsonPathStep>& steps_;
  ondemand::parser parser_;
  JsonFound found_;
  absl::Status wrong_;
  std::string key_;
};

JsonFinder::JsonFinder(JsonPath path)
    : path_(std::move(path)), parser_(std::make_unique<Parser>(path_)) {}

JsonFinder::~JsonFinder() = default;

absl::StatusOr<JsonFound> JsonFinder::Find(std::string_view text) {
  return parser_->Find(text);
}

}  // namespace millrace::codec
