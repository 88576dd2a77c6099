//===- Handles.h - Modules and functions as callers hold them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles come back from callers in any state; those that are not alive are
// refused instead of followed. A module that one thread unloads stays until the
// launches of other threads that found a kernel of it have returned.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_HANDLES_H
#define MX_RUNTIME_LIB_DEVICE_HANDLES_H

#include "../Device.h"

namespace mx::runtime {

/// Host code loads its modules once, before it chooses a device: they are
/// loaded again where they are launched.
Error loadModule(const void *image, size_t bytes, const char *name,
                 int optLevel, bool isOfHostCode, mxModule &module);
Error unloadModule(mxModule module);
Error getFunction(mxModule module, const char *name, mxFunction &function);

/// A kernel and its module, which stays loaded while this exists.
struct LoadedFunction {
  Device *device = nullptr;
  std::shared_ptr<Function> function;
};
/// `wanted`: where a kernel of host code goes; null: where it was loaded.
Error resolveFunction(mxFunction handle, Device *wanted,
                      LoadedFunction &loaded);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_HANDLES_H
