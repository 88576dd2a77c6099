//===- Device.cpp - Tracking of the sole device in use --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <mutex>

using namespace mx::runtime;

void mx::runtime::noteDevice(Device &device, int count) {
  static std::mutex *mutex = new std::mutex;
  static int inUse = 0;
  std::lock_guard<std::mutex> lock(*mutex);
  soleDevice = ++inUse == 1 && count == 1 ? &device : nullptr;
}
