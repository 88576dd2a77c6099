//===- Selection.cpp - Which device is used -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "auto" never fails: without a GPU that fits there is the simulator. A device
// that was asked for by name is never replaced by another one.
//===----------------------------------------------------------------------===//

#include "Selection.h"

#include "../image/Image.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace mx::runtime;

namespace {
struct Selection {
  std::mutex mutex;
  std::string requested; // "" : nothing, so the environment decides
  Device *device = nullptr;
};

Selection &selection() {
  static Selection *selection = new Selection;
  return *selection;
}
} // namespace

/// The first GPU that can run `target`; null when there is none.
static Device *findGpu(std::string_view target) {
  int count = 0;
  if (countCudaDevices(count))
    return nullptr;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Device *device;
    if (!getCudaDevice(ordinal, device) &&
        device->canRun(target.empty() ? "sm_90" : target))
      return device;
  }
  return nullptr;
}

/// The N of "cuda:N", 0 for "cuda", -1 for anything else.
static int parseOrdinal(std::string_view name) {
  if (name == "cuda")
    return 0;
  if (name.substr(0, 5) != "cuda:" || name.size() < 6 || name.size() > 8)
    return -1;
  int ordinal = 0;
  for (char c : name.substr(5)) {
    if (c < '0' || c > '9')
      return -1;
    ordinal = ordinal * 10 + (c - '0');
  }
  return ordinal;
}

static Error checkName(std::string_view name) {
  if (name == "auto" || name == "sim" || parseOrdinal(name) >= 0)
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "expected device auto, sim, cuda or cuda:N, found '" +
              std::string(name) + "'"};
}

static Error resolve(std::string_view name, std::string_view target,
                     Device *&device) {
  if (Error error = checkName(name))
    return error;
  if (name == "auto")
    if (Device *gpu = findGpu(target)) {
      device = gpu;
      return {};
    }
  if (int ordinal = parseOrdinal(name); ordinal >= 0)
    return getCudaDevice(ordinal, device);
  return getSimDevice(device);
}

/// `requested`, or without it what the environment says, resolved.
static Error resolveDefault(std::string_view requested, std::string_view target,
                            Device *&device) {
  const char *variable = getenv("MX_DEVICE");
  if (!requested.empty())
    return resolve(requested, target, device);
  if (!variable || !*variable)
    return resolve("auto", target, device);
  Error error = resolve(variable, target, device);
  // Not where another variable is named already.
  if (error && error.text.compare(0, 3, "MX_") != 0)
    error.text = "MX_DEVICE: " + error.text;
  return error;
}

Error mx::runtime::getDevice(Device *&device, std::string_view target) {
  Selection &s = selection();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.device) {
    Device *resolved = nullptr;
    if (Error error = resolveDefault(s.requested, target, resolved))
      return error;
    s.device = resolved;
  }
  device = s.device;
  return {};
}

Error mx::runtime::setDevice(std::string_view name, std::string_view target,
                             bool now) {
  Device *device = nullptr;
  if (Error error =
          now ? resolveDefault(name, target, device) : checkName(name))
    return error;
  Selection &s = selection();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.requested = name;
  s.device = device;
  return {};
}

Error mx::runtime::setOrdinal(int ordinal) {
  Device *device;
  if (Error error = getDevice(device))
    return error;
  if (strcmp(device->info().kind, "cuda") == 0)
    return setDevice("cuda:" + std::to_string(ordinal), {}, true);
  if (ordinal == 0)
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "expected device 0, the only one of the simulator, found " +
              std::to_string(ordinal)};
}
