//===- Selection.h - Selection of the current device ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread selects its own device. A thread that selects none uses the
// device that was selected first in any thread. A selection is resolved once
// and as late as possible, because a loaded module may determine the device.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_SELECTION_H
#define MX_RUNTIME_LIB_DEVICE_SELECTION_H

#include "../Device.h"

namespace mx::runtime {

/// Returns the current device. If the selection is not resolved yet, "auto"
/// selects a GPU that can run `target` (may be empty).
Error getDevice(Device *&device, std::string_view target = {});

/// Selects a device by name; "" selects the device that the environment names.
/// If `now` is set, resolves the selection at once and fails if the device is
/// unusable.
Error setDevice(std::string_view name, std::string_view target, bool now);

/// Overrides the selection for this thread; "" removes the override.
Error setThreadDevice(std::string_view name);

/// Selects device `ordinal` of the current kind.
Error setOrdinal(int ordinal);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_SELECTION_H
