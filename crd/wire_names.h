#pragma once

#include <array>
#include <string_view>

#include "crd/inference_deployment.h"

namespace inference::crd {

/// One enumerator and its spelling on the wire; the overloads below list all of a type (schema_test.cc compares them
/// with the CRD's `enum`).
template <typename Enum>
struct WireName {
  Enum value;
  std::string_view name;
};

constexpr auto wire_names(ProfilePolicy) {
  using enum ProfilePolicy;
  return std::array<WireName<ProfilePolicy>, 2>{{{kPinned, "Pinned"}, {kFollow, "Follow"}}};
}
constexpr auto wire_names(AcceleratorMode) {
  using enum AcceleratorMode;
  return std::array<WireName<AcceleratorMode>, 2>{{{kDevicePlugin, "DevicePlugin"}, {kDra, "DRA"}}};
}
constexpr auto wire_names(Sharing) {
  using enum Sharing;
  return std::array<WireName<Sharing>, 4>{
      {{kNone, "None"}, {kTimeSlicing, "TimeSlicing"}, {kMps, "MPS"}, {kMig, "MIG"}}};
}
constexpr auto wire_names(CacheMode) {
  using enum CacheMode;
  return std::array<WireName<CacheMode>, 2>{{{kNone, "None"}, {kNode, "Node"}}};
}
constexpr auto wire_names(Gang) {
  using enum Gang;
  return std::array<WireName<Gang>, 6>{{{kAuto, "Auto"},
                                        {kNone, "None"},
                                        {kVolcano, "Volcano"},
                                        {kKueue, "Kueue"},
                                        {kNative, "Native"},
                                        {kGates, "Gates"}}};
}
constexpr auto wire_names(TopologyCheck) {
  using enum TopologyCheck;
  return std::array<WireName<TopologyCheck>, 3>{{{kOff, "Off"}, {kWarn, "Warn"}, {kEnforce, "Enforce"}}};
}

}  // namespace inference::crd
