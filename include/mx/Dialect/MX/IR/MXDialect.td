//===- MXDialect.td - The mx dialect -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXDIALECT_TD
#define MX_DIALECT_MX_IR_MXDIALECT_TD

include "mlir/IR/DialectBase.td"

def MX_Dialect : Dialect {
  let name = "mx";
  let cppNamespace = "::mx";
  let summary = "Block-scaled (OCP Microscaling) quantization and matmuls on tensors";
  let description = [{
    The `mx` dialect defines, bit for bit, computations on block-scaled numbers:
    the quantization of a tensor, the association of scales with blocks, and
    matmuls of quantized tensors. The dialect is independent of hardware.

    Element types are MLIR's own (`f8E4M3FN`, `f8E5M2`, `f6E3M2FN`, `f6E2M3FN`,
    `f4E2M1FN`, `i8` for MXINT8). Scales are `f8E8M0FNU`, or `f8E4M3FN` for
    NVFP4. The tensor type includes the layout of scales (`#mx.scale_layout`).

    Operations are in destination-passing style, on tensors or, after
    bufferization, on memrefs.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let useDefaultAttributePrinterParser = 1;
  let usePropertiesForAttributes = 1;
}

#endif // MX_DIALECT_MX_IR_MXDIALECT_TD
