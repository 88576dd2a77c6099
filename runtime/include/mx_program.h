/*===- mx_program.h - Run what mx-compile wrote ---------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Loads and launches a directory written by mx-compile: kernels, and for     *|
|* each entry a plan of the host's steps (docs/reference/Manifest.md). The    *|
|* header that mx-compile writes has a typed function for each entry.         *|
|*                                                                            *|
|* A launch neither allocates device memory nor waits for the device, so a    *|
|* CUDA graph can capture it. Two exceptions: plans that read values from the *|
|* device, and the first launch on a device other than that of mxProgramLoad, *|
|* which loads the program there. Functions are thread-safe; errors, structs  *|
|* and handles are as in mx_runtime.h.                                        *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_PROGRAM_H
#define MX_PROGRAM_H

#include "mx_group.h"
#include "mx_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxProgramImpl *mxProgram;
/* Valid as long as the program is loaded. */
typedef struct mxEntryImpl *mxEntry;

/* Reads DIRECTORY/manifest.json, loads the kernels (on a GPU the cubin if
 * present, else the PTX) and copies constants to the current device. If no
 * device was selected, the program's target takes part in the selection
 * (mxSetDevice). The first launch on any other device loads the program there
 * from the same files. The files must be unchanged, and a CUDA graph must not
 * capture this launch. */
MX_API int mxProgramLoad(mxProgram *program, const char *directory);
/* Contents of a program directory in memory; null for absent parts. */
typedef struct mxProgramParts {
  size_t structSize; /* sizeof(mxProgramParts), set by the caller */
  const char *manifest;
  size_t manifestBytes;
  const void *kernels; /* PTX, a cubin or a fatbin, as for mxModuleLoad */
  size_t kernelBytes;
  const void *constants; /* constants.bin */
  size_t constantBytes;
  const char *name; /* used in messages; null for "program" */
} mxProgramParts;
/* Loads a program from memory. Copies all parts. */
MX_API int mxProgramLoadParts(mxProgram *program, const mxProgramParts *parts);
/* Loads a program without constants from memory. */
MX_API int mxProgramLoadData(mxProgram *program, const char *manifest,
                             size_t manifestBytes, const void *kernels,
                             size_t kernelBytes, const char *name);
/* Unloads a program. Concurrent launches by other threads complete as if the
 * program were still loaded. */
MX_API int mxProgramUnload(mxProgram program);

/* Finds an entry by name. MX_ERROR_NOT_FOUND lists the existing names. */
MX_API int mxProgramGetEntry(mxEntry *entry, mxProgram program,
                             const char *name);
/* Number of entries; 0 on error. */
MX_API int32_t mxProgramEntryCount(mxProgram program);
MX_API int mxProgramGetEntryAt(mxEntry *entry, mxProgram program,
                               int32_t index);

/* A group of a program for several ranks. Each rank is a process, or a thread
 * that loads the program itself. All ranks launch the same entries in the same
 * order and exchange rows. */
typedef struct mxProgramGroupInfo {
  size_t structSize;  /* sizeof(mxProgramGroupInfo), set by the caller */
  const char *name;   /* lives as long as the program */
  int32_t size;       /* number of ranks the program was compiled for */
  int32_t rank;       /* rank in the bound group; -1 if unbound */
  int64_t tokens;     /* largest number of tokens of a rank */
  size_t windowBytes; /* group memory for the windows of all entries */
} mxProgramGroupInfo;
/* Number of groups; 0 on error. */
MX_API int32_t mxProgramGroupCount(mxProgram program);
MX_API int mxProgramGetGroup(mxProgram program, int32_t index,
                             mxProgramGroupInfo *info);
/* Binds a group to a name of the program before the first launch. Collective.
 * The group's device must be current. The call compares a hash of the manifest
 * and the mx version, reserves the group's window memory and waits for the
 * other ranks. A later call may bind another group of the same size for later
 * launches.
 *
 * The program shares ownership while bound, so mxGroupDestroy only releases the
 * handle. Launches fail with the group's error once the group has failed. */
MX_API int mxProgramBindGroup(mxProgram program, const char *name,
                              mxGroup group);

typedef struct mxEntryInfo {
  size_t structSize; /* sizeof(mxEntryInfo), set by the caller */
  const char *name;
  int32_t argumentCount, resultCount;
} mxEntryInfo;
MX_API int mxEntryGetInfo(mxEntry entry, mxEntryInfo *info);

