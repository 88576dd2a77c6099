/*===- mx_runtime.h - Load and launch kernels on a GPU or the simulator ---===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* C interface of libmx_runtime, which needs neither CUDA nor LLVM: the CUDA  *|
|* driver is loaded on the first use of a GPU. Functions are thread-safe.     *|
|* Device memory is addressed by plain pointers that the host must not        *|
|* dereference.                                                               *|
|*                                                                            *|
|* Memory, streams, modules and programs belong to a device, and a call runs  *|
|* on the device of its arguments. The current device of the thread serves    *|
|* new objects and the default stream.                                        *|
|*                                                                            *|
|* The library never ends the process unless MX_ERRORS_EXIT is set, and       *|
|* installs no signal handler.                                                *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_RUNTIME_H
#define MX_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MX_API __attribute__((visibility("default")))
#else
#define MX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*
 * Versions
 *===----------------------------------------------------------------------===*/

/* The version of this interface, and the SOVERSION of the library. Within a
 * version, functions are only added and structs only grow at the end: a
 * program runs with any library of the same version that is not older than
 * the header. */
#define MX_INTERFACE_VERSION 1
MX_API int mxGetInterfaceVersion(void);

/* Every struct begins with its size, set by the caller:
 *
 *   mxDeviceInfo info = {.structSize = sizeof(info)};
 *
 * A caller with an older header passes a smaller struct: the library writes
 * only that many bytes and reads missing fields as zero. A larger struct, from
 * a newer header, is accepted if all unknown fields are zero. */

/*===----------------------------------------------------------------------===*
 * Errors
 *===----------------------------------------------------------------------===*/

/* Status that every fallible function returns, as an int. */
typedef enum mxStatus {
  MX_SUCCESS = 0,
  MX_ERROR_INVALID_VALUE = 1, /* an argument is invalid; nothing was done */
  MX_ERROR_NO_DEVICE = 2,     /* no driver, no GPU, or an unusable GPU */
  MX_ERROR_OUT_OF_MEMORY = 3,
  MX_ERROR_BAD_MODULE = 4,   /* text or image does not load */
  MX_ERROR_WRONG_TARGET = 5, /* the module is for another GPU */
  MX_ERROR_NOT_FOUND = 6,    /* no kernel of that name */
  MX_ERROR_BAD_LAUNCH = 7,   /* the device refuses the launch */
  MX_ERROR_UNSUPPORTED = 8,  /* not supported by this device */
  MX_ERROR_CHECK = 9,        /* the simulator found an error in a kernel */
  MX_ERROR_DEADLOCK = 10,    /* the simulator found a deadlock */
  MX_ERROR_KERNEL = 11,      /* a kernel failed on the GPU */
  MX_ERROR_DRIVER = 12,      /* any other driver error */
  MX_ERROR_INTERRUPTED = 13, /* mxSetThreadInterrupt ended a launch */
  MX_ERROR_INTERNAL = 14,    /* a bug in the library */
  MX_ERROR_PEER = 15,        /* another rank aborted or left the group */
  MX_ERROR_TIMEOUT = 16,     /* another rank missed the group's deadline */
  MX_ERROR_MISMATCH = 17     /* ranks disagree on a common setting */
} mxStatus;

/* Version and commit of the library, for example "0.1.0+52934cd0f1ab". */
MX_API const char *mxGetVersion(void);

/* Name of a status, such as "deadlock" or "bad launch"; "unknown status" for
 * other values. */
MX_API const char *mxStatusName(int status);

/* Text and status of the first error of this thread since its last
 * mxClearError, or "" and MX_SUCCESS. Errors of other threads are not visible.
 * The text is never null and stays valid until the thread's next error or
 * mxClearError. */
MX_API const char *mxGetLastError(void);
MX_API int mxGetLastStatus(void);
/* Text of the latest error of this thread, or "". Unaffected by mxClearError;
 * valid until the thread's next error. */
MX_API const char *mxGetThreadError(void);
MX_API void mxClearError(void);

/* Records an error found by compiled host code, such as a size mismatch. Takes
 * a printf format and values, and follows the error policy. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
MX_API void mxReportError(const char *format, ...);

/* Error policy of the process:
 *
 *   print   print the text to standard error and return the status (default,
 *           because generated host code calls mgpu*, which return no status)
 *   return  print nothing, for hosts that check the status
 *   exit    print the text and end the process with status 1, for hosts that
 *           run generated code without checks (mlir-runner)
 *
 * The environment variable MX_ERRORS (print, return, exit) sets the policy
 * until mxSetErrorPolicy is called. After an error, mgpu* functions that start
 * new work do nothing in that thread until mxClearError. Their messages begin
 * with the same line as MLIR's wrappers: "'cuModuleGetFunction' failed with
 * 'CUDA_ERROR_NOT_FOUND'". */
