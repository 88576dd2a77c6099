/*===- mx_group.h - Programs on several devices at once -------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* A group consists of ranks, each with its own device, that run the same     *|
|* program on different data and exchange parts of it. A rank is usually a    *|
|* process. docs/guide/Ranks.md describes groups; mx_runtime.h describes      *|
|* errors, structs and handles.                                               *|
|*                                                                            *|
|* All ranks must call a collective function, and in the same order within a  *|
|* group. No rank waits for another longer than the group's time-out.         *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_GROUP_H
#define MX_GROUP_H

#include "mx_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxGroupImpl *mxGroup;

/* All-gather on the host, implemented by the caller (MPI, a store, files).
 * Writes `bytes` bytes from every rank to `all`, in rank order. Returns 0 on
 * success. The library calls the function once, during group creation. */
typedef int (*mxExchange)(void *user, const void *mine, size_t bytes,
                          void *all);

typedef struct mxGroupConfig {
  size_t structSize; /* sizeof(mxGroupConfig), set by the caller */
  const char *name;  /* 1 to 63 bytes, used in messages */
  int32_t rank, size;
  uint64_t timeoutNs;  /* 0: 100 seconds */
  mxExchange exchange; /* null for mxGroupConnect and for one rank */
  void *user;
  /* "nccl", "host", or "peer": copies into mapped windows of peers, required.
   * Null or "auto": on GPUs NCCL, and such copies if all ranks can map. */
  const char *transport;
} mxGroupConfig;

/* Collective. Creates a group on the current device of each rank. */
MX_API int mxGroupCreate(mxGroup *group, const mxGroupConfig *config);
/* Collective. Creates a group without an exchange function: rank 0 listens on
 * `address` ("host:port") and the other ranks connect during creation. All
 * ranks need the same secret in MX_GROUP_SECRET; without a secret, they must
 * belong to the same user on one machine. */
MX_API int mxGroupConnect(mxGroup *group, const mxGroupConfig *config,
                          const char *address);

typedef struct mxGroupInfo {
  size_t structSize; /* sizeof(mxGroupInfo), set by the caller */
  const char *name;  /* lives as long as the group */
  int32_t rank, size;
  const char *transport; /* "nccl", "host"; "peer" while windows are mapped;
                          * "local" for one rank */
  int32_t ncclVersion;   /* 22809 is 2.28.9; 0 without NCCL */
  char device[16];       /* as mxSetDevice takes it */
  uint64_t timeoutNs;
  void *windows; /* memory for windows of programs, or null */
  size_t windowBytes;
} mxGroupInfo;
MX_API int mxGroupGetInfo(mxGroup group, mxGroupInfo *info);

/* Collective. Reserves window memory. Every rank reserves the largest `bytes`
 * that any rank passes. Replaced memory stays allocated until the group is
 * destroyed, because a CUDA graph may use it. */
MX_API int mxGroupReserveWindows(mxGroup group, size_t bytes);
/* Collective. Uses the caller's memory for windows. The size must be equal on
 * all ranks. The memory must stay valid until the group is destroyed. */
MX_API int mxGroupAdoptWindows(mxGroup group, void *memory, size_t bytes);

/* Collective, stream-ordered. Fills segment s of `window`, `bytes` long, with
 * segment s of rank s; `window` has one segment for each rank. On a GPU with
 * NCCL or mapped windows the host does not wait, and a CUDA graph can capture
 * the call. Memory in the group's windows has the same offset on all ranks, as
 * has `to` of mxGroupAllToAll. */
MX_API int mxGroupAllGather(mxGroup group, void *window, size_t bytes,
                            mxStream stream);
/* Collective, stream-ordered. Copies segment d of `from` to segment `rank` of
 * `to` on rank d. The two buffers must not overlap. */
MX_API int mxGroupAllToAll(mxGroup group, const void *from, void *to,
                           size_t bytes, mxStream stream);

/* Failure of a group. All ranks report the same failure, and the report of a
 * failure never changes. The pointers are valid as long as the group exists. */
typedef struct mxGroupReport {
  size_t structSize; /* sizeof(mxGroupReport), set by the caller */
  int32_t status;    /* mxStatus; MX_SUCCESS while the group works */
  int32_t rank;      /* rank at fault, or -1 if unknown */
  int64_t step;      /* step of the entry, or -1 */
  const char *entry; /* entry, or "" outside of programs */
  const char *text;
} mxGroupReport;
/* Reads the status of a group without waiting. */
MX_API int mxGroupGetStatus(mxGroup group, mxGroupReport *report);

/* Not collective. Fails the group with MX_ERROR_PEER and ends its collectives;
 * `why` appears in the error text of all ranks. */
MX_API int mxGroupAbort(mxGroup group, const char *why);
/* Not collective. Waits for this rank's work on streams, but no longer than the
 * group's time-out. A null group is accepted. A forked child may call no other
 * group function. */
MX_API int mxGroupDestroy(mxGroup group);

#ifdef __cplusplus
}
#endif

#endif /* MX_GROUP_H */
