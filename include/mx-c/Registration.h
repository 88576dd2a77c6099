/*===- mx-c/Registration.h - mx for users of MLIR's C API -----------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Needs MLIR's C headers, and MLIR's C API in the program that calls it:     *|
|* libMLIRCAPIIR.a and the like, linked before libMLIR. libMXCAPI has no copy *|
|* of it. mx-c/Compiler.h needs none of this.                                 *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_C_REGISTRATION_H
#define MX_C_REGISTRATION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MX, mx);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MXGPU, mxgpu);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MXBar, mxbar);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MXPlan, mxplan);

/* Adds the dialects of mx, and the interface models that its pipelines look up,
 * to `registry`. The dialects and extensions of MLIR are the caller's to add.
 */
MLIR_CAPI_EXPORTED void mxcRegisterAllDialects(MlirDialectRegistry registry);

/* The same, and everything that mx-opt knows. */
MLIR_CAPI_EXPORTED void mxcRegisterEverything(MlirDialectRegistry registry);

/* Makes the passes and pipelines of mx known to pass managers that parse text:
 * "mx-to-nvvm{chip=sm_100a}". May be called more than once. */
MLIR_CAPI_EXPORTED void mxcRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif /* MX_C_REGISTRATION_H */
