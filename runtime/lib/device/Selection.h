//===- Selection.h - Selection of the current device ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The current device belongs to the thread; other threads use the first choice.
// A choice is resolved once, as late as possible, because a loaded module may
// decide.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_SELECTION_H
#define MX_RUNTIME_LIB_DEVICE_SELECTION_H

#include "../Device.h"

namespace mx::runtime {

/// Returns the current device. If none was chosen, `target` (may be empty)
/// takes part in the choice.
Error getDevice(Device *&device, std::string_view target = {});

/// Selects a device by name; "" selects the environment's choice. With `now`
/// the device must be usable at once.
Error setDevice(std::string_view name, std::string_view target, bool now);

/// Overrides the choice for this thread; "" removes the override.
Error setThreadDevice(std::string_view name);

/// Selects device `ordinal` of the current kind.
Error setOrdinal(int ordinal);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_SELECTION_H
