//===- TensorMaps.h - tensor maps as instructions see them ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_EXEC_TENSORMAPS_H
#define MX_LIB_SIMULATOR_EXEC_TENSORMAPS_H

#include "../machine/Machine.h"

#include "mx/Simulator/tensor/TensorMap.h"

namespace mx::sim {

/// Reads and checks the map at a generic address; false after a finding.
bool readTensorMap(Warp &w, const Instr *i, uint64_t address, unsigned lane,
                   TensorMapDesc &map);

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_EXEC_TENSORMAPS_H
