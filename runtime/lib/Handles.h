//===- Handles.h - Modules and functions as callers hold them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles come back from callers in any state; those that are not alive are
// refused instead of followed.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_HANDLES_H
#define MX_RUNTIME_HANDLES_H

#include "Device.h"

namespace mx::runtime {

Error loadModule(const void *image, size_t bytes, const char *name,
                 int optLevel, mxModule &module);
Error unloadModule(mxModule module);
Error getFunction(mxModule module, const char *name, mxFunction &function);
/// The device and the function behind a handle.
Error resolveFunction(mxFunction handle, Device *&device, Function *&function);

/// Checks what holds on every device and launches; an empty grid does nothing.
Error launch(mxFunction function, const mxLaunchConfig &config,
             void **parameters, int64_t count, bool isForeign = false);
Error launch(Device &device, Function &function, const mxLaunchConfig &config,
             void **parameters, int64_t count, bool isForeign = false);

/// The arguments of mxTensorMapEncodeTiled.
struct TensorMapArguments {
  int64_t dataType, rank;
  const void *globalAddress;
  const int64_t *dims, *strides;
  const int32_t *box, *elementStrides;
  int64_t interleave, swizzle, l2Promotion, oobFill;
};
/// Without a device it is for the one in use.
Error encodeTensorMap(void *map, const TensorMapArguments &arguments,
                      Device *device = nullptr);

} // namespace mx::runtime

#endif // MX_RUNTIME_HANDLES_H
