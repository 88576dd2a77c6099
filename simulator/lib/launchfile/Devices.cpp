//===- Devices.cpp - Launch files with several devices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each entry of "devices" contains memory, launches and outputs, like the top
// level of a launch file for one device. Buffers of all devices are created
// first because arguments may be addresses on other devices.
//===----------------------------------------------------------------------===//

#include "LaunchFileImpl.h"

#include "mxsim/ExitStatus.h"

using namespace mx::sim;

LaunchFile::LaunchFile(const LaunchFileOptions &options) : options(options) {}

bool LaunchFile::makeDevices(const JsonReader &json) {
  uint64_t capacity = options.memoryBytes ? options.memoryBytes
                                          : DeviceMemory::defaultCapacity();
  if (!json.has("devices")) {
    onlyMemory.emplace(capacity);
    devices.push_back({&*onlyMemory, {}, {}});
    return linkModules();
  }
  JsonReader list = json["devices"];
  size_t count = list.elements().size();
  if (json.failed())
    return false;
  if (!count || count > DeviceMemory::kMostDevices) {
    list.fail("expected 1 to " + std::to_string(DeviceMemory::kMostDevices) +
              " devices, found " + std::to_string(count));
    return false;
  }
  WorldConfig config;
  config.devices = unsigned(count);
  config.seed = options.seed;
  config.capacity = capacity;
  world = std::make_unique<World>(config);
  for (number = 0; number < count; ++number) {
    devices.push_back({&world->memory(unsigned(number)), {}, {}});
    for (LoadedModule &m : modules)
      if (number)
        (void)parseModule(m.path, m.text, m.ofDevices.emplace_back());
    if (!linkModules())
      return false;
  }
  return true;
}

bool LaunchFile::runDevices(const JsonReader &json) {
  auto forEach = [&](auto fn) {
    number = 0;
    for (const JsonReader &d : json.elements()) {
      if (!fn(d))
        return false;
      ++number;
    }
    return !json.failed();
  };
  bool good = forEach([&](const JsonReader &d) {
    return d.onlyKeys({"notes", "globals", "buffers", "tensor_maps", "launches",
                       "outputs"}) &&
           makeBuffers(d);
  });
  good = good && forEach([&](const JsonReader &d) {
           return fillMemory(d) && writeOutputs(d, false);
         });
  good = good && forEach([&](const JsonReader &d) {
           return !d.has("launches") || runSteps(d["launches"]);
         });
  if (!good)
    return false;
  result.reports = world->run();
  return result.exitStatus() == kExitBadInput ||
         forEach([&](const JsonReader &d) { return writeOutputs(d, true); });
}
