//===- CopyAsync.h - cp.async -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_EXEC_COPYASYNC_H
#define MX_LIB_SIMULATOR_EXEC_COPYASYNC_H

#include "../machine/Decoder.h"

namespace mx::sim {

/// cp.async without .bulk; the modifier `async` is taken.
void decodeCopyAsync(Decoder &d);

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_EXEC_COPYASYNC_H
