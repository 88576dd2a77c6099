//===- StoreAsync.h - Asynchronous and bulk stores --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_STOREASYNC_H
#define MXSIM_LIB_EXEC_STOREASYNC_H

#include "../machine/Decoder.h"

namespace mx::sim {

/// Decode st.async, red.async and st.bulk. The modifier `async` or `bulk` is
/// already removed.
void decodeStAsync(Decoder &d);
void decodeRedAsync(Decoder &d);
void decodeStBulk(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_STOREASYNC_H
