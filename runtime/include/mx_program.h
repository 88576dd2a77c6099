/*===- mx_program.h - Run what mx-compile wrote ---------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* mx-compile writes a directory: kernels, and for each entry a plan of what  *|
|* the host does (docs/reference/Manifest.md). These functions load such a    *|
|* directory and launch its entries on device memory. Launching neither       *|
|* allocates device memory nor waits for the device, unless the program reads *|
|* numbers from it, so it may be captured in a CUDA graph; only the first     *|
|* launch on another device than that of mxProgramLoad loads the program      *|
|* there. Every function may be called from any thread; errors, structs and   *|
|* handles are as in mx_runtime.h. The header that mx-compile writes has a    *|
|* typed function for each entry.                                             *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_PROGRAM_H
#define MX_PROGRAM_H

#include "mx_group.h"
#include "mx_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxProgramImpl *mxProgram;
/* Lives as long as its program. */
typedef struct mxEntryImpl *mxEntry;

/* Reads DIRECTORY/manifest.json, loads the kernels, the cubin on a GPU where
 * there is one, else the PTX, and copies the constants to the device in use.
 * Where none was chosen yet, the target of the program helps to choose one
 * (mxSetDevice). On every other device the program is loaded when it is first
 * launched there, from the same files: they must be as they were, and the
 * launch must not be captured. */
MX_API int mxProgramLoad(mxProgram *program, const char *directory);
/* What the files of a directory have, in memory; null where there is none. */
typedef struct mxProgramParts {
  size_t structSize; /* sizeof(mxProgramParts), set by the caller */
  const char *manifest;
  size_t manifestBytes;
  const void *kernels; /* PTX, a cubin or a fatbin, as for mxModuleLoad */
  size_t kernelBytes;
  const void *constants; /* constants.bin */
  size_t constantBytes;
  const char *name; /* stands in messages; null for "program" */
} mxProgramParts;
/* All parts are copied. */
MX_API int mxProgramLoadParts(mxProgram *program, const mxProgramParts *parts);
/* The same of a program that has no constants. */
MX_API int mxProgramLoadData(mxProgram *program, const char *manifest,
                             size_t manifestBytes, const void *kernels,
                             size_t kernelBytes, const char *name);
/* Other threads may be launching its entries: their calls end as if the program
 * were there. */
MX_API int mxProgramUnload(mxProgram program);

/* The entry of that name; MX_ERROR_NOT_FOUND names those that are there. */
MX_API int mxProgramGetEntry(mxEntry *entry, mxProgram program,
                             const char *name);
/* Number of entries; 0 on error. */
MX_API int32_t mxProgramEntryCount(mxProgram program);
MX_API int mxProgramGetEntryAt(mxEntry *entry, mxProgram program,
                               int32_t index);

/* A program of several ranks has groups: processes, or threads with a program
 * each, that launch the same entries in the same order, and exchange rows on
 * the way. */
typedef struct mxProgramGroupInfo {
  size_t structSize;  /* sizeof(mxProgramGroupInfo), set by the caller */
  const char *name;   /* lives as long as the program */
  int32_t size;       /* ranks, for which the program was compiled */
  int32_t rank;       /* of the group that is bound; -1 where none is */
  int64_t tokens;     /* of each rank, at most */
  size_t windowBytes; /* of the group's memory, for windows of all entries */
} mxProgramGroupInfo;
/* Number of groups; 0 on error. */
MX_API int32_t mxProgramGroupCount(mxProgram program);
MX_API int mxProgramGetGroup(mxProgram program, int32_t index,
                             mxProgramGroupInfo *info);
/* Says which ranks the group of that name is, before the first launch. All
 * ranks call it, with the device of the group in use: it compares a hash of the
 * manifest and the version of mx, reserves the group's memory for windows, and
 * waits for the others. Another group of the same size may be bound in its
 * place, for later launches. The program has a share in the group as long as
 * it is bound to it: mxGroupDestroy then takes the handle alone. When the group
 * has failed, launches fail with the reason. */
MX_API int mxProgramBindGroup(mxProgram program, const char *name,
                              mxGroup group);

