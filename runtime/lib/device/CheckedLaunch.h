//===- CheckedLaunch.h - Checks of launches and tensor maps -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_CHECKEDLAUNCH_H
#define MX_RUNTIME_LIB_DEVICE_CHECKEDLAUNCH_H

#include "../Device.h"

namespace mx::runtime {

/// Checks the rules common to all devices and launches the kernel, unless the
/// grid is empty. `hostCode` is the device selected by GPU host code, else
/// null.
Error launch(mxFunction function, const mxLaunchConfig &config,
             void **parameters, int64_t count, Device *hostCode = nullptr);
Error launch(Device &device, Function &function, const mxLaunchConfig &config,
             void **parameters, int64_t count, bool isForeign = false,
             Reporting *reporting = nullptr);
/// Implements mxLaunchReported. The report stays empty if nothing was launched.
Error launch(mxFunction function, const mxLaunchConfig &config,
             void **parameters, int64_t count, Reporting &reporting);

/// Arguments of mxTensorMapEncodeTiled.
struct TensorMapArguments {
  int64_t dataType, rank;
  const void *globalAddress;
  const int64_t *dims, *strides;
  const int32_t *box, *elementStrides;
  int64_t interleave, swizzle, l2Promotion, oobFill;
};
/// Encodes a map for `device`. A null `device` selects the owner of the
/// address, or the current device if there is none.
Error encodeTensorMap(void *map, const TensorMapArguments &arguments,
                      Device *device = nullptr);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_CHECKEDLAUNCH_H
