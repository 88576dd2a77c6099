//===- Session.h - State of a CUDA program on the simulator -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's driver and runtime interfaces over the simulator. Each operation is
// complete when its call returns, a legal order for all uses of streams and
// events. Handles of the driver interface are addresses of the classes below;
// the runtime interface shares them. Status codes of both interfaces are equal.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_CUDA_SESSION_H
#define MXSIM_CUDA_SESSION_H

#include "mxsim/Image.h"
#include "mxsim/Report.h"
#include "mxsim/RunOptions.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <typeindex>

namespace mx::sim::cuda {

using Status = CUresult;

/// A kind of GPU. Sizes are in bytes.
struct Chip {
  std::string_view name; ///< value of `--chip`
  const char *product;
  ComputeCapability capability;
  uint32_t sms, sharedPerSm, sharedPerBlock, l2;
  int clockKhz, memoryClockKhz, busBits;
};

/// Memory that kernels can access, keyed by address.
struct Block {
  enum Kind { Device, Pinned, Managed, Registered } kind = Device;
  size_t bytes = 0;
  int device = 0;
  unsigned flags = 0;
  bool isOfGraph = false;
};

struct Context {
  int device = 0;
  unsigned flags = 0;
  std::map<int, size_t> limits{};
};

struct Device {
  explicit Device(int ordinal, uint64_t bytes) : memory(bytes, unsigned(ordinal)), primary{ordinal, 0, {}} {}
  DeviceMemory memory;
  Context primary;
  std::set<int> peers; ///< devices whose memory this device may access
};

/// Image of a module. Each device has its own copy of the variables.
struct Program {
  std::string name;
  Image newest; ///< PTX for the newest architecture, once read
  const void *image = nullptr;
  size_t imageBytes = 0; ///< 0: encoded in the image
  std::unique_ptr<char[]> copy;
  std::map<int, std::unique_ptr<Module>> modules;
  std::map<std::string, std::unique_ptr<struct Function>> functions;
  /// Pointers of the host program to managed variables, by name.
  std::map<std::string, void **> managed;

  /// Returns the module on a device, or on the current one. It is loaded on first use.
  Module &on(int device);
  Module &here();
  /// Reads `newest`. Returns an error message or an empty string.
  std::string read();
  /// Returns a function, which is made on first use.
  struct Function &function(const std::string &name);
};

struct Function {
  Program *program;
  std::string name;
  int maxDynamicShared = -1; ///< as set by the program, or -1
  bool nonPortableCluster = false;
  Dim3 requiredCluster = {0, 0, 0};

  const KernelInfo &info() const;
  /// Returns the limit of dynamic shared memory.
  int mostShared() const {
    return maxDynamicShared >= 0 ? maxDynamicShared : std::max(0, (48 << 10) - int(info().staticSharedBytes));
  }
};

struct Event {
  double microseconds = -1; ///< of the last record, or -1
  /// Nodes of the capture that recorded the event.
  struct Graph *graph = nullptr;
  std::vector<struct Node *> nodes{};
};

struct Stream {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  /// The graph under capture, and the nodes that the next operation follows.
  struct Graph *capture = nullptr;
  std::vector<struct Node *> last{};
  bool beganCapture = false;
  std::map<int, cudaLaunchAttributeValue> attributes{};
};

/// One end of a copy. Pitch and height describe rows and planes.
struct Place {
  Place(uint64_t address = 0, size_t pitch = 0, size_t height = 0) : address(address), pitch(pitch), height(height) {}
  Place(const void *start, size_t pitch = 0, size_t height = 0) : Place(uint64_t(start), pitch, height) {}
  uint64_t address;
  size_t pitch, height;
};

/// Work in a stream, or of a node in a graph.
struct Operation {
  CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;
  // Kernels.
  Function *function = nullptr;
  Dim3 grid{}, block{}, cluster = {0, 0, 0};
  uint32_t dynamicShared = 0;
  bool isProgrammatic = false, isCooperative = false;
  std::vector<uint8_t> parameters{};
  // Copies and fills.
  Place to{}, from{};
  size_t width = 0, rows = 1, planes = 1; ///< width in bytes
  uint32_t value = 0;
  unsigned valueBytes = 1;
  // Calls of the host, events, graphs within graphs.
  void (*call)(void *) = nullptr;
  void *data = nullptr;
  Event *event = nullptr;
  std::shared_ptr<Graph> graph{};
};

struct Node {
  Graph *graph = nullptr;
  Operation operation;
  std::vector<Node *> after; ///< dependencies
  bool isEnabled = true;
  const Node *origin = nullptr; ///< node of which this is a copy
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

  ~Graph();
  Node *add(Operation operation, std::vector<Node *> after);
  std::shared_ptr<Graph> clone() const;
  /// Returns the nodes, each after its dependencies; fewer if there is a cycle.
  std::vector<Node *> order() const;
};

/// Process-wide state. Calls of both interfaces lock `mutex`.
class Session {
public:
  static Session &get();

  std::recursive_mutex mutex;
  RunOptions options;
  const Chip *chip = nullptr;
  std::vector<std::unique_ptr<Device>> devices;
  std::map<uint64_t, Block> blocks;
  std::vector<std::unique_ptr<Program>> programs;
  std::map<const void *, Function *> kernels; ///< by host function
  /// Variables by host address: program, name, bytes.
  std::map<const void *, std::pair<Program *, std::string>> variables;
  /// Live objects, and their types.
  std::map<const void *, std::type_index> handles;
  double modelled = 0; ///< microseconds of timed launches
  Status sticky = CUDA_SUCCESS;

