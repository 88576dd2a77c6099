//===- MXGPUAttrs.td - Attributes of the mxgpu dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"

def MXGPU_ScheduleAttr : AttrDef<MXGPU_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "every choice that a matmul kernel is built by";
  let description = [{
    Set by `mx-select-schedule`, or by hand as the attribute `mxgpu.schedule`
    of an `mx.matmul`; copied to the kernel.

    - `tile`: rows, columns and reduction elements of a unit of work;
    - `stages`: slots of the ring between the loads and the tensor core;
    - `accumulators`: slots of the ring between the tensor core and the
      epilogue;
    - `raster`: order in which tiles are visited;
    - `epilogue`: `direct` stores from registers.

    Example: `#mxgpu.schedule<tile = [128, 128, 128], stages = 6, accumulators
    = 2, raster = linear, epilogue = direct>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$tile,
    "int64_t":$stages,
    "int64_t":$accumulators,
    EnumParameter<MXGPU_Raster>:$raster,
    EnumParameter<MXGPU_Epilogue>:$epilogue);
  let assemblyFormat = [{
    `<` `tile` `=` `[` $tile `]` `,` `stages` `=` $stages `,`
        `accumulators` `=` $accumulators `,` `raster` `=` $raster `,`
        `epilogue` `=` $epilogue `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getTileM() const { return getTile()[0]; }
    int64_t getTileN() const { return getTile()[1]; }
    int64_t getTileK() const { return getTile()[2]; }
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD
