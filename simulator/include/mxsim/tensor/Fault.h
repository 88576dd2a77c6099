//===- Fault.h - Errors reported by tensor engines --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Engines do not depend on PTX lines, threads or buffer names. They return a
// Fault, and the calling machine adds the context.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_FAULT_H
#define MXSIM_TENSOR_FAULT_H

#include <string>
#include <utility>

namespace mx::sim {

enum class FaultKind {
  None,
  /// Descriptor, tensor map or address word that the hardware rejects or leaves
  /// undefined.
  Descriptor,
  /// Combination of shape, type and cta_group that the ISA does not define.
  Shape,
  /// Address with insufficient alignment for the instruction.
  Alignment,
  /// Address outside shared or global memory.
  Bounds,
  /// Read of tensor memory that was never written. The operation completes with
  /// the unspecified cell values.
  Uninitialized,
  /// Sparsity metadata that the ISA leaves undefined. The operation completes
  /// with the given indices.
  Metadata,
  /// Address outside the tensor memory allocation, or misuse of the allocator.
  Allocation,
  /// Like Allocation, but the valid part of the operation is done, and other
  /// operations are not affected.
  AllocationDone,
  /// Misuse of an mbarrier.
  Barrier,
  /// Part of the ISA that the simulator does not support.
  Unsupported,
};

/// Fault of an engine; converts to false if there is none.
struct Fault {
  FaultKind kind = FaultKind::None;
  std::string message;

  Fault() = default;
  Fault(FaultKind kind, std::string message)
      : kind(kind), message(std::move(message)) {}
  explicit operator bool() const { return kind != FaultKind::None; }
};

} // namespace mx::sim

#endif // MXSIM_TENSOR_FAULT_H