typedef enum mxErrorPolicy {
  MX_ERRORS_PRINT = 0,
  MX_ERRORS_RETURN = 1,
  MX_ERRORS_EXIT = 2
} mxErrorPolicy;
MX_API int mxSetErrorPolicy(int policy);

/*===----------------------------------------------------------------------===*
 * Devices
 *===----------------------------------------------------------------------===*/

/* Selects the current device of the thread: "cuda", "cuda:N", "sim", "sim:N" or
 * "auto". A thread that selects none uses the device that was selected first in
 * any thread, else the environment variable MX_DEVICE, else "auto".
 *
 * "auto" is the first GPU that can run `target` ("sm_100a"; null: any GPU of
 * compute capability 9.0 or later), else the simulator. mxSetDevice resolves
 * "auto" when a device is first needed. If a module is loaded first, the target
 * is the target of the module. mxSetDeviceForTarget resolves "auto" at once,
 * and accepts a null name for the device that would be used by default.
 *
 * The simulator provides MX_SIM_DEVICES devices (1 to 16, default 1). Each has
 * its own memory, and kernels on different devices run concurrently. */
MX_API int mxSetDevice(const char *name);
MX_API int mxSetDeviceForTarget(const char *name, const char *target);
/* Overrides the current device of this thread until a call with null or a call
 * of mxSetDevice. */
MX_API int mxSetThreadDevice(const char *name);

typedef struct mxDeviceInfo {
  size_t structSize; /* sizeof(mxDeviceInfo), set by the caller */
  char kind[16];     /* "cuda" or "sim" */
  char name[256];    /* product name */
  int32_t multiprocessors;
  int32_t capabilityMajor, capabilityMinor;
  int64_t sharedMemoryPerBlock; /* largest dynamic shared memory, in bytes */
  int64_t globalMemory;
  char device[16]; /* accepted by mxSetDevice: "cuda:1", "sim:0" */
} mxDeviceInfo;
/* Describes the current device. */
MX_API int mxGetDeviceInfo(mxDeviceInfo *info);
/* Describes the device that owns an address. Returns MX_ERROR_NOT_FOUND for
 * host memory and for addresses outside the devices in use. */
MX_API int mxGetMemoryDevice(const void *memory, mxDeviceInfo *info);
/* Multiprocessors of the current device; 0 on error. */
MX_API int32_t mxMultiprocessorCount(void);

/* N of "cuda:N"; -1 on the simulator. */
MX_API int mxGetDeviceNumber(int32_t *number);

/* Returns 1 if a kernel for `target` can run on the current device, else 0.
 * Records no error. The simulator runs sm_90a, sm_100a, sm_100f, sm_103a,
 * sm_103f and all targets without suffix up to sm_103. */
MX_API int mxCanRunTarget(const char *target);

/* Sets an option of the simulator; no effect on a GPU. Values are text:
 *
 *   seed               seed of the schedule
 *   checks             all, none or a list of names
 *   sm-count           number of SMs
 *   instruction-limit  largest number of instructions
 *   jobs               host threads; 0: one for each core
 *   tensor-sums        exact or truncated
 *   warnings           print, error or none
 *   report             file for a JSON report of all launches
 *   record             directory for recorded launches that mx-sim replays
 *
 * The environment variables MX_SIM_SEED, MX_SIM_CHECKS, MX_SIM_SM_COUNT,
 * MX_SIM_INSTRUCTION_LIMIT, MX_SIM_JOBS, MX_SIM_TENSOR_SUMS, MX_SIM_WARNINGS,
 * MX_SIM_REPORT and MX_SIM_RECORD set the same options. */
MX_API int mxSetSimulatorOption(const char *option, const char *value);

/* Handler for findings of simulator launches that succeed: findings of class
 * warning, and every finding of a kernel that was launched by mgpu* and ran
 * to completion. The option "warnings" selects: "print" (default) passes the
 * text to the handler, or to standard error without a handler; "error" fails
 * the launch with MX_ERROR_CHECK; "none" drops the findings. Each kind of
 * finding is reported once per source line of a module.
 *
 * The handler runs in the launching thread before the launch returns, and
 * may call this interface. `text` ends in a newline and is valid only during
 * the call. */
