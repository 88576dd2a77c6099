//===- TensorMaps.h - Reads of tensor maps by instructions ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_TENSORMAPS_H
#define MXSIM_LIB_EXEC_TENSORMAPS_H

#include "../machine/Machine.h"

#include "mxsim/tensor/TensorMap.h"

namespace mx::sim {

/// Reads and validates the map at a generic address. Returns false after a
/// finding.
bool readTensorMap(Warp &w, const Instr *i, uint64_t address, unsigned lane,
                   TensorMapDesc &map);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_TENSORMAPS_H
