//===- MXGPUDialect.td - The mxgpu dialect -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUDIALECT_TD
#define MX_DIALECT_MXGPU_IR_MXGPUDIALECT_TD

include "mlir/IR/DialectBase.td"

def MXGPU_Dialect : Dialect {
  let name = "mxgpu";
  let cppNamespace = "::mx::mxgpu";
  let summary = "Warp-specialized GPU kernels built from roles and rings of buffers";
  let description = [{
    The `mxgpu` dialect describes **how** one kernel runs: the roles of its
    warps, the rings of buffers between roles, the division of work, and the
    computation of each role on a stage of a ring. Barriers, parities, expected
    byte counts, fences and addresses are implied by the types of the rings. The
    pass `mxgpu-lower-rings` makes them explicit, as operations of `mxbar`.

    A kernel is a symbol in a `gpu.module`. The host creates its tensor maps
    with `mxgpu.encode_tensor_map` and starts it with `mxgpu.launch`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let usePropertiesForAttributes = 1;
  let hasOperationAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUDIALECT_TD
