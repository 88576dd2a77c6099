//===- Owners.cpp - Owning device of memory, streams and events -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Owners.h"

#include "Selection.h"

using namespace mx::runtime;

Device *mx::runtime::findOwner(const void *memory) {
  int ordinal;
  if (!memory)
    return nullptr;
  if (isSimAddress(memory, ordinal))
    return getOpenSimDevice(ordinal);
  if (Device *sharing = findSimSharing(memory))
    return sharing;
  Device *only = getOnlyGpu();
  return only ? only : askGpuOfMemory(memory);
}

Device *mx::runtime::askOwner(const void *memory) {
  Device *found = findOwner(memory);
  return found && found == getOnlyGpu() ? askGpuOfMemory(memory) : found;
}

Error mx::runtime::findStreamOwner(void *stream, Device *&device) {
  device = nullptr;
  if (stream)
    device = findSimHandle(stream);
  if (stream && !device)
    device = findGpuOfStream(stream);
  return device ? Error() : getDevice(device);
}

Error mx::runtime::checkStream(const Device &device, void *stream) {
  if (!stream || device.kind == Device::Kind::Sim ||
      soleDevice.load(std::memory_order_relaxed))
    return {};
  Device *owner = findSimHandle(stream);
  if (!owner)
    owner = findGpuOfStream(stream);
  if (!owner || owner == &device)
    return {};
  return invalidValue("expected a stream of " + device.name() +
                      ", found one of " + owner->name());
}

Error mx::runtime::checkEvent(const Device &device, void *event) {
  if (device.kind == Device::Kind::Sim ||
      soleDevice.load(std::memory_order_relaxed))
    return {};
  Device *owner = findSimHandle(event);
  if (!owner)
    return {};
  return invalidValue("expected an event of a GPU, found one of " +
                      owner->name());
}

Error mx::runtime::findEventOwner(void *event, Device *&device) {
  device = findSimHandle(event);
  if (!device)
    device = findGpuOfEvent(event);
  return device ? Error() : getDevice(device);
}
