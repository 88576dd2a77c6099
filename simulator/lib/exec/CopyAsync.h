//===- CopyAsync.h - cp.async -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_COPYASYNC_H
#define MXSIM_LIB_EXEC_COPYASYNC_H

#include "../machine/Decoder.h"

namespace mx::sim {

/// cp.async without .bulk; the modifier `async` is taken.
void decodeCopyAsync(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_COPYASYNC_H
