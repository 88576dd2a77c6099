/*===- mx-c/Compiler.h - C interface of the compiler ----------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Compiles text to IR, PTX and a manifest. Callers need nothing of MLIR:     *|
|* modules are handles; pipelines, attributes and types are text.             *|
|* mx_program.h runs the compiled program (mxProgramLoadParts).               *|
|*                                                                            *|
|* Functions return 0, or report to the context's callback and return a       *|
|* status (docs/guide/Run.md); functions that return a handle return null     *|
|* instead. Invalid arguments, such as null where it is not allowed or a      *|
|* destroyed handle, are reported in the same way. Without a valid context    *|
|* messages go to stderr. Destroying null does nothing. Strings are UTF-8,    *|
|* zero-terminated unless a length is passed. Calls with one context, or with *|
|* objects created in it, must not overlap; contexts are independent.         *|
|*                                                                            *|
|* Every struct begins with its size, which the caller sets:                  *|
|*   mxcCompileOptions options = {.structSize = sizeof(options)};             *|
|* If the struct is smaller, because the caller has an older header, missing  *|
|* fields are zero, and the library does not write beyond the struct. A       *|
|* larger struct is accepted if fields unknown to the library are zero.       *|
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
  MXC_FAULT = 1,   /* ptxas rejected the kernels, or a collective failed */
  MXC_REFUSED = 2, /* invalid or unsupported text, options or programs */
};

enum mxcSeverity { MXC_ERROR, MXC_WARNING, MXC_REMARK, MXC_NOTE };

/* Receives a message. `text` starts with the location, "model.mlir:3:8: ", if
 * there is one, and is valid during the call. */
typedef void (*mxcMessageCallback)(int severity, const char *text, void *user);
/* Receives a text in one or more pieces. */
typedef void (*mxcTextCallback)(const char *bytes, size_t count, void *user);

/* Returns the version and the commit. */
MXC_API const char *mxcGetVersion(void);
/* Version of this interface, which is also the SOVERSION of the library. Within
 * a version, functions are only added, and structs only grow at their end. */
#define MXC_INTERFACE_VERSION 1
/* Returns the interface version of the library. */
MXC_API int mxcGetInterfaceVersion(void);

/* --- Contexts ------------------------------------------------------------ */

/* Context with all dialects and passes of mx and MLIR. */
typedef struct mxcContextImpl *mxcContext;

/* Creates a context. Without a callback, messages go to stderr. Reports an
 * error and returns null if this library and libMLIR use different MLIR types
 * (docs/guide/Embedding.md). */
MXC_API mxcContext mxcContextCreate(mxcMessageCallback callback, void *user);
/* Objects created in the context may be destroyed later; their messages then
 * go to stderr. */
MXC_API void mxcContextDestroy(mxcContext context);

/* Parses and verifies an attribute or type of any dialect, for example
 * `#mx.scale_layout<linear>`, and passes the text that MLIR prints for it to
 * `callback`. */
MXC_API int mxcParseAttribute(mxcContext context, const char *text,
                              mxcTextCallback callback, void *user);
MXC_API int mxcParseType(mxcContext context, const char *text,
                         mxcTextCallback callback, void *user);

/* --- Modules ------------------------------------------------------------- */

typedef struct mxcModuleImpl *mxcModule;

/* Parses and verifies MLIR text or bytecode. `name` is the file name in
 * messages; null means "text". */
MXC_API mxcModule mxcModuleParse(mxcContext context, const char *text,
                                 size_t bytes, const char *name);
MXC_API mxcModule mxcModuleClone(mxcModule module);
MXC_API void mxcModuleDestroy(mxcModule module);

/* Runs passes like mx-opt --pass-pipeline: "builtin.module(canonicalize,
 * mx-to-nvvm{chip=sm_100a})". After a failure, the module may only be printed
 * and destroyed. */
MXC_API int mxcModuleRunPasses(mxcModule module, const char *pipeline);
/* Calls `callback` once for each function that is compiled by default, with its
 * name. */
MXC_API int mxcModuleListEntries(mxcModule module, mxcTextCallback callback,
                                 void *user);
MXC_API int mxcModulePrint(mxcModule module, mxcTextCallback callback,
                           void *user);
MXC_API int mxcModuleWriteBytecode(mxcModule module, mxcTextCallback callback,
                                   void *user);

/* --- Compiling ----------------------------------------------------------- */

/* Options of mxcCompile. Zero selects the default of a field. */
typedef struct mxcCompileOptions {
  size_t structSize;          /* sizeof(mxcCompileOptions) */
  const char *chip;           /* default: sm_100a */
  const char *const *entries; /* functions to compile; default: all public */
  size_t entryCount;
  const char *ptxas;  /* path or "none"; default: search for ptxas */
  const char *prefix; /* prefix of C header names; default: "program" */
  int32_t noFusion;   /* 1: do not fuse operations */
  /* Number of schedules to time for each matmul before compiling, on the GPU
   * that the runtime uses (docs/guide/Tuning.md); 0: none. */
  int64_t tune;
  /* Rows to time for matmuls with a dynamic number of rows; default: one size
   * for each range with its own schedule. */
  const int64_t *tuneRows;
  size_t tuneRowCount;
  /* Table of measured schedules, which take precedence over the model, and the
   * GPU whose entries apply. With `tune`, the table is updated and defaults to
   * the user's table. */
  const char *tuned;
  const char *tunedGpu;
} mxcCompileOptions;

