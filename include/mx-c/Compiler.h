/*===- mx-c/Compiler.h - The compiler as a library of C -------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Text in; IR, PTX and a manifest, or messages, out. Nothing of MLIR is      *|
|* needed to use it: modules are handles, and pipelines, attributes and types *|
|* are text. What it compiles runs with mx_program.h (mxProgramLoadParts).    *|
|*                                                                            *|
|* Functions return 0, or a status (docs/guide/Run.md) after they have given  *|
|* messages to the context's callback; those that return a handle return null *|
|* then. A null pointer where none is allowed is refused like any other wrong *|
|* argument, and so is the handle of what was destroyed; the message goes to  *|
|* stderr where no context is left to tell. To destroy null does nothing.     *|
|* Strings are UTF-8; those without a length end in a zero. Calls with one    *|
|* context, or with what was made in it, must not overlap; contexts are apart *|
|* from each other.                                                           *|
|*                                                                            *|
|* Every struct begins with its size, which the caller sets:                  *|
|*   mxcCompileOptions options = {.structSize = sizeof(options)};             *|
|* A caller of an older header has a smaller struct; the library writes no    *|
|* more than that, and takes zeros for what it lacks. A larger one, of a      *|
|* newer header, is taken if what this library does not know is zero.         *|
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
  MXC_FAULT = 1,   /* ptxas refused the kernels, or a collective failed */
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
/* The version of this interface, and the SOVERSION of the library: within it
 * functions are only added and structs only grow at their end. */
#define MXC_INTERFACE_VERSION 1
/* That of the library. */
MXC_API int mxcGetInterfaceVersion(void);

/* --- Contexts ------------------------------------------------------------ */

/* All dialects and passes of mx and MLIR. */
typedef struct mxcContextImpl *mxcContext;

/* Without a callback messages go to stderr. Null, after a message, where this
 * library and libMLIR do not agree about MLIR's types
 * (docs/guide/Embedding.md). */
MXC_API mxcContext mxcContextCreate(mxcMessageCallback callback, void *user);
/* What was made in it may be destroyed later; its messages go to stderr then.
 */
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
/* Gives `callback` the name of each function that is compiled where none is
 * named: one call, one name. */
MXC_API int mxcModuleListEntries(mxcModule module, mxcTextCallback callback,
                                 void *user);
MXC_API int mxcModulePrint(mxcModule module, mxcTextCallback callback,
                           void *user);
MXC_API int mxcModuleWriteBytecode(mxcModule module, mxcTextCallback callback,
                                   void *user);

/* --- Compiling ----------------------------------------------------------- */

