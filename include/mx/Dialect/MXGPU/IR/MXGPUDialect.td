//===- MXGPUDialect.td - The mxgpu dialect -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUDIALECT_TD
#define MX_DIALECT_MXGPU_IR_MXGPUDIALECT_TD

include "mlir/IR/DialectBase.td"

def MXGPU_Dialect : Dialect {
  let name = "mxgpu";
  let cppNamespace = "::mx::mxgpu";
  let summary = "Warp-specialized GPU kernels, as you would draw them on a whiteboard";
  let description = [{
    The `mxgpu` dialect says **how** one kernel runs: which roles its warps
    have, which rings of buffers connect the roles, how work is divided, and
    what each role does with a stage of a ring. Barriers, parities, expected
    byte counts, fences and addresses do not appear: they follow from the rings'
    types, and `mxgpu-lower-rings` creates them, in `mxbar`.

    A kernel is a symbol in a `gpu.module`; the host part is
    `mxgpu.encode_tensor_map` and `mxgpu.launch`.
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
