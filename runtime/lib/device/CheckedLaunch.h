//===- CheckedLaunch.h - What every launch must obey ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches and tensor maps, checked before a device is asked for them.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_CHECKEDLAUNCH_H
#define MX_RUNTIME_LIB_DEVICE_CHECKEDLAUNCH_H

#include "../Device.h"

namespace mx::runtime {

/// Checks what holds on every device and launches; an empty grid does nothing.
/// `hostCode`: the device that host code, made for a GPU, launches on.
Error launch(mxFunction function, const mxLaunchConfig &config,
             void **parameters, int64_t count, Device *hostCode = nullptr);
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
/// Without a device it is for that of the address, or else the one in use.
Error encodeTensorMap(void *map, const TensorMapArguments &arguments,
                      Device *device = nullptr);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_CHECKEDLAUNCH_H
