/*===- mx_runtime.h - Load and launch kernels on a GPU or the simulator ---===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* The C interface of libmx_runtime. It needs neither CUDA nor LLVM: the      *|
|* driver is loaded when a GPU is first asked for. Every function may be      *|
|* called from any thread. Device memory is addressed by plain pointers that  *|
|* the host must not dereference.                                             *|
|*                                                                            *|
|* Memory, streams, modules and programs know their device, and each call     *|
|* uses that of what it is given. The device in use, which belongs to the     *|
|* thread, is for what is made anew and for the default stream.               *|
|*                                                                            *|
|* The library never ends the process unless it is asked to (MX_ERRORS_EXIT), *|
|* and sets no signal handler.                                                *|
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

/* The version of this interface, and the SOVERSION of the library. Within it
 * functions are only added and structs only grow at their end, so a program
 * runs with any library of its version that is not older than its header. */
#define MX_INTERFACE_VERSION 1
/* That of the library. */
MX_API int mxGetInterfaceVersion(void);

/* Every struct begins with its size, which the caller sets:
 *   mxDeviceInfo info = {.structSize = sizeof(info)};
 * A caller of an older header has a smaller struct; the library writes no more
 * than that, and takes zeros for what it lacks. A larger one, of a newer
 * header, is taken if what this library does not know is zero. */

/*===----------------------------------------------------------------------===*
 * Errors
 *===----------------------------------------------------------------------===*/

/* Every function that can fail returns one of these as an int. */
typedef enum mxStatus {
  MX_SUCCESS = 0,
  MX_ERROR_INVALID_VALUE = 1, /* an argument is wrong; nothing was done */
  MX_ERROR_NO_DEVICE = 2,     /* no driver, no GPU, or an unusable one */
  MX_ERROR_OUT_OF_MEMORY = 3,
  MX_ERROR_BAD_MODULE = 4,   /* text or image that does not load */
  MX_ERROR_WRONG_TARGET = 5, /* a module for another GPU */
  MX_ERROR_NOT_FOUND = 6,    /* no kernel of that name */
  MX_ERROR_BAD_LAUNCH = 7,   /* a launch that the device refuses */
  MX_ERROR_UNSUPPORTED = 8,  /* this device cannot do it */
  MX_ERROR_CHECK = 9,        /* the simulator found a fault in a kernel */
  MX_ERROR_DEADLOCK = 10,    /* the simulator found a deadlock */
  MX_ERROR_KERNEL = 11,      /* a kernel failed on the GPU */
  MX_ERROR_DRIVER = 12,      /* any other error of the driver */
  MX_ERROR_INTERRUPTED = 13, /* mxSetThreadInterrupt ended a launch */
  MX_ERROR_INTERNAL = 14,    /* a defect of the library */
  MX_ERROR_PEER = 15,        /* another rank of a group ended it, or left */
  MX_ERROR_TIMEOUT = 16,     /* another rank of a group did not come in time */
  MX_ERROR_MISMATCH = 17     /* ranks of a group differ in what must agree */
} mxStatus;

/* The version and commit of the library: "0.1.0+52934cd0f1ab". */
MX_API const char *mxGetVersion(void);

/* "deadlock", "bad launch", ...; "unknown status" for other numbers. */
MX_API const char *mxStatusName(int status);

/* Errors belong to the thread in which they arise: another thread does not see
 * them. The text and the status of the first error of this thread since its
 * last mxClearError; "" and MX_SUCCESS if there was none. The text is never
 * null and stays valid until the thread has its next error or clears it. */
MX_API const char *mxGetLastError(void);
MX_API int mxGetLastStatus(void);
/* Text of the latest error of this thread: of the call that just failed in it.
 * "" if there was none; mxClearError leaves it. It stays valid until the next
 * error of the thread. */
MX_API const char *mxGetThreadError(void);
MX_API void mxClearError(void);

