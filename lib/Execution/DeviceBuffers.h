//===- DeviceBuffers.h - Memory of the device a program uses ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Host memory for programs of the CPU, memory of the runtime's current device
// for the others, behind one face.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_DEVICEBUFFERS_H
#define MX_LIB_EXECUTION_DEVICEBUFFERS_H

#include "mx/Execution/Program.h"

namespace mx {

/// Memory that compiled code can be given and hands back.
class DeviceBuffers {
public:
  virtual ~DeviceBuffers() = default;
  virtual llvm::Expected<void *> alloc(size_t bytes) = 0;
  virtual void free(void *memory) = 0;
  virtual llvm::Error copyIn(void *to, const void *from, size_t bytes) = 0;
  virtual llvm::Error copyOut(void *to, const void *from, size_t bytes) = 0;
  /// Waits for the kernels and says what went wrong in them.
  virtual llvm::Error synchronize() = 0;

  static std::unique_ptr<DeviceBuffers> create(DeviceKind device);
};

} // namespace mx

#endif // MX_LIB_EXECUTION_DEVICEBUFFERS_H
