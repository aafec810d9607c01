#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "render/traced.h"

namespace inference::render {

/// How often a hole gives a value, which decides the tags that may name it.
enum class HoleShape {
  kValue,     // exactly one: `!value`
  kOptional,  // one or none: `!optional`
  kList,      // any number: `!splice`, or `!value` for the whole list as one value
};

/// One row of a struct's hole table: the name that templates use, and the member that fills it.
///
///   struct ServiceValues {
///     Traced<std::string> name;
///     std::optional<Traced<std::int64_t>> port;
///     std::vector<Traced<Json>> ports;
///   };
///   template <>
///   inline constexpr auto kHolesOf<ServiceValues> = std::tuple{
///       Hole{"name", &ServiceValues::name},
///       Hole{"port", &ServiceValues::port},
///       Hole{"ports", &ServiceValues::ports},
///   };
///
/// Members may be `Traced<T>` (T: anything that nlohmann::json takes), `HoleValue` or `SubTemplate<S>`: kValue; a
/// `std::optional` of those: kOptional; a `std::vector` of those, or `Traced<std::vector<T>>`: kList.
template <typename Struct, typename Member>
struct Hole {
  std::string_view name;
  Member Struct::*member;
  constexpr Hole(std::string_view hole_name, Member Struct::*hole_member) : name(hole_name), member(hole_member) {}
};

/// The hole table of a values struct: specialise it beside the struct (namespace inference::render).
template <typename Struct>
inline constexpr std::nullptr_t kHolesOf = nullptr;

struct HoleRef;

/// One value that a hole gives to a tree. Views are into the values struct.
struct HolePiece {
  Json value;  // unused when `file` is set
  const Reason* reason = nullptr;
  std::span<const Part> parts;
  std::string_view file;        // of a SubTemplate
  std::vector<HoleRef> nested;  // of a SubTemplate: its own holes
};

/// A hole bound to one living values struct; the struct must outlive it.
struct HoleRef {
  std::string_view name;
  HoleShape shape = HoleShape::kValue;
  const void* member = nullptr;
  std::size_t (*size)(const void* member) = nullptr;
  HolePiece (*piece)(const void* member, std::size_t index) = nullptr;
};

/// Everything that may fill the holes of one template and of those that it includes; sorted by name.
using Holes = std::vector<HoleRef>;

template <typename... Structs>
[[nodiscard]] Holes holes_of(const Structs&... values);

/// What a struct offers, without values: lint compares it with what the template names.
struct HoleDeclaration {
  std::string_view name;
  HoleShape shape = HoleShape::kValue;
  const void* table =
      nullptr;  // identifies the struct: a member must be used by one of the templates that the struct serves
};

/// What a template that renders an object must say at its top, so that it can't become another object.
struct ObjectShape {
  std::string api_version;
  std::string kind;
  std::string field;  // the only one besides apiVersion, kind and metadata
};

/// One template that is filled (rather than only included by others), and the holes that its structs offer together.
struct TemplateSchema {
  std::string file;
  std::vector<HoleDeclaration> holes;
  std::optional<ObjectShape> object;  // none: a part of other trees
};

/// `schema_of<DeploymentValues, PodValues>("deployment.yaml")` belongs to `fill(set, "deployment.yaml",
/// holes_of(deployment, pod))`.
template <typename... Structs>
[[nodiscard]] TemplateSchema schema_of(std::string_view file);

// Below: how each member type is read.
// ---------------------------------------------------------------------------------

namespace holes_internal {

template <typename T>
struct One;  // a member that gives one value

template <typename T>
struct One<Traced<T>> {
  static HolePiece piece(const Traced<T>& traced) {
    return {.value = Json(traced.value), .reason = &traced.reason, .parts = {}, .file = {}, .nested = {}};
  }
};
template <>
struct One<HoleValue> {
  static HolePiece piece(const HoleValue& hole) {
    return {.value = hole.value, .reason = &hole.reason, .parts = hole.parts, .file = {}, .nested = {}};
  }
};
template <typename Values>
struct One<SubTemplate<Values>> {
  static HolePiece piece(const SubTemplate<Values>& sub) {
    return {.value = nullptr, .reason = nullptr, .parts = {}, .file = sub.file, .nested = holes_of(sub.values)};
  }
};

template <typename Member>
struct Reader {
  static constexpr HoleShape kShape = HoleShape::kValue;
  static std::size_t size(const void*) { return 1; }
  static HolePiece piece(const void* member, std::size_t) {
    return One<Member>::piece(*static_cast<const Member*>(member));
  }
};
template <typename Member>
struct Reader<std::optional<Member>> {
  static constexpr HoleShape kShape = HoleShape::kOptional;
  static std::size_t size(const void* member) {
    return static_cast<const std::optional<Member>*>(member)->has_value() ? 1 : 0;
  }
  static HolePiece piece(const void* member, std::size_t) {
    return One<Member>::piece(**static_cast<const std::optional<Member>*>(member));
  }
};
template <typename Member>
struct Reader<std::vector<Member>> {
  static constexpr HoleShape kShape = HoleShape::kList;
  static std::size_t size(const void* member) { return static_cast<const std::vector<Member>*>(member)->size(); }
  static HolePiece piece(const void* member, std::size_t index) {
    return One<Member>::piece((*static_cast<const std::vector<Member>*>(member))[index]);
  }
};
template <typename T>
struct Reader<Traced<std::vector<T>>> {
  using Member = Traced<std::vector<T>>;
  static constexpr HoleShape kShape = HoleShape::kList;
  static std::size_t size(const void* member) { return static_cast<const Member*>(member)->value.size(); }
  static HolePiece piece(const void* member, std::size_t index) {
    const auto& traced = *static_cast<const Member*>(member);
    return {.value = Json(traced.value[index]), .reason = &traced.reason, .parts = {}, .file = {}, .nested = {}};
  }
};

template <typename Struct>
constexpr const auto& table_of() {
  static_assert(!std::is_same_v<decltype(kHolesOf<Struct>), const std::nullptr_t>,
                "the struct has no table kHolesOf<Struct>");
  return kHolesOf<Struct>;
}

}  // namespace holes_internal

namespace holes_internal {

template <typename Struct>
void add_holes(const Struct& values, Holes& holes) {
  const auto add_row = [&]<typename Member>(const Hole<Struct, Member>& hole) {
    using Read = Reader<Member>;
    holes.push_back({.name = hole.name,
                     .shape = Read::kShape,
                     .member = &(values.*hole.member),
                     .size = Read::size,
                     .piece = Read::piece});
  };
  std::apply([&](const auto&... rows) { (add_row(rows), ...); }, table_of<Struct>());
}

template <typename Struct>
void add_declarations(std::vector<HoleDeclaration>& declarations) {
  const auto add_row = [&]<typename Member>(const Hole<Struct, Member>& hole) {
    declarations.push_back({.name = hole.name, .shape = Reader<Member>::kShape, .table = &kHolesOf<Struct>});
  };
  std::apply([&](const auto&... rows) { (add_row(rows), ...); }, table_of<Struct>());
}

}  // namespace holes_internal

template <typename... Structs>
Holes holes_of(const Structs&... values) {
  Holes holes;
  holes.reserve((std::tuple_size_v<std::remove_cvref_t<decltype(kHolesOf<Structs>)>> + ... + 0));
  (holes_internal::add_holes(values, holes), ...);
  std::ranges::sort(holes, {}, &HoleRef::name);
  return holes;
}

template <typename... Structs>
TemplateSchema schema_of(std::string_view file) {
  TemplateSchema schema{.file = std::string(file), .holes = {}, .object = {}};
  (holes_internal::add_declarations<Structs>(schema.holes), ...);
  return schema;
}

}  // namespace inference::render
