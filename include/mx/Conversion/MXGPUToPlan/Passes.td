//===- Passes.td - Lower host code to launch plans ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTOPLAN_PASSES
#define MX_CONVERSION_MXGPUTOPLAN_PASSES

include "mlir/Pass/PassBase.td"

def ConvertMXGPUHostToPlanPass
    : Pass<"convert-mxgpu-host-to-plan", "::mlir::ModuleOp"> {
  let summary = "Lower functions that launch kernels to launch plans";
  let description = [{
    Functions become plans of the `mxplan` dialect: a memref becomes its buffer
    and an index for each size, stride and offset that its type leaves open, views
    become arithmetic on those, and `mxgpu.launch` passes the kernel's parameters.
    All memrefs are device memory. Control flow of `scf` and calls stay. A
    `memref.load` reads a number from the device, and an index outside of the
    array is an error at run time; so is a `cf.assert` that does not hold.

    What callers see of each function that has a body is written down before it
    is lost: `mxplan.arguments` and `mxplan.results`, with the names and types that
    `mx-describe-entries` left.

    Deallocations are left out: a plan knows when memory was last used.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mx::mxplan::MXPlanDialect"];
}

#endif // MX_CONVERSION_MXGPUTOPLAN_PASSES
