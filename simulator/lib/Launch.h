//===- Launch.h - Preparation of a launch -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_LAUNCH_H
#define MXSIM_LIB_LAUNCH_H

#include "machine/Machine.h"

#include <optional>

namespace mx::sim {

/// Finds and decodes the kernel and creates its machine. `config`, `report` and
/// `device` must outlive the launch. `device` is null outside a world.
class Launch {
public:
  Launch(Module &module, DeviceMemory &memory, const LaunchConfig &config,
         LaunchReport &report, WorldDevice *device = nullptr);
  ~Launch();
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;

  /// Returns null if the preparation failed; the report contains the error.
  Machine *machine() { return made ? &*made : nullptr; }

private:
  void make(Module &module, const LaunchConfig &config, LaunchReport &report,
            WorldDevice *device);

  DeviceMemory &memory;
  std::optional<Machine> made;
};

} // namespace mx::sim

#endif // MXSIM_LIB_LAUNCH_H