/* Output of mx-compile, in memory. */
typedef struct mxcCompiledImpl *mxcCompiled;

/* Compiles functions on tensors. Does not change the module. `options` may be
 * null. */
MXC_API int mxcCompile(mxcCompiled *compiled, mxcModule module,
                       const mxcCompileOptions *options);
MXC_API void mxcCompiledDestroy(mxcCompiled compiled);

enum mxcPart { MXC_MANIFEST, MXC_PTX, MXC_CUBIN, MXC_HEADER, MXC_CONSTANTS };

/* Returns a part, which lives as long as `compiled`, followed by a zero that
 * `bytes` does not count. Returns null and sets `bytes` to 0 for PTX of a
 * program without kernels, a cubin without an assembler, and missing constants.
 * `bytes` may be null. */
MXC_API const char *mxcCompiledGet(mxcCompiled compiled, int part,
                                   size_t *bytes);
/* Writes the directory that mx-launch and mxProgramLoad read. */
MXC_API int mxcCompiledWrite(mxcCompiled compiled, const char *directory);

/* --- Running on the host -------------------------------------------------- */

/* Function compiled to host code: the reference path, as in
 * mx-run --device=cpu. Needs neither a device nor the runtime. */
typedef struct mxcHostProgramImpl *mxcHostProgram;

/* Compiles the function `entry`. Does not change the module. Memref arguments
 * are appended to the results, because a call never changes its arguments. */
MXC_API int mxcHostProgramCreate(mxcHostProgram *program, mxcModule module,
                                 const char *entry);
MXC_API void mxcHostProgramDestroy(mxcHostProgram program);

/* Description of an argument or result, like mxValueInfo in mx_program.h.
 * Pointers live as long as the program. */
typedef struct mxcHostValueInfo {
  size_t structSize; /* sizeof(mxcHostValueInfo) */
  const char *name;
  const char *type;     /* MLIR type: "tensor<?x64xbf16>" */
  const char *dtype;    /* NumPy: "f4"; other formats as bits, "u2" */
  int32_t itemBytes;    /* bytes of an item of `dtype` */
  int32_t isNumber;     /* 1: a number, 0: an array */
  int32_t rank;         /* rank of the array with items of `dtype` */
  const int64_t *shape; /* -1 for any extent */
} mxcHostValueInfo;
MXC_API int32_t mxcHostProgramArgumentCount(mxcHostProgram program);
MXC_API int32_t mxcHostProgramResultCount(mxcHostProgram program);
MXC_API int mxcHostProgramGetArgument(mxcHostProgram program, int32_t index,
                                      mxcHostValueInfo *info);
MXC_API int mxcHostProgramGetResult(mxcHostProgram program, int32_t index,
                                    mxcHostValueInfo *info);

/* Dense row-major array with any alignment, or a number. All structs of a call
 * must have the same structSize. */
typedef struct mxcHostArray {
  size_t structSize; /* sizeof(mxcHostArray) */
  const void *data;
  const int64_t *shape; /* `rank` extents; ignored for numbers */
} mxcHostArray;
/* Calls the function. Shapes are checked before the call. Data such as indices
 * and sizes are checked at their use. The program owns the results, which live
 * until its next call. A failed call returns no results. */
MXC_API int mxcHostProgramCall(mxcHostProgram program,
                               const mxcHostArray *arguments,
                               int32_t argumentCount, mxcHostArray *results,
                               int32_t resultCount);

/* Rank group of the module, indexed in text order. `size` is the number of
 * ranks, and `tokens` the maximum number of tokens per rank. */
typedef struct mxcHostGroupInfo {
  size_t structSize; /* sizeof(mxcHostGroupInfo) */
  const char *name;  /* lives as long as the program */
  int64_t size, tokens;
} mxcHostGroupInfo;
MXC_API int32_t mxcHostProgramGroupCount(mxcHostProgram program);
MXC_API int mxcHostProgramGetGroup(mxcHostProgram program, int32_t index,
                                   mxcHostGroupInfo *info);

/* Collectives of a program with several ranks; each rank calls its own program.
 * `group` is the index of the rank group, and `bytes` the size of one rank's
 * segment. allGather and allToAll return null, or a message that ends the call
 * and must live until the next call of the same function. */
typedef struct mxcHostCollectives {
  size_t structSize; /* sizeof(mxcHostCollectives) */
  int64_t (*getRank)(int64_t group, void *user);
  /* Replaces segment r of `window` with segment r of rank r's window. */
  const char *(*allGather)(int64_t group, void *window, int64_t bytes,
                           void *user);
  /* Copies this rank's segment of rank r's `from` to segment r of `to`. */
  const char *(*allToAll)(int64_t group, const void *from, void *to,
                          int64_t bytes, void *user);
  void *user;
} mxcHostCollectives;
/* Sets the collectives of later calls; required for rank groups with several
 * ranks. Copies the struct. */
MXC_API int mxcHostProgramSetCollectives(mxcHostProgram program,
                                         const mxcHostCollectives *collectives);

#ifdef __cplusplus
}

/* Returns a zeroed struct of the interface with its structSize. */
template <typename T>
T mxcSized() {
  T result = T();
  result.structSize = sizeof(T);
  return result;
}
#endif

#endif /* MX_C_COMPILER_H */
