#include "crd/schema_validator.h"

#include <algorithm>
#include <set>

#include "base/suggestions.h"
#include "crd/describe.h"
#include "crd/integer.h"

namespace inference::crd {
namespace {

constexpr std::size_t kMostErrors = 100;
constexpr std::string_view kUnknownField = "unknown field";

std::size_t count_code_points(std::string_view text) {
  const auto continues =
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; });
  return text.size() - static_cast<std::size_t>(continues);
}

std::string_view type_name(Schema::Type type) {
  switch (type) {
    case Schema::Type::kObject:
      return "an object";
    case Schema::Type::kArray:
      return "a list";
    case Schema::Type::kString:
      return "a string";
    case Schema::Type::kInteger:
      return "an integer";
    case Schema::Type::kBoolean:
      return "a boolean";
    case Schema::Type::kIntOrString:
      return "an integer or a string";
    case Schema::Type::kAny:
      break;
  }
  return "a value";
}

bool has_type(Schema::Type type, const Json& value) {
  switch (type) {
    case Schema::Type::kObject:
      return value.is_object();
    case Schema::Type::kArray:
      return value.is_array();
    case Schema::Type::kString:
      return value.is_string();
    case Schema::Type::kInteger:
      return as_integer(value).has_value();
    case Schema::Type::kBoolean:
      return value.is_boolean();
    case Schema::Type::kIntOrString:
      return value.is_string() || as_integer(value).has_value();
    case Schema::Type::kAny:
      break;
  }
  return true;
}

std::string join(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += (result.empty() ? "" : ", ") + name;
  return result;
}

std::vector<std::string> names_of(const std::vector<Property>& properties) {
  std::vector<std::string> names;
  for (const Property& property : properties) names.push_back(property.name);
  return names;
}

// Walks schema and value together. The way down is kept as steps and becomes text only for a fault: most objects have
// none.
class Validator {
 public:
  explicit Validator(const std::string& root) : root_(root) {}

  void check(const Schema& schema, const Json& value) {
    if (!has_type(schema.type, value)) {
      add_wrong_type(schema, value);
      return;
    }
    if (value.is_string()) check_string(schema, value.get_ref<const std::string&>());
    if (value.is_number()) check_number(schema, value);
    if (value.is_array()) check_array(schema, value);
    if (value.is_object()) check_object(schema, value);
    for (const auto& [rule, field_path] : schema.rules) {
      if (!rule->holds(value)) add(std::string(rule->message), field_path);
    }
  }

  FieldErrors take() { return std::move(errors_); }

 private:
  // A field by its name, or an item by its index.
  struct Step {
    const std::string* field;
    std::size_t index;
  };

  std::string path(const std::string& relative) const {
    std::string text = root_;
    for (const auto& [field, index] : steps_)
      text += field == nullptr ? "[" + std::to_string(index) + "]" : "." + quotable(*field);
    text += relative;
    return text.starts_with('.') ? text.substr(1) : text;
  }

  // `relative` leads from the current value to what is at fault. One fault a path: an empty name is also no DNS label,
  // but saying so twice helps nobody.
  void add(std::string message, const std::string& relative = "") {
    if (errors_.size() >= kMostErrors) return;
    std::string place = path(relative);
    if (std::ranges::find(errors_, place, &FieldError::path) != errors_.end()) return;
    errors_.push_back({std::move(place), std::move(message)});
  }

  void add_wrong_type(const Schema& schema, const Json& value) {
    // A number that is too large to be read as an integer is too large first of all.
    if (value.is_number() && schema.maximum && value.get<double>() > static_cast<double>(*schema.maximum)) {
      add("must be at most " + std::to_string(*schema.maximum));
    } else if (value.is_number() && schema.minimum && value.get<double>() < static_cast<double>(*schema.minimum)) {
      add("must be at least " + std::to_string(*schema.minimum));
    } else {
      // `Off`, `yes` and 0.90 are no strings in YAML, and who wrote them sees a string there.
      const bool needs_quotes = schema.type == Schema::Type::kString && (value.is_boolean() || value.is_number());
      add("must be " + std::string(type_name(schema.type)) + ", not " + describe(value) +
          (needs_quotes ? " (quotes make it one)" : ""));
    }
  }

