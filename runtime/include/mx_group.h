/*===- mx_group.h - Programs on several devices at once -------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* A group is a number of ranks, each with a device of its own, that run the  *|
|* same program on different data and send each other parts of it. Mostly     *|
|* each rank is a process. docs/guide/Ranks.md describes groups; errors,      *|
|* structs and handles are as in mx_runtime.h.                                *|
|*                                                                            *|
|* A function that is collective must be called by all ranks, and those of    *|
|* one group in the same order. None of them waits longer than the time-out   *|
|* of the group for a rank that does not come.                                *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_GROUP_H
#define MX_GROUP_H

#include "mx_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxGroupImpl *mxGroup;

/* An all-gather on the host, which the caller has from elsewhere (MPI, a store,
 * files): `all` gets the `bytes` of all ranks in their order. 0 on success. It
 * is called once, and only while the group is made. */
typedef int (*mxExchange)(void *user, const void *mine, size_t bytes,
                          void *all);

typedef struct mxGroupConfig {
  size_t structSize; /* sizeof(mxGroupConfig), set by the caller */
  const char *name;  /* 1 to 63 bytes: stands in messages, as in programs */
  int32_t rank, size;
  uint64_t timeoutNs;  /* 0: 100 seconds */
  mxExchange exchange; /* null for mxGroupConnect, and for one rank */
  void *user;
  const char *transport; /* "nccl", "host"; null or "auto": NCCL on GPUs */
} mxGroupConfig;

/* Collective; on the device in use of each rank. */
MX_API int mxGroupCreate(mxGroup *group, const mxGroupConfig *config);
/* The same without an exchange of the caller: rank 0 listens at `address`,
 * "host:port", and the others connect to it, while the group is made. All ranks
 * need the same secret of the job: MX_GROUP_SECRET, or without it they are of
 * one user on one machine. */
MX_API int mxGroupConnect(mxGroup *group, const mxGroupConfig *config,
                          const char *address);

typedef struct mxGroupInfo {
  size_t structSize; /* sizeof(mxGroupInfo), set by the caller */
  const char *name;  /* as `transport`, it lives as long as the group */
  int32_t rank, size;
  const char *transport; /* "nccl", "host"; "local" for one rank */
  int32_t ncclVersion;   /* 22809 is 2.28.9; 0 without NCCL */
  char device[16];       /* as mxSetDevice takes it */
  uint64_t timeoutNs;
  void *windows; /* memory for windows of programs, null where there is none */
  size_t windowBytes;
} mxGroupInfo;
MX_API int mxGroupGetInfo(mxGroup group, mxGroupInfo *info);

/* Collective: memory for windows of at least `bytes`, and of the most that a
 * rank asks for. Memory that it replaces stays until the group is destroyed, as
 * a CUDA graph may use it. */
MX_API int mxGroupReserveWindows(mxGroup group, size_t bytes);
/* Collective: memory of the caller instead, as many bytes on all ranks. It must
 * stay until the group is destroyed. */
MX_API int mxGroupAdoptWindows(mxGroup group, void *memory, size_t bytes);

/* Collective, in the order of the stream: segment s of `window`, `bytes` long,
 * becomes what rank s has there. `window` has one segment for each rank.
 * On a GPU with NCCL nothing waits, and a CUDA graph can capture it. */
MX_API int mxGroupAllGather(mxGroup group, void *window, size_t bytes,
                            mxStream stream);
/* The same for segment d of `from`, which goes to segment `rank` of `to` on
 * rank d. The two blocks do not overlap. */
MX_API int mxGroupAllToAll(mxGroup group, const void *from, void *to,
                           size_t bytes, mxStream stream);

/* What a group has failed of: the same on all ranks. It never changes again,
 * and the pointers live as long as the group. */
typedef struct mxGroupReport {
  size_t structSize; /* sizeof(mxGroupReport), set by the caller */
  int32_t status;    /* mxStatus; MX_SUCCESS: the group works */
  int32_t rank;      /* at fault; -1: none, or none is known */
  int64_t step;      /* of the entry; -1: none */
  const char *entry; /* "" outside of programs */
  const char *text;
} mxGroupReport;
/* Never waits. */
MX_API int mxGroupGetStatus(mxGroup group, mxGroupReport *report);

/* Not collective: the group has failed, with MX_ERROR_PEER, and `why` is in the
 * text on all ranks. Their collectives end. */
MX_API int mxGroupAbort(mxGroup group, const char *why);
/* Not collective, and needs no other rank. What this rank has put on streams
 * ends before, or after the time-out is given up. Null is no error. The only
 * function of a group that a forked child may call. */
MX_API int mxGroupDestroy(mxGroup group);

#ifdef __cplusplus
}
#endif

#endif /* MX_GROUP_H */