/* Type of an argument or a result. Pointers are valid as long as the program is
 * loaded. */
typedef struct mxValueInfo {
  size_t structSize; /* sizeof(mxValueInfo), set by the caller */
  const char *name;
  const char *type; /* MLIR type: "tensor<?x64xbf16>" */
  /* NumPy dtype ("f4"), or unsigned integers ("u2") for types unknown to NumPy
   * */
  const char *dtype;
  int32_t itemBytes;    /* bytes of an element of `dtype` */
  int32_t isNumber;     /* 1: a number, 0: an array */
  int32_t rank;         /* rank of the array of `dtype` */
  const int64_t *shape; /* -1 for extents that a call decides */
  /* 1: the shape is known only after the run; the launch allocates memory and
   * fills an mxTakenMemory */
  int32_t isTaken;
} mxValueInfo;
MX_API int mxEntryGetArgument(mxEntry entry, int32_t index, mxValueInfo *info);
MX_API int mxEntryGetResult(mxEntry entry, int32_t index, mxValueInfo *info);

/* Sets `answer` to 1 if argument `index` is a number that affects the sizes of
 * results or of the workspace, else to 0. Calls with equal shapes and equal
 * values of these arguments have equal sizes. */
MX_API int mxEntryIsSizeArgument(mxEntry entry, int32_t index, int32_t *answer);

/* Argument of a call. All arguments of a call must have the same
 * `structSize`. */
typedef struct mxArgument {
  size_t structSize;    /* sizeof(mxArgument), set by the caller */
  void *data;           /* array: device memory; number: its host address */
  const int64_t *shape; /* array: extents of all dimensions */
} mxArgument;

/* Result with a shape known only after the run. `data` receives device
 * memory owned by the caller (mxMemFree). `shape` must have room for every
 * dimension. */
typedef struct mxTakenMemory {
  size_t structSize; /* sizeof(mxTakenMemory), set by the caller */
  void *data;
  int64_t *shape;
} mxTakenMemory;

/* Compute sizes from the shapes of arrays and the values of numbers. Addresses
 * of arrays may be null. The device is the owner of the non-null addresses, or
 * else the current device. The functions fail if a launch with these arguments
 * would fail, and for a result that the launch allocates. `shape` must have
 * room for every dimension. All groups of the program must be bound, because
 * sizes may depend on the rank. */
MX_API int mxEntryGetResultShape(mxEntry entry, const mxArgument *arguments,
                                 int32_t argumentCount, int32_t result,
                                 int64_t *shape);
MX_API int mxEntryGetWorkspaceBytes(mxEntry entry, const mxArgument *arguments,
                                    int32_t argumentCount, size_t *bytes);

/* Launches all steps of the entry, in order, on the stream. Arrays, workspace
 * and stream must belong to one device; a call without arrays runs on the
 * device of the stream.
 *
 * Memory: the caller owns results and workspace. Arguments and results are
 * aligned to 16 bytes, the workspace to 256. The workspace is used until the
 * last kernel ends, and its contents need not be kept between calls. Results,
 * workspace and arguments must not overlap, except that a result may be the
 * argument that the function updates in place and returns.
 *
 * Results: a number is written to host memory before the call returns. For a
 * result allocated by the launch, `results` contains the address of an
 * mxTakenMemory. The struct is filled before the call returns, but the result's
 * data is stream-ordered.
 *
 * Errors: all requirements of the plan on the arguments are checked before the
 * first kernel starts. A plan that reads a number from the device waits for the
 * stream, and a plan that allocates results waits at its end; a CUDA graph can
 * capture neither. Errors that depend on such a number are reported after
 * earlier kernels were launched.
 *
 * Groups: all groups must be bound (mxProgramBindGroup) to the device of the
 * arrays. A refused launch exchanges no data: other ranks that launch the entry
 * wait for this rank until the group's time-out. */
MX_API int mxEntryLaunch(mxEntry entry, const mxArgument *arguments,
                         int32_t argumentCount, void *const *results,
                         int32_t resultCount, void *workspace,
                         size_t workspaceBytes, mxStream stream);

#ifdef __cplusplus
}
#endif

#endif /* MX_PROGRAM_H */