/* Records an error found by compiled host code, such as sizes that do not
 * match, with a printf format and its values. Obeys the error policy. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
MX_API void mxReportError(const char *format, ...);

/* What happens when an error is recorded, in all threads of the process:
 *   print   the text goes to standard error, the call returns its status; so
 *           it is by default, as generated host code calls functions that have
 *           no status to return (mgpu*);
 *   return  nothing is printed: for a host that looks at the statuses;
 *   exit    the text is printed and the process ends with status 1: for hosts
 *           that run such code and look at nothing (mlir-runner).
 * The environment variable MX_ERRORS (print, return, exit) decides until a call
 * does. After an error the mgpu* functions that do something new do nothing in
 * that thread until the error is cleared. What they print begins with the line
 * of MLIR's own wrappers: "'cuModuleGetFunction' failed with
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

/* Chooses the device in use: "cuda", "cuda:N", "sim", "sim:N" or "auto". The
 * choice is the thread's. Threads that have made none use the choice of the
 * thread that made one first. Without any, the environment variable MX_DEVICE
 * decides, and without that "auto": the first GPU that can run `target`
 * ("sm_100a"; null: any GPU of compute capability 9.0 or later), else the
 * simulator. "auto" is decided when a device is first needed, by the target of
 * the module if that is loaded first; mxSetDeviceForTarget decides at once, and
 * takes null as a name for what would hold without a call.
 *
 * The simulator has one device, or as many as MX_SIM_DEVICES says (1 to 16);
 * each has memory of its own, and kernels on different ones run side by side.
 */
MX_API int mxSetDevice(const char *name);
MX_API int mxSetDeviceForTarget(const char *name, const char *target);
/* Puts a device over that choice, for this thread alone, until null takes it
 * away or mxSetDevice chooses anew. */
MX_API int mxSetThreadDevice(const char *name);

typedef struct mxDeviceInfo {
  size_t structSize; /* sizeof(mxDeviceInfo), set by the caller */
  char kind[16];     /* "cuda" or "sim" */
  char name[256];    /* the product's name */
  int32_t multiprocessors;
  int32_t capabilityMajor, capabilityMinor;
  int64_t sharedMemoryPerBlock; /* largest dynamic shared memory */
  int64_t globalMemory;
  char device[16]; /* as mxSetDevice takes it: "cuda:1", "sim:0" */
} mxDeviceInfo;
/* Of the device in use. */
MX_API int mxGetDeviceInfo(mxDeviceInfo *info);
/* Of the device of an address; MX_ERROR_NOT_FOUND for memory of the host, and
 * for what no device in use has. */
MX_API int mxGetMemoryDevice(const void *memory, mxDeviceInfo *info);
/* The same number as in mxDeviceInfo; 0 on error. */
MX_API int32_t mxMultiprocessorCount(void);

/* The N of "cuda:N"; -1 on the simulator. */
MX_API int mxGetDeviceNumber(int32_t *number);

/* Whether a kernel for `target` can run on the current device: 1 or 0, without
 * recording an error. The simulator runs sm_90a, sm_100a, sm_100f, sm_103a,
 * sm_103f, and without a suffix all targets up to sm_103. */
MX_API int mxCanRunTarget(const char *target);

/* Options of the simulator, as text: "seed", "checks" (all, none or a list of
 * names), "sm-count", "instruction-limit", "jobs" (threads of the host; 0: one
 * per core), "tensor-sums" (exact or truncated), "warnings" (print, error or
 * none), "report" (a file for a report of all launches in JSON), "record" (a
 * directory for launches as files that mx-sim repeats). MX_SIM_SEED,
 * MX_SIM_CHECKS, MX_SIM_SM_COUNT, MX_SIM_INSTRUCTION_LIMIT, MX_SIM_JOBS,
 * MX_SIM_TENSOR_SUMS, MX_SIM_WARNINGS, MX_SIM_REPORT and MX_SIM_RECORD set them
 * from outside. Without effect on a GPU. */
MX_API int mxSetSimulatorOption(const char *option, const char *value);

