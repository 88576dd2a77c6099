//===- Selection.h - Which device is used -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device in use belongs to the thread. Threads that have chosen none use
// that of the thread that chose first. The choice is made once, as late as
// possible: a module that is loaded first may still decide it.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_SELECTION_H
#define MX_RUNTIME_LIB_DEVICE_SELECTION_H

#include "../Device.h"

namespace mx::runtime {

/// The device in use. Where none was chosen yet, `target` (may be empty)
/// helps to choose.
Error getDevice(Device *&device, std::string_view target = {});

/// Requests a device by name, or by "" what the environment says; with `now` it
/// must be usable at once.
Error setDevice(std::string_view name, std::string_view target, bool now);

/// Puts a device over the choice, for this thread alone; "" takes it away.
Error setThreadDevice(std::string_view name);

/// Changes to device `ordinal` of the kind in use.
Error setOrdinal(int ordinal);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_SELECTION_H
