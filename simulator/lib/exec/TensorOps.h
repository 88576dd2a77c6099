//===- TensorOps.h - Decoding and issue of tcgen05 operations ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "TensorCore 5th generation family instructions". The files Tensor*
// decode operands; the tensor library implements the effects on memory.
// Operations of a thread complete in issue order. The PTX ISA guarantees this
// for an mma after an mma, cp or shift, and hardware has a single queue.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_TENSOROPS_H
#define MXSIM_LIB_EXEC_TENSOROPS_H

#include "AsyncOperands.h"

#include "mxsim/tensor/Tcgen05.h"

namespace mx::sim {

/// Sets `out` to the CTA of the warp or, if `group` is 2, to both CTAs of its
/// pair, even rank first. Returns false after a finding.
bool tensorViews(Warp &w, const Instr *i, unsigned group, CtaView out[2]);

/// Issues an operation to the in-order tcgen05 pipe of the warp. `run` returns
/// a Fault.
template <class F>
const Instr *issueToPipe(Warp &w, const Instr *i, unsigned lane, F &&run) {
  auto known = knowledgeAtIssue(w);
  uint32_t step = w.order() ? w.order()->of(w).pipeStep : 0;
  auto action = [=, &w]() -> Fault {
    Order *order = w.order();
    ScopeGuard guard(order,
                     order ? order->pipeScope(w, i, 1u << lane, *known, step)
                           : EngineScope());
    return run();
  };
  return w.issue(i, 1u << lane, w.line(Warp::kTensorLine), false, action);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Reads .cta_group, which must be uniform in a kernel.
unsigned takeTensorGroup(Decoder &d);
/// Reads a tensor memory address in brackets. Returns the slot of the base, and
/// sets `offset` to the constant part.
Slot tensorAddress(Decoder &d, const ptx::Operand &op, uint32_t &offset);

// Decode the modifiers after the name of an operation, and its operands.
void decodeTensorAlloc(Decoder &d);
void decodeTensorDealloc(Decoder &d);
void decodeTensorRelinquish(Decoder &d);
void decodeTensorTransfer(Decoder &d, bool isLoad); ///< ld, st
void decodeTensorWait(Decoder &d, bool isLoad);     ///< wait::ld, wait::st
void decodeTensorMma(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_TENSOROPS_H