typedef void (*mxWarningHandler)(const char *text, void *data);
MX_API void mxSetWarningHandler(mxWarningHandler handler, void *data);

/* Lets another thread interrupt launches of this thread on the simulator. As
 * soon as *flag is nonzero, current and new launches return
 * MX_ERROR_INTERRUPTED. Data written by an interrupted kernel is undefined;
 * everything else stays usable. A GPU ignores the flag. `flag` must stay valid
 * until the next call; null, the default, disables interrupts. */
MX_API void mxSetThreadInterrupt(const int32_t *flag);

/* Counters of the simulator, accumulated over all launches on all devices of
 * the process. */
typedef struct mxSimulatorCounters {
  size_t structSize; /* sizeof(mxSimulatorCounters), set by the caller */
  int64_t launches, warpInstructions, mmas, tmaBytes;
} mxSimulatorCounters;
MX_API int mxGetSimulatorCounters(mxSimulatorCounters *counters);

/*===----------------------------------------------------------------------===*
 * Streams and memory
 *===----------------------------------------------------------------------===*/

/* The driver's CUstream on a GPU, so streams of other libraries can be passed.
 * Null selects a default stream: on the device that owns the call's memory or
 * kernel, or on the current device if the call has neither. */
typedef void *mxStream;

MX_API int mxStreamCreate(mxStream *stream);
MX_API int mxStreamDestroy(mxStream stream);
MX_API int mxStreamSynchronize(mxStream stream);
/* Orders future work on `stream` after all work queued on `other` so far. The
 * host does not wait, and a CUDA graph may capture both streams. The streams
 * may belong to different devices. A null stream is the default stream of the
 * device that owns the other stream. */
MX_API int mxStreamWait(mxStream stream, mxStream other);
/* Waits for all work on the current device. */
MX_API int mxSynchronize(void);

/* A timestamp in a stream: the driver's CUevent, on the device that is current
 * at creation. On the simulator, events record modeled time and require the
 * option "time"; without it mxEventCreate returns MX_ERROR_UNSUPPORTED. */
typedef void *mxEvent;

MX_API int mxEventCreate(mxEvent *event);
MX_API int mxEventDestroy(mxEvent event);
/* Records the event after all work queued on the stream so far. */
MX_API int mxEventRecord(mxEvent event, mxStream stream);
/* Computes the microseconds between two recorded events. Waits for the second
 * event. */
MX_API int mxEventElapsed(mxEvent begin, mxEvent end, double *microseconds);

/* Allocates memory on the current device, aligned to at least 256 bytes. For
 * zero bytes the address is valid but must not be accessed. */
MX_API int mxMemAlloc(void **memory, size_t bytes);
MX_API int mxMemFree(void *memory);
/* Stream-ordered copies. Host memory must stay valid until the stream is
 * synchronized. With a null stream the copy is complete when the call
 * returns. */
MX_API int mxMemcpyToDevice(void *to, const void *from, size_t bytes,
                            mxStream stream);
MX_API int mxMemcpyToHost(void *to, const void *from, size_t bytes,
                          mxStream stream);
/* Copies within a device, or between two devices of the same kind. */
MX_API int mxMemcpyOnDevice(void *to, const void *from, size_t bytes,
                            mxStream stream);
MX_API int mxMemset(void *memory, uint8_t byte, size_t bytes, mxStream stream);

/*===----------------------------------------------------------------------===*
 * Modules and launches
 *===----------------------------------------------------------------------===*/

/* Handles contain a serial number instead of an address, so the handle of a
 * destroyed object is refused for the life of the process. */
typedef struct mxModuleImpl *mxModule;
typedef struct mxFunctionImpl *mxFunction;

/* Loads PTX text, a cubin or a fatbin on the current device. `bytes` may be 0
 * for NUL-terminated text and for complete cubins and fatbins, which record
 * their size. The simulator accepts PTX text, fatbins that contain PTX, and
 * cubins that embed their PTX source. `name` is used in messages and may be
 * null. */
MX_API int mxModuleLoad(mxModule *module, const void *image, size_t bytes,
                        const char *name);
/* Unloads a module and its functions. Concurrent launches by other threads
 * complete as if the module were still loaded. */
MX_API int mxModuleUnload(mxModule module);
MX_API int mxModuleGetFunction(mxFunction *function, mxModule module,
                               const char *name);

