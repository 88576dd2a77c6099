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

Error loadModule(const void *image, size_t bytes, const char *name,
                 int optLevel, mxModule &module);
Error unloadModule(mxModule module);
Error getFunction(mxModule module, const char *name, mxFunction &function);

/// A kernel and its module, which stays loaded while this exists.
struct LoadedFunction {
  Device *device = nullptr;
  std::shared_ptr<Function> function;
};
Error resolveFunction(mxFunction handle, LoadedFunction &loaded);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_HANDLES_H