/* Zeros are the defaults. */
typedef struct mxcCompileOptions {
  size_t structSize;          /* sizeof(mxcCompileOptions) */
  const char *chip;           /* default: sm_100a */
  const char *const *entries; /* functions to compile; default: public ones */
  size_t entryCount;
  const char *ptxas;  /* the assembler, or "none"; default: one that is found */
  const char *prefix; /* of names in the C header; default: program */
  int32_t noFusion;   /* 1: operations stay apart */
  /* How many schedules of each matmul are timed first, on the GPU that is the
   * runtime's device in use (docs/guide/Tuning.md); 0: none. */
  int64_t tune;
  /* Rows at which matmuls are timed whose rows no type knows; default: one
   * size of each range that has a schedule. */
  const int64_t *tuneRows;
  size_t tuneRowCount;
  /* The table of measured schedules, which come before the model's, and the GPU
   * whose entries are taken. With `tune` it is written, and is the user's own
   * by default. */
  const char *tuned;
  const char *tunedGpu;
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

/* --- Running on the host -------------------------------------------------- */

/* A function, compiled to code of this process: the reference path, which
 * mx-run --device=cpu takes. It needs neither a device nor the runtime. */
typedef struct mxcHostProgramImpl *mxcHostProgram;

/* Compiles the function `entry`. The module stays as it is. Memrefs that the
 * function is given are results too, after its own: a call never changes its
 * arguments. */
MXC_API int mxcHostProgramCreate(mxcHostProgram *program, mxcModule module,
                                 const char *entry);
MXC_API void mxcHostProgramDestroy(mxcHostProgram program);

/* What an argument or a result is, as mxValueInfo of mx_program.h. The pointers
 * live as long as the program. */
typedef struct mxcHostValueInfo {
  size_t structSize; /* sizeof(mxcHostValueInfo) */
  const char *name;
  const char *type;     /* in MLIR: "tensor<?x64xbf16>" */
  const char *dtype;    /* NumPy's: "f4"; numbers that it lacks as bits, "u2" */
  int32_t itemBytes;    /* of that dtype */
  int32_t isNumber;     /* rather than an array */
  int32_t rank;         /* of an array of that dtype */
  const int64_t *shape; /* -1 where the call decides */
} mxcHostValueInfo;
MXC_API int32_t mxcHostProgramArgumentCount(mxcHostProgram program);
MXC_API int32_t mxcHostProgramResultCount(mxcHostProgram program);
MXC_API int mxcHostProgramGetArgument(mxcHostProgram program, int32_t index,
                                      mxcHostValueInfo *info);
MXC_API int mxcHostProgramGetResult(mxcHostProgram program, int32_t index,
                                    mxcHostValueInfo *info);

/* A dense row-major array at any address, or a number; all those of a call have
 * the same size. */
typedef struct mxcHostArray {
  size_t structSize; /* sizeof(mxcHostArray) */
  const void *data;
  const int64_t *shape; /* as many extents as the rank; of a number not read */
} mxcHostArray;
/* Calls the function. Shapes are checked before, by what its operations ask
 * for, and data where they are used: indices, say, and sizes. Results are the
 * program's, and live until its next call. After a failure there are none. */
MXC_API int mxcHostProgramCall(mxcHostProgram program,
                               const mxcHostArray *arguments,
                               int32_t argumentCount, mxcHostArray *results,
                               int32_t resultCount);

/* A group of ranks that the module of a program has, in the order of the text:
 * its ranks, and how many tokens each has at most. */
typedef struct mxcHostGroupInfo {
  size_t structSize; /* sizeof(mxcHostGroupInfo) */
  const char *name;  /* it lives as long as the program */
  int64_t size, tokens;
} mxcHostGroupInfo;
MXC_API int32_t mxcHostProgramGroupCount(mxcHostProgram program);
MXC_API int mxcHostProgramGetGroup(mxcHostProgram program, int32_t index,
                                   mxcHostGroupInfo *info);

/* What moves bytes between the ranks of a program, each of which calls a
 * program of its own. `group` is the number of the group, and `bytes` those of
 * the segment of one rank. The last two return null, or what is wrong, which
 * ends the call: a text that lives until the next call of the same function. */
typedef struct mxcHostCollectives {
  size_t structSize; /* sizeof(mxcHostCollectives) */
  int64_t (*getRank)(int64_t group, void *user);
  /* Segment r of `window` becomes what rank r has there. */
  const char *(*allGather)(int64_t group, void *window, int64_t bytes,
                           void *user);
  /* Segment r of `to` becomes what rank r has for this one in `from`. */
  const char *(*allToAll)(int64_t group, const void *from, void *to,
                          int64_t bytes, void *user);
  void *user;
} mxcHostCollectives;
/* For later calls of a program that has groups of several ranks: without it
 * they are refused. The struct is copied. */
MXC_API int mxcHostProgramSetCollectives(mxcHostProgram program,
                                         const mxcHostCollectives *collectives);

#ifdef __cplusplus
}

/* A struct of the interface with its size, and zeros otherwise. */
template <typename T>
T mxcSized() {
  T result = T();
  result.structSize = sizeof(T);
  return result;
}
#endif

#endif /* MX_C_COMPILER_H */
