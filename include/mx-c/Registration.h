/*===- mx-c/Registration.h - Registration in MLIR's C API -----------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Needs MLIR's C headers. The calling program must link MLIR's C API         *|
|* (libMLIRCAPIIR.a and the like) before libMLIR, because libMXCAPI does not  *|
|* contain MLIR's C API. mx-c/Compiler.h has no such requirements.            *|
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

/* Adds the mx dialects, and the interface models of its pipelines, to
 * `registry`. The caller adds the dialects and extensions of MLIR. */
MLIR_CAPI_EXPORTED void mxcRegisterAllDialects(MlirDialectRegistry registry);

/* Adds all dialects and extensions of mx-opt to `registry`. */
MLIR_CAPI_EXPORTED void mxcRegisterEverything(MlirDialectRegistry registry);

/* Registers the passes and pipelines of mx for textual pass pipelines:
 * "mx-to-nvvm{chip=sm_100a}". May be called more than once. */
MLIR_CAPI_EXPORTED void mxcRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif /* MX_C_REGISTRATION_H */