enum {
  /* Programmatic dependent launch: the kernel may start before the previous
   * kernel of the stream ends, and synchronizes with griddepcontrol. */
  MX_LAUNCH_PROGRAMMATIC = 1,
  /* Cooperative launch: all blocks are resident, so the grid can synchronize
   * (grid.sync of cooperative groups). Grids that do not fit are refused. */
  MX_LAUNCH_COOPERATIVE = 2
};

typedef struct mxLaunchConfig {
  size_t structSize;           /* sizeof(mxLaunchConfig), set by the caller */
  int64_t grid[3];             /* in blocks; a zero skips the launch */
  int64_t block[3];            /* in threads */
  int64_t cluster[3];          /* in blocks; 0, 0, 0: as compiled */
  int64_t dynamicSharedMemory; /* bytes; raises the kernel's limit if needed */
  mxStream stream;
  int32_t flags;
} mxLaunchConfig;

/* Returns memory on the current device initialized with `bytes` bytes of
 * `data`, or null after an error. Called by host code from mx-opt --mx-to-nvvm.
 * `*place` caches the memory, so data is copied once for each device. The
 * memory lives as long as the process. */
MX_API void *mxLoadConstant(void **place, const void *data, int64_t bytes);

/* Sets the flags of this thread's next mgpuLaunchKernel or
 * mgpuLaunchClusterKernel, whose signatures take no flags. They apply to a
 * single launch, successful or not. */
MX_API void mxNextLaunchFlags(int32_t flags);

/* Launches a kernel. `parameters[i]` points to the value of parameter i.
 * `count` is checked against the kernel; -1 skips the check. Asynchronous on a
 * GPU. The simulator runs the kernel to completion and returns its findings as
 * the error text. */
MX_API int mxLaunch(mxFunction function, const mxLaunchConfig *config,
                    void **parameters, int64_t count);

/* Receives text that is valid only during the call. */
typedef void (*mxTextHandler)(const char *text, void *data);

/* Passes a JSON description of a module of the simulator to `handler`: the
 * target, the kernels with their parameters, and the variables with their
 * addresses. `kernel`, unless null, selects the kernels with the best-matching
 * mangled or C++ name, in which namespaces and arguments may be omitted. */
MX_API int mxModuleDescribe(mxModule module, const char *kernel,
                            mxTextHandler handler, void *data);

/* Settings of a single launch on the simulator. */
typedef struct mxReportedLaunch {
  size_t structSize; /* sizeof(mxReportedLaunch), set by the caller */
  /* Options of mxSetSimulatorOption in place of those of the process: name,
   * value, name, ..., and a null at the end. May be null. */
  const char *const *options;
  /* Host memory that the kernel may access, with its bytes and names in
   * reports. Ranges must not overlap. */
  void *const *memory;
  const int64_t *memoryBytes;
  const char *const *memoryNames;
  int64_t memoryCount;
  mxTextHandler report; /* receives the JSON report; must not be null */
  void *data;
} mxReportedLaunch;
/* Launches a kernel like mxLaunch, on the simulator only. Succeeds whatever the
 * findings, and passes them on as JSON (simulator/docs/Reports.md). */
MX_API int mxLaunchReported(mxFunction function, const mxLaunchConfig *config,
                            void **parameters, int64_t count,
                            const mxReportedLaunch *reported);

/*===----------------------------------------------------------------------===*
 * Tensor maps
 *===----------------------------------------------------------------------===*/

/* Encodes a 128-byte tensor map for the device of `globalAddress`. Enumerations
 * have the driver's values (CUtensorMapDataType and so on). `dims` are in
 * elements, innermost first; `strides` are in bytes, for dimensions 1 and up;
 * `elementStrides` may be null for all 1. A dimension of 0 writes 128 zero
 * bytes and succeeds, because a kernel without work does not read the map. */
MX_API int mxTensorMapEncodeTiled(void *map, int32_t dataType, int32_t rank,
                                  void *globalAddress, const int64_t *dims,
                                  const int64_t *strides, const int32_t *box,
                                  const int32_t *elementStrides,
                                  int32_t interleave, int32_t swizzle,
                                  int32_t l2Promotion, int32_t oobFill);

#ifdef __cplusplus
}

/* Returns a zeroed struct of the interface with `structSize` set. */
template <typename T>
T mxSized() {
  T result = T();
  result.structSize = sizeof(T);
  return result;
}
#endif

#endif /* MX_RUNTIME_H */