/* A launch on the simulator may succeed and still have findings: those of class
 * warning, and all findings of a kernel that was launched by mgpu* and ran to
 * its end. With the option "warnings" at its default, print, their text goes to
 * the handler, or to standard error where the handler is null. With error the
 * launch fails with MX_ERROR_CHECK; with none the findings are dropped. A line
 * of a module is told once for each kind of finding.
 *
 * The handler is called in the thread that launches, before its launch returns,
 * and may call functions of this interface. `text` ends in a newline and is
 * valid during the call. */
typedef void (*mxWarningHandler)(const char *text, void *data);
MX_API void mxSetWarningHandler(mxWarningHandler handler, void *data);

/* Lets another thread end the launches of this one. From now on a launch of
 * this thread on the simulator returns MX_ERROR_INTERRUPTED soon after *flag is
 * not 0, and a launch that begins then returns it at once. What the kernel
 * writes is undefined afterwards; everything else can be used as before. A GPU
 * cannot be interrupted, and ignores it. `flag` must stay valid until the next
 * call; NULL, as at the beginning: nothing ends launches. */
MX_API void mxSetThreadInterrupt(const int32_t *flag);

/* Counters of the simulator, summed over all launches of the process on all of
 * its devices. */
typedef struct mxSimulatorCounters {
  size_t structSize; /* sizeof(mxSimulatorCounters), set by the caller */
  int64_t launches, warpInstructions, mmas, tmaBytes;
} mxSimulatorCounters;
MX_API int mxGetSimulatorCounters(mxSimulatorCounters *counters);

/*===----------------------------------------------------------------------===*
 * Streams and memory
 *===----------------------------------------------------------------------===*/

/* On a GPU this is the driver's CUstream, so the stream of another library can
 * be passed. Null is the default stream: of the device of the memory or the
 * kernel where the call has one, else of the device in use. */
typedef void *mxStream;

MX_API int mxStreamCreate(mxStream *stream);
MX_API int mxStreamDestroy(mxStream stream);
MX_API int mxStreamSynchronize(mxStream stream);
/* What is put on `stream` from now on comes after all that is on `other` now.
 * The host does not wait, and both may be captured in one CUDA graph. They may
 * be of two devices; null is the default stream of the other one's. */
MX_API int mxStreamWait(mxStream stream, mxStream other);
/* Waits for everything on the device in use. */
MX_API int mxSynchronize(void);

/* A place in a stream, whose time a GPU writes down when it gets there: the
 * driver's CUevent. It is of the device in use when it is made. The simulator
 * has modelled time with its option "time"; without it, it refuses to make one
 * (MX_ERROR_UNSUPPORTED). */
typedef void *mxEvent;

MX_API int mxEventCreate(mxEvent *event);
MX_API int mxEventDestroy(mxEvent event);
/* Puts the event at the end of what is on the stream now. */
MX_API int mxEventRecord(mxEvent event, mxStream stream);
/* Microseconds from one recorded event to another; waits for the second. */
MX_API int mxEventElapsed(mxEvent begin, mxEvent end, double *microseconds);

/* On the device in use. At least 256-byte aligned; zero bytes give an address
 * that holds nothing. */
MX_API int mxMemAlloc(void **memory, size_t bytes);
MX_API int mxMemFree(void *memory);
/* Ordered in the stream. Memory of the host must stay until the stream has
 * been synchronised, unless the stream is null: then the copy is complete. */
MX_API int mxMemcpyToDevice(void *to, const void *from, size_t bytes,
                            mxStream stream);
MX_API int mxMemcpyToHost(void *to, const void *from, size_t bytes,
                          mxStream stream);
/* Also from one device to another of its kind. */
MX_API int mxMemcpyOnDevice(void *to, const void *from, size_t bytes,
                            mxStream stream);
MX_API int mxMemset(void *memory, uint8_t byte, size_t bytes, mxStream stream);

