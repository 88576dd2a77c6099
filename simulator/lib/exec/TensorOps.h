//===- TensorOps.h - shared by the parts of tcgen05 -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "TensorCore 5th generation family instructions". The operands are
// taken apart here; what they do to memory is in the tensor library. What one
// thread issues happens in issue order: the PTX ISA promises that for the pairs
// that matter (mma after mma, cp or shift), and hardware has one queue.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_TENSOROPS_H
#define MXSIM_LIB_EXEC_TENSOROPS_H

#include "AsyncOperands.h"

#include "mxsim/tensor/Tcgen05.h"

namespace mx::sim {

/// The CTA, or both CTAs of its pair with the even one first; false after a
/// finding.
bool tensorViews(Warp &w, const Instr *i, unsigned group, CtaView out[2]);

/// An operation of the tcgen05 pipe, in line after those of the same warp.
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

/// .cta_group, which must be the same in all of a kernel.
unsigned takeTensorGroup(Decoder &d);
/// A tensor memory address in brackets: base register and constant.
Slot tensorAddress(Decoder &d, const ptx::Operand &op, uint32_t &offset);

// Each after the name of the operation was taken.
void decodeTensorAlloc(Decoder &d);
void decodeTensorDealloc(Decoder &d);
void decodeTensorRelinquish(Decoder &d);
void decodeTensorTransfer(Decoder &d, bool isLoad); ///< ld, st
void decodeTensorWait(Decoder &d, bool isLoad);     ///< wait::ld, wait::st
void decodeTensorMma(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_TENSOROPS_H
