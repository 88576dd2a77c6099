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
    Functions become plans of the `mxplan` dialect. A memref becomes its buffer
    and an index for each dynamic size, stride and offset; views become
    arithmetic on these indices. `mxgpu.launch` passes the kernel's parameters.
    All memrefs are device memory. `scf` operations and calls are kept. A
    `memref.load` reads a number from the device. Indices out of bounds and
    failed `cf.assert`s are errors at run time.

    The interface of each function with a body is recorded in `mxplan.arguments`
    and `mxplan.results`, with the names and types from `mx-describe-entries`.

    Deallocations are dropped, because plans determine the last use of memory.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mx::mxplan::MXPlanDialect"];
}

def MXOverlapCollectives
    : Pass<"mx-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "Run collectives beside the launches that do not need them";
  let description = [{
    A collective with launches between itself and the first use of its memory
    gets a token, and an `mxplan.wait` precedes this use. Collectives of a group
    complete in order, so later ones get tokens until the last wait. Operations
    keep their order: programs should start collectives early. Unidentified
    memory counts as a use. Kernels with a CTA for each multiprocessor leave one to
    the collectives.

    ```mlir
    mxplan.all_to_all @ep %sums to %window bytes(%n)
    mxplan.launch @kernels::@matmul grid(%g) args(%a, %dw : ...)
    mxplan.launch @kernels::@add grid(%g) args(%window, %y : ...)
    ```

    becomes

    ```mlir
    %sent = mxplan.all_to_all @ep %sums to %window bytes(%n) : !mxplan.token
    mxplan.launch @kernels::@matmul grid(%g) args(%a, %dw : ...)
    mxplan.wait %sent
    mxplan.launch @kernels::@add grid(%g) args(%window, %y : ...)
    ```
  }];
  let dependentDialects = ["::mx::mxplan::MXPlanDialect"];
}

#endif // MX_CONVERSION_MXGPUTOPLAN_PASSES