/*===----------------------------------------------------------------------===*
 * Modules and launches
 *===----------------------------------------------------------------------===*/

/* Handles are numbers with a serial, of no meaning as addresses. One whose
 * object is gone is refused for as long as the process lives. */
typedef struct mxModuleImpl *mxModule;
typedef struct mxFunctionImpl *mxFunction;

/* Loads a module on the device in use. PTX text, a cubin or a fatbin. `bytes`
 * may be 0 for text that ends in NUL, and for a whole cubin or fatbin, whose
 * headers say where it ends. The simulator takes PTX, also from fatbins and
 * from cubins that carry their source. `name` stands in messages and may be
 * null. */
MX_API int mxModuleLoad(mxModule *module, const void *image, size_t bytes,
                        const char *name);
/* Its functions are gone with it. Other threads may be launching them: their
 * calls end as if the module were there. */
MX_API int mxModuleUnload(mxModule module);
MX_API int mxModuleGetFunction(mxFunction *function, mxModule module,
                               const char *name);

enum {
  /* Programmatic dependent launch: the kernel may start before the one before
   * it in the stream has ended, and orders itself by griddepcontrol. */
  MX_LAUNCH_PROGRAMMATIC = 1,
  /* Cooperative launch: all blocks are on the device together, so that the grid
   * can synchronise (grid.sync of cooperative groups). A grid that does not fit
   * is refused. */
  MX_LAUNCH_COOPERATIVE = 2
};

typedef struct mxLaunchConfig {
  size_t structSize;  /* sizeof(mxLaunchConfig), set by the caller */
  int64_t grid[3];    /* in blocks; a zero skips the launch silently */
  int64_t block[3];   /* in threads */
  int64_t cluster[3]; /* in blocks; 0, 0, 0: as the kernel was compiled */
  int64_t dynamicSharedMemory; /* bytes; the kernel's limit is raised to it */
  mxStream stream;
  int32_t flags;
} mxLaunchConfig;

/* For host code that mx-opt --mx-to-nvvm makes. Memory of the device in use
 * with the `bytes` bytes of `data`; `*place` keeps it, so that only the first
 * call on a device copies. It lives as long as the process. Null after an
 * error. */
MX_API void *mxLoadConstant(void **place, const void *data, int64_t bytes);

/* Flags of the next launch of this thread by mgpuLaunchKernel or
 * mgpuLaunchClusterKernel, whose signatures have no place for them. They hold
 * for that one, whatever becomes of it. */
MX_API void mxNextLaunchFlags(int32_t flags);

/* `parameters[i]` points at the value of parameter i; `count` is compared with
 * the kernel, or -1 when the caller does not know. Asynchronous on a GPU; the
 * simulator runs the kernel to its end, and what it found is the error text. */
MX_API int mxLaunch(mxFunction function, const mxLaunchConfig *config,
                    void **parameters, int64_t count);

/*===----------------------------------------------------------------------===*
 * Tensor maps
 *===----------------------------------------------------------------------===*/

/* Writes the 128 bytes of a tensor map for the device of the address. Numbers
 * of the enumerations are the driver's (CUtensorMapDataType and so on). `dims`
 * are in elements, innermost first; `strides` in bytes, of dimensions 1 and up;
 * `elementStrides` may be null for all ones. A dimension of 0 gives 128 zero
 * bytes and success: a kernel with nothing to do does not use the map. */
MX_API int mxTensorMapEncodeTiled(void *map, int32_t dataType, int32_t rank,
                                  void *globalAddress, const int64_t *dims,
                                  const int64_t *strides, const int32_t *box,
                                  const int32_t *elementStrides,
                                  int32_t interleave, int32_t swizzle,
                                  int32_t l2Promotion, int32_t oobFill);

#ifdef __cplusplus
}

/* A struct of the interface with its size, and zeros otherwise. */
template <typename T>
T mxSized() {
  T result = T();
  result.structSize = sizeof(T);
  return result;
}
#endif

#endif /* MX_RUNTIME_H */
