//===- Passes.td - Lower host code to launch plans ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTOPLAN_PASSES
#define MX_CONVERSION_MXGPUTOPLAN_PASSES

include "mlir/Pass/PassBase.td"

def ConvertMXGPUHostToPlan
    : Pass<"convert-mxgpu-host-to-plan", "::mlir::ModuleOp"> {
  let summary = "Lower functions that launch kernels to launch plans";
  let description = [{
    Functions become plans of the `mxplan` dialect: a memref becomes its buffer
    and an index for each dynamic size, stride and offset, views become
    arithmetic on those, and `mxgpu.launch` passes the kernel's parameters. All
    memrefs are device memory. Control flow of `scf` and calls stay. A
    `memref.load` reads a number from the device. An index outside the array is
    an error at run time, and so is a `cf.assert` that does not hold.

    The interface of each function that has a body is recorded in
    `mxplan.arguments` and `mxplan.results`, with the names and types from
    `mx-describe-entries`.

    Deallocations are dropped: a plan knows the last use of memory.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mx::mxplan::MXPlanDialect"];
}

#endif // MX_CONVERSION_MXGPUTOPLAN_PASSES
