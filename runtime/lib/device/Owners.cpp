//===- Owners.cpp - Whose memory, stream or event it is -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Owners.h"

#include "Selection.h"

#include <mutex>

using namespace mx::runtime;

void mx::runtime::noteDevice(Device &device, int count) {
  static std::mutex *mutex = new std::mutex;
  static int inUse = 0;
  std::lock_guard<std::mutex> lock(*mutex);
  soleDevice = ++inUse == 1 && count == 1 ? &device : nullptr;
}

Device *mx::runtime::findOwner(const void *memory) {
  int ordinal;
  if (!memory)
    return nullptr;
  if (isSimAddress(memory, ordinal))
    return getOpenSimDevice(ordinal);
  if (Device *sharing = findSimSharing(memory))
    return sharing;
  return findGpuOfMemory(memory);
}

Error mx::runtime::findStreamOwner(void *stream, Device *&device) {
  device = nullptr;
  if (stream)
    device = findSimHandle(stream);
  if (stream && !device)
    device = findGpuOfStream(stream);
  return device ? Error() : getDevice(device);
}

Error mx::runtime::findEventOwner(void *event, Device *&device) {
  device = findSimHandle(event);
  if (!device)
    device = findGpuOfEvent(event);
  return device ? Error() : getDevice(device);
}
