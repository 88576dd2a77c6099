//===- CopyAsync.h - Non-bulk asynchronous copies ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_COPYASYNC_H
#define MXSIM_LIB_EXEC_COPYASYNC_H

#include "../machine/Decoder.h"

namespace mx::sim {

/// Decodes cp.async without .bulk. The modifier `async` is already removed.
void decodeCopyAsync(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_COPYASYNC_H