typedef struct mxEntryInfo {
  size_t structSize; /* sizeof(mxEntryInfo), set by the caller */
  const char *name;
  int32_t argumentCount, resultCount;
} mxEntryInfo;
MX_API int mxEntryGetInfo(mxEntry entry, mxEntryInfo *info);

/* What an argument or a result is. The pointers live as long as the program. */
typedef struct mxValueInfo {
  size_t structSize; /* sizeof(mxValueInfo), set by the caller */
  const char *name;
  const char *type;     /* in MLIR: "tensor<?x64xbf16>" */
  const char *dtype;    /* NumPy's: "f4"; numbers that it lacks as bits, "u2" */
  int32_t itemBytes;    /* of that dtype */
  int32_t isNumber;     /* rather than an array */
  int32_t rank;         /* of an array of that dtype */
  const int64_t *shape; /* -1 where the call decides */
  int32_t isTaken;      /* a result whose shape only the run knows: the launch
                           takes its memory, and fills in an mxTakenMemory */
} mxValueInfo;
MX_API int mxEntryGetArgument(mxEntry entry, int32_t index, mxValueInfo *info);
MX_API int mxEntryGetResult(mxEntry entry, int32_t index, mxValueInfo *info);

/* Whether sizes of results or of the workspace follow from the value of
 * argument `index`, a number: 1 or 0. Sizes of calls that have the same shapes,
 * and the same numbers where this is 1, are the same. */
MX_API int mxEntryIsSizeArgument(mxEntry entry, int32_t index, int32_t *answer);

/* An argument of a call; all those of a call have the same size. */
typedef struct mxArgument {
  size_t structSize; /* sizeof(mxArgument), set by the caller */
  void *data; /* of an array: device memory; of a number: where it lies */
  const int64_t *shape; /* of an array: its extents, as many as its rank */
} mxArgument;

/* A result whose shape only the run knows. `data` becomes device memory that is
 * the caller's from then on (mxMemFree), `shape` has room for the rank. */
typedef struct mxTakenMemory {
  size_t structSize; /* sizeof(mxTakenMemory), set by the caller */
  void *data;
  int64_t *shape;
} mxTakenMemory;

/* Sizes that follow from the arguments' shapes and numbers; the addresses of
 * arrays may be null. They are for the device of those that are not, or else
 * the device in use. They fail where a launch with such
 * arguments would, and for a result that is taken. `shape` has room for the
 * rank of the result. Groups of the program must
 * be bound: sizes may follow from the rank. */
MX_API int mxEntryGetResultShape(mxEntry entry, const mxArgument *arguments,
                                 int32_t argumentCount, int32_t result,
                                 int64_t *shape);
MX_API int mxEntryGetWorkspaceBytes(mxEntry entry, const mxArgument *arguments,
                                    int32_t argumentCount, size_t *bytes);

/* Launches everything the entry does, in order, on the stream, on the device of
 * the arrays: all of them, the workspace and the stream are of one device. A
 * call without arrays goes to the device of the stream. Results are
 * device memory of the caller, at multiples of 16 bytes as arguments are, and
 * so is the workspace: at a multiple of 256 bytes, used until the last launch
 * has ended, of no meaning between calls.
 * Results, workspace and arguments must not overlap, but a result may be the
 * argument that the function updates in place and returns; such arguments are
 * written. A result that is a number lies in host memory and is known when the
 * call returns. Of a result that is taken, `results` has the address of an
 * mxTakenMemory, which is known then too; its contents are there in the order
 * of the stream.
 *
 * Everything that the plan requires of the arguments is checked before the
 * first launch. A plan that reads a number from the device waits for the stream
 * there, one that takes memory at its end; neither can be captured in a CUDA
 * graph. What is found wrong after a number was read comes when earlier
 * launches have been made.
 *
 * The groups of the program must be bound (mxProgramBindGroup), to the device
 * of the arrays. A launch that is refused has exchanged nothing: ranks that
 * launch the entry meanwhile wait for this one, until the time of the group is
 * over. */
MX_API int mxEntryLaunch(mxEntry entry, const mxArgument *arguments,
                         int32_t argumentCount, void *const *results,
                         int32_t resultCount, void *workspace,
                         size_t workspaceBytes, mxStream stream);

#ifdef __cplusplus
}
#endif

#endif /* MX_PROGRAM_H */
