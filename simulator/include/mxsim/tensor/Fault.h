//===- Fault.h - what an engine objects to --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engines of the simulator know neither PTX lines nor threads nor buffer
// names. They return a Fault, and the machine that called them adds the rest.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_FAULT_H
#define MXSIM_TENSOR_FAULT_H

#include <string>
#include <utility>

namespace mx::sim {

enum class FaultKind {
  None,
  /// A descriptor, tensor map or address word that the hardware rejects or
  /// leaves undefined.
  Descriptor,
  /// A combination of shape, type and cta_group that the ISA does not have.
  Shape,
  /// An address that is not aligned as the instruction demands.
  Alignment,
  /// Shared or global memory outside what exists.
  Bounds,
  /// Tensor memory that was never written. The operation has been carried
  /// out nevertheless (undefined cells read as they are).
  Uninitialized,
  /// Sparsity metadata that the ISA calls undefined. The operation has been
  /// carried out: every element takes the index that it was given.
  Metadata,
  /// Tensor memory outside the allocation, or wrong use of the allocator.
  Allocation,
  /// The same, but nothing else depends on it: what can be done has been done.
  AllocationDone,
  /// Wrong use of an mbarrier.
  Barrier,
  /// Part of the ISA that the simulator does not have.
  Unsupported,
};

/// Converts to true when there is something to report.
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
