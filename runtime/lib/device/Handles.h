//===- Handles.h - Handles of modules and functions -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers may pass stale handles, so a handle is looked up and never
// dereferenced. An unloaded module is destroyed when all launches of the
// module's kernels in other threads have returned.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_HANDLES_H
#define MX_RUNTIME_LIB_DEVICE_HANDLES_H

#include "../Device.h"

namespace mx::runtime {

/// Loads a module. Host code loads modules before selecting a device, so such
/// modules are loaded again on the device of a launch.
Error loadModule(const void *image, size_t bytes, const char *name,
                 int optLevel, bool isOfHostCode, mxModule &module);
Error unloadModule(mxModule module);
Error getFunction(mxModule module, const char *name, mxFunction &function);

/// Describes a module as JSON; `kernel` may be null.
Error describeModule(mxModule module, const char *kernel, std::string &json);

/// Kernel and its module, which stays loaded during the object's lifetime.
struct LoadedFunction {
  Device *device = nullptr;
  std::shared_ptr<Function> function;
};
/// Finds a function. `wanted` is the device selected by host code; null selects
/// the device on which the module was loaded.
Error resolveFunction(mxFunction handle, Device *wanted,
                      LoadedFunction &loaded);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_HANDLES_H
