/*===- mx-c/Compiler.h - The compiler as a library of C -------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Text in; IR, PTX and a manifest, or messages, out. Nothing of MLIR is      *|
|* needed to use it: modules are handles, and pipelines, attributes and types *|
|* are text. What it compiles runs with mx_program.h (mxProgramLoadParts).    *|
|*                                                                            *|
|* Functions return 0, or a status (docs/ExitStatus.md) after they have given *|
|* messages to the context's callback; those that return a handle return null *|
|* then. Strings are UTF-8; those without a length end in a zero. Calls with  *|
|* one context, or with what was made in it, must not overlap; contexts are   *|
|* apart from each other.                                                     *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_C_COMPILER_H
#define MX_C_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MXC_API __attribute__((visibility("default")))
#else
#define MXC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum mxcStatus {
  MXC_OK = 0,
  MXC_FAULT = 1,   /* ptxas refused the kernels */
  MXC_REFUSED = 2, /* text, options or programs that are not supported */
};

enum mxcSeverity { MXC_ERROR, MXC_WARNING, MXC_REMARK, MXC_NOTE };

/* `text` begins with the place, "model.mlir:3:8: ", where there is one. It ends
 * with the call. */
typedef void (*mxcMessageCallback)(int severity, const char *text, void *user);
/* Gets a text, in one or more pieces. */
typedef void (*mxcTextCallback)(const char *bytes, size_t count, void *user);

/* Version and commit. */
MXC_API const char *mxcGetVersion(void);

/* --- Contexts ------------------------------------------------------------ */

/* All dialects and passes of mx and MLIR. */
typedef struct mxcContextImpl *mxcContext;

/* Without a callback messages go to stderr. Null, after a message, where this
 * library and libMLIR do not agree about MLIR's types (docs/Embedding.md). */
MXC_API mxcContext mxcContextCreate(mxcMessageCallback callback, void *user);
/* After everything that was made in it is destroyed. */
MXC_API void mxcContextDestroy(mxcContext context);

/* Parses an attribute or a type of any dialect, as `#mx.scale_layout<linear>`,
 * verifies it and gives the text that MLIR would print for it. */
MXC_API int mxcParseAttribute(mxcContext context, const char *text,
                              mxcTextCallback callback, void *user);
MXC_API int mxcParseType(mxcContext context, const char *text,
                         mxcTextCallback callback, void *user);

/* --- Modules ------------------------------------------------------------- */

typedef struct mxcModuleImpl *mxcModule;

/* MLIR as text or bytecode, verified. `name` stands in messages, for the file;
 * null for "text". */
MXC_API mxcModule mxcModuleParse(mxcContext context, const char *text,
                                 size_t bytes, const char *name);
MXC_API mxcModule mxcModuleClone(mxcModule module);
MXC_API void mxcModuleDestroy(mxcModule module);

/* Runs passes, as mx-opt --pass-pipeline: "builtin.module(canonicalize,
 * mx-to-nvvm{chip=sm_100a})". After a failure the module is whatever the pass
 * that failed has left; it may only be printed and destroyed. */
MXC_API int mxcModuleRunPasses(mxcModule module, const char *pipeline);
MXC_API int mxcModulePrint(mxcModule module, mxcTextCallback callback,
                           void *user);
MXC_API int mxcModuleWriteBytecode(mxcModule module, mxcTextCallback callback,
                                   void *user);

/* --- Compiling ----------------------------------------------------------- */

/* Zeros are the defaults. */
typedef struct mxcCompileOptions {
  const char *chip;           /* default: sm_100a */
  const char *const *entries; /* functions to compile; default: public ones */
  size_t entryCount;
  const char *ptxas;  /* the assembler, or "none"; default: one that is found */
  const char *prefix; /* of names in the C header; default: program */
  int32_t noFusion;   /* 1: operations stay apart */
} mxcCompileOptions;

/* What mx-compile writes to a directory, in memory. */
typedef struct mxcCompiledImpl *mxcCompiled;

/* Compiles functions on tensors. The module stays as it is. `options` may be
 * null. */
MXC_API int mxcCompile(mxcCompiled *compiled, mxcModule module,
                       const mxcCompileOptions *options);
MXC_API void mxcCompiledDestroy(mxcCompiled compiled);

enum mxcPart { MXC_MANIFEST, MXC_PTX, MXC_CUBIN, MXC_HEADER, MXC_CONSTANTS };

/* A part: it lives as long as `compiled`, and a zero that is not counted
 * follows it. A program without kernels has no PTX, many have no constants, and
 * there is no cubin without an assembler: then the result is null, and `bytes`
 * 0. `bytes` may be null. */
MXC_API const char *mxcCompiledGet(mxcCompiled compiled, int part,
                                   size_t *bytes);
/* The directory that mx-launch and mxProgramLoad read. */
MXC_API int mxcCompiledWrite(mxcCompiled compiled, const char *directory);

#ifdef __cplusplus
}
#endif

#endif /* MX_C_COMPILER_H */
