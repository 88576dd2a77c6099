//===- Selection.cpp - Selection of the current device --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "auto" never fails, because the simulator is the fallback. A device requested
// by name is never replaced.
//===----------------------------------------------------------------------===//

#include "Selection.h"

#include "../PerThread.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

using namespace mx::runtime;

namespace {

/// Requested device, and the resolution so far.
struct Choice {
  std::string requested; // empty: the environment decides
  Device *device = nullptr;
};

/// Selection of the first thread that selected a device, shared by all threads
/// that select none.
struct Selection {
  std::mutex mutex;
  Choice choice;
  bool isChosen = false;
};

Selection &selection() {
  static Selection *selection = new Selection;
  return *selection;
}

struct ThreadSelection {
  /// True if this thread was the first to select a device.
  bool isFirst = false;
  bool hasOwn = false;
  Choice own;
  /// Set by setThreadDevice.
  Device *overriding = nullptr;
};

ThreadSelection &threadSelection() { return PerThread<ThreadSelection>::get(); }

} // namespace

/// Returns the first GPU that can run `target`, or null.
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

/// Returns N of "KIND:N", 0 for "KIND", -1 otherwise.
static int parseOrdinal(std::string_view kind, std::string_view name) {
  if (name == kind)
    return 0;
  size_t begin = kind.size() + 1;
  if (name.substr(0, begin) != std::string(kind) + ":" ||
      name.size() <= begin || name.size() > begin + 3)
    return -1;
  int ordinal = 0;
  for (char c : name.substr(begin)) {
    if (c < '0' || c > '9')
      return -1;
    ordinal = ordinal * 10 + (c - '0');
  }
  return ordinal;
}

static Error checkName(std::string_view name) {
  if (name == "auto" || parseOrdinal("sim", name) >= 0 ||
      parseOrdinal("cuda", name) >= 0)
    return {};
  return invalidValue(
      "expected device auto, sim, sim:N, cuda or cuda:N, found '" +
      std::string(name) + "': a GPU is cuda or cuda:N");
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
  if (int ordinal = parseOrdinal("cuda", name); ordinal >= 0)
    return getCudaDevice(ordinal, device);
  return getSimDevice(std::max(parseOrdinal("sim", name), 0), device);
}

/// Resolves `requested`, or MX_DEVICE if `requested` is empty.
static Error resolveDefault(std::string_view requested, std::string_view target,
                            Device *&device) {
  const char *variable = getenv("MX_DEVICE");
  if (!requested.empty())
    return resolve(requested, target, device);
  if (!variable || !*variable)
    return resolve("auto", target, device);
  Error error = resolve(variable, target, device);
  // The error may name another variable already.
  if (error && error.text.compare(0, 3, "MX_") != 0)
    error.text = "MX_DEVICE: " + error.text;
  return error;
}

/// Resolves a selection once.
static Error resolve(Choice &choice, std::string_view target, Device *&device) {
  if (!choice.device)
    if (Error error = resolveDefault(choice.requested, target, choice.device)) {
      choice.device = nullptr;
      return error;
    }
  device = choice.device;
  return {};
}

Error mx::runtime::getDevice(Device *&device, std::string_view target) {
  ThreadSelection &thread = threadSelection();
  if (thread.overriding) {
    device = thread.overriding;
    return {};
  }
  if (thread.hasOwn)
    return resolve(thread.own, target, device);
  Selection &s = selection();
  std::lock_guard<std::mutex> lock(s.mutex);
  return resolve(s.choice, target, device);
}

Error mx::runtime::setDevice(std::string_view name, std::string_view target,
                             bool now) {
  Choice choice = {std::string(name), nullptr};
  if (Error error =
          now ? resolveDefault(name, target, choice.device) : checkName(name))
    return error;
  ThreadSelection &thread = threadSelection();
  thread.overriding = nullptr;
  Selection &s = selection();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.isChosen)
    s.isChosen = thread.isFirst = true;
  if (thread.isFirst)
    s.choice = std::move(choice);
  else
    thread.own = std::move(choice);
  thread.hasOwn = !thread.isFirst;
  return {};
}

Error mx::runtime::setThreadDevice(std::string_view name) {
  Device *device = nullptr;
  if (!name.empty())
    if (Error error = resolve(name, {}, device))
      return error;
  threadSelection().overriding = device;
  return {};
}

Error mx::runtime::setOrdinal(int ordinal) {
  Device *device;
  if (Error error = getDevice(device))
    return error;
  if (ordinal == device->ordinal)
    return {};
  std::string kind = device->kind == Device::Kind::Cuda ? "cuda:" : "sim:";
  return setDevice(kind + std::to_string(ordinal), {}, true);
}