  Device &device() { return *devices[size_t(current())]; }
  int &current();

  /// Selects the chip and creates the devices on first use.
  void start();
  /// Waits for all launches, for the check of programmatic launches.
  void settle();
  void launch(const Operation &kernel, int device);
  /// Reports `why` once for each text, and returns `status`.
  Status report(Status status, const std::string &why);

private:
  void note(const LaunchReport &report, const Image &image);

  std::set<std::string> printed;
  std::set<std::tuple<std::string, int, unsigned>> found;
};

/// Last error of the runtime interface in this thread.
extern thread_local cudaError_t lastError;

// The calls of interface functions end with the status that their bodies throw.
[[noreturn]] inline void fail(Status status, const std::string &why) { throw Session::get().report(status, why); }
[[noreturn]] inline void invalid(const std::string &why) { fail(CUDA_ERROR_INVALID_VALUE, why); }
inline void require(bool condition, Status otherwise = CUDA_ERROR_INVALID_VALUE) {
  if (!condition)
    throw otherwise;
}

/// Runs the body of an interface function. `needsStart` is false for functions
/// that work without a device.
Status run(const char *name, bool isRuntime, const std::function<void()> &body, bool needsStart = true);

#define MX_PUBLIC extern "C" __attribute__((visibility("default")))
// Defines a function of the driver or of the runtime interface.
#define MX_DRIVER(name, parameters, ...)                                                                               \
  MX_PUBLIC CUresult CUDAAPI name parameters { return run(MX_TEXT(name), false, [&] __VA_ARGS__); }
#define MX_RUNTIME(name, parameters, ...)                                                                              \
  MX_PUBLIC cudaError_t CUDARTAPI name parameters { return cudaError_t(run(MX_TEXT(name), true, [&] __VA_ARGS__)); }
// A function of both interfaces.
#define MX_BOTH(driver, runtime, parameters, ...)                                                                      \
  MX_DRIVER(driver, parameters, __VA_ARGS__)                                                                           \
  MX_RUNTIME(runtime, parameters, __VA_ARGS__)
// A function that submits an operation, and its variant for a stream.
#define MX_WORK(INTERFACE, name, parameters, ...)                                                                      \
  INTERFACE(name, parameters, { submit(nullptr, __VA_ARGS__); })                                                       \
  INTERFACE(name##Async, (MX_LIST parameters, CUstream stream), { submit(stream, __VA_ARGS__); })
#define MX_LIST(...) __VA_ARGS__
#define MX_TEXT(name) MX_TEXT_OF(name)
#define MX_TEXT_OF(name) #name

// Services of the files of this folder.
/// Returns the address of new memory.
uint64_t allocate(size_t bytes, Block::Kind kind = Block::Device, unsigned flags = 0);
void release(uint64_t address);
void perform(const Operation &operation, Stream &stream);
/// Runs the operation, or adds it to the graph that the stream captures.
void submit(CUstream stream, Operation operation);
/// Returns a device by number.
Device &deviceAt(int ordinal);
/// Returns the stream of a handle, also of the default streams.
Stream &streamOf(CUstream stream);
void runGraph(const Graph &graph, Stream &stream);
Function &functionOf(const void *handle);
/// Reads launch attributes. Both interfaces share their layout.
void readAttributes(const cudaLaunchAttribute *attributes, unsigned count, Operation &work);
double now(); ///< microseconds: modelled with --time, else of the host

inline Dim3 of(dim3 d) { return {d.x, d.y, d.z}; }

// Operations. Copies count widths in bytes, fills in values.
Operation kernelOf(const void *kernel, Dim3 grid, Dim3 block, size_t dynamicShared, void **arguments, void **extra,
    Operation work = {});
Operation copyOf(Place to, Place from, size_t width, size_t rows = 1, size_t planes = 1);
Operation copyOf(const cudaMemcpy3DParms &copy);
Operation fillOf(Place to, uint32_t value, unsigned valueBytes, size_t width, size_t rows = 1, size_t planes = 1);
Operation hostOf(void (*call)(void *), void *data);

template <typename T>
bool isLive(const T *handle) {
  auto &handles = Session::get().handles;
  auto found = handles.find(handle);
  return found != handles.end() && found->second == typeid(T);
}
/// Returns the object of a handle.
template <typename T, typename Handle>
T &live(Handle handle, Status otherwise = CUDA_ERROR_INVALID_VALUE) {
  auto *object = reinterpret_cast<T *>(handle);
  require(isLive(object), otherwise);
  return *object;
}
template <typename T>
void enter(T *handle) {
  Session::get().handles.insert_or_assign(handle, typeid(T));
}
template <typename T, typename... Values>
T *make(Values &&...values) {
  T *made = new T{std::forward<Values>(values)...};
  enter(made);
  return made;
}
/// Returns the default object of a device, which is made on first use.
template <typename T>
T &defaultOf(int device) {
  static std::map<int, T *> made;
  T *&found = made[device];
  if (!found)
    found = make<T>(device);
  return *found;
}
template <typename T>
void destroy(T &object) {
  Session::get().handles.erase(&object);
  delete &object;
}

} // namespace mx::sim::cuda

#endif // MXSIM_CUDA_SESSION_H