  void check_string(const Schema& schema, const std::string& text) {
    if (!schema.enumeration.empty() && std::ranges::find(schema.enumeration, text) == schema.enumeration.end()) {
      add("must be one of " + join(schema.enumeration) + ", not \"" + quotable(text) + "\"" +
          did_you_mean(text, schema.enumeration));
      return;
    }
    const std::size_t length = count_code_points(text);
    if (length < schema.min_length) {
      add(schema.min_length == 1 ? "must not be empty"
                                 : "must have at least " + std::to_string(schema.min_length) + " characters");
      return;
    }
    if (schema.max_length && length > *schema.max_length) {
      add("must have at most " + std::to_string(*schema.max_length) + " characters");
      return;  // and is too long to be matched
    }
    if (schema.pattern && !schema.pattern->found_in(text)) {
      add("must match " + schema.pattern->text() + ", unlike \"" + quotable(text) + "\"");
    }
  }

  void check_number(const Schema& schema, const Json& value) {
    const auto number = as_integer(value);
    if (!number) return;  // only of a node that takes any value
    if (schema.minimum && *number < *schema.minimum) add("must be at least " + std::to_string(*schema.minimum));
    if (schema.maximum && *number > *schema.maximum) add("must be at most " + std::to_string(*schema.maximum));
  }

  void check_array(const Schema& schema, const Json& list) {
    const std::size_t most = schema.max_items.value_or(list.size());
    if (list.size() > most) add("must have at most " + std::to_string(most) + " items");
    if (!schema.items) return;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
      steps_.push_back({nullptr, i});
      check(*schema.items, list[i]);
      if (!schema.list_map_keys.empty() && list[i].is_object()) check_key(schema, list[i], seen);
      steps_.pop_back();
    }
  }

  void check_key(const Schema& schema, const Json& item, std::set<std::string>& seen) {
    Json key = Json::array();
    for (const std::string& name : schema.list_map_keys) key.push_back(item.value(name, Json()));
    if (!seen.insert(key.dump(-1, ' ', false, Json::error_handler_t::replace)).second) {
      add("has the same " + join(schema.list_map_keys) + " as an item before it");
    }
  }

  void check_object(const Schema& schema, const Json& object) {
    for (const std::string& name : schema.required) {
      const auto found = object.find(name);
      if (found == object.end() || found->is_null()) add("is required", "." + name);
    }
    if (schema.max_properties && object.size() > *schema.max_properties) {
      add("must have at most " + std::to_string(*schema.max_properties) + " fields");
      return;
    }
    const bool closed = schema.type == Schema::Type::kObject && !schema.preserves_unknown_fields;
    for (auto field = object.begin(); field != object.end(); ++field) {
      const Schema* known = schema.child(field.key());
      if (known != nullptr ? field->is_null() : !closed) continue;
      steps_.push_back({&field.key(), 0});
      if (known != nullptr) {
        check(*known, *field);
      } else {
        add(std::string(kUnknownField) + did_you_mean(field.key(), names_of(schema.properties)));
      }
      steps_.pop_back();
    }
  }

  const std::string& root_;
  std::vector<Step> steps_;
  FieldErrors errors_;
};

}  // namespace

FieldErrors validate(const Schema& schema, const Json& value, const std::string& path) {
  Validator validator(path);
  validator.check(schema, value);
  return validator.take();
}

FieldErrors unknown_fields(const Schema& schema, const Json& value, const std::string& path) {
  FieldErrors errors = validate(schema, value, path);
  std::erase_if(errors, [](const FieldError& error) { return !error.message.starts_with(kUnknownField); });
  return errors;
}

void drop_nulls(const Schema& schema, Json& value) {
  if (value.is_array() && schema.items) {
    for (Json& item : value) drop_nulls(*schema.items, item);
  }
  if (!value.is_object()) return;
  for (auto field = value.begin(); field != value.end();) {
    const Schema* known = schema.child(field.key());
    if (known != nullptr && field->is_null()) {
      field = value.erase(field);
      continue;
    }
    if (known != nullptr) drop_nulls(*known, *field);
    ++field;
  }
}

}  // namespace inference::crd
