//===- Plan.h - Host part of compiled programs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host part of a compiled entry as data: kernel launches in order, with
// grids, tensor maps and locations of intermediate results. The compiler writes
// a manifest (docs/reference/Manifest.md), and the runtime executes it without
// MLIR or LLVM. Tables contain values known before a call. Steps compute values
// that depend on loops or on numbers read from memory.
//===----------------------------------------------------------------------===//

#ifndef MX_PLAN_PLAN_H
#define MX_PLAN_PLAN_H

#include "mx/Plan/Expression.h"
#include "mx/Target/TensorMap.h"

#include <vector>

namespace mx::plan {

/// Version of the manifest format. Readers reject other versions.
inline constexpr int64_t kFormat = 5;
/// Alignment of the workspace, its buffers, and constants on the device and in
/// their file, in bytes.
inline constexpr int64_t kWorkspaceAlignment = 256;
/// Alignment of arrays in device memory in bytes: kernels use 16-byte accesses.
inline constexpr int64_t kArrayAlignment = 16;
/// Extent that is read from the array of an argument at run time.
inline constexpr int64_t kDynamic = -1;

/// Maximum number of steps per call, which counts every loop iteration, so
/// that each call terminates. This number of steps takes about a second.
inline constexpr int64_t kMaxSteps = int64_t(1) << 25;

/// Maximum number of collectives beside other steps at a time.
inline constexpr unsigned kMaxTokens = 64;

/// Maximum nesting of blocks, limited by the nesting that Json.cpp reads.
inline constexpr size_t kMaxDepth = 32;

/// Reference to device memory: an argument or result of the caller, a slice of
/// the workspace, a constant, a window of a rank group, or a buffer that a step
/// chooses. Memory that a step allocates is Taken, but only after resolve().
struct Buffer {
  enum Kind : uint8_t {
    Argument,
    Result,
    Work,
    Constant,
    Window,
    Chosen,
    Taken
  };
  Kind kind = Argument;
  unsigned index = 0;

  bool operator==(const Buffer &other) const {
    return kind == other.kind && index == other.index;
  }
  /// Returns "arg0", "result0", "work0", "const0", "win0" or "buf0".
  std::string str() const;
  static std::optional<Buffer> parse(std::string_view text);
  /// Returns the address of the buffer, which must not be Taken.
  Number getAddress() const;
};

/// Argument or result: a number, or an array (`dtype` without byte order).
struct Value {
  std::string name;
  /// MLIR type, for display.
  std::string type;
  std::string dtype;
  bool isNumber = false;
};

struct Argument : Value {
  /// kDynamic for any extent.
  std::vector<int64_t> shape;
};

struct Result : Value {
  std::vector<Number> shape;
  /// Value of a result that is a number.
  Number value;
  /// True if the shape is known only at run time. The call then allocates the
  /// memory and returns the final value of `buffer`.
  bool isTaken = false;
  Buffer buffer;
};

/// Condition checked before any launch; `values` replace "{}" in `message`.
struct Requirement {
  Number condition;
  std::string message;
  std::vector<Number> values;
};

/// Slice of the workspace.
struct WorkBuffer {
  Number offset, bytes;
};

/// Ranks that run the program together.
struct RankGroup {
  std::string name;
  int64_t size = 1;
  /// Maximum number of tokens per rank; determines the rows of windows.
  int64_t tokens = 0;
};

/// Slice of a rank group's memory that receives rows from all ranks.
struct Window {
  unsigned group = 0;
  /// Multiple of kWorkspaceAlignment.
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Arguments of cuTensorMapEncodeTiled. Dimensions are innermost first, in
/// elements; strides are in bytes and start at dimension 1.
struct TensorMap {
  Buffer buffer;
  /// Offset in bytes.
  Number offset;
  target::TensorMapType type = target::TensorMapType::U8;
  std::vector<Number> dims, strides;
  std::vector<int64_t> box;
  Swizzle swizzle = Swizzle::None;
  target::TensorMapL2 l2 = target::TensorMapL2::None;
  target::TensorMapFill fill = target::TensorMapFill::Zero;
};

/// Parameter of a kernel.
struct Parameter {
  enum Kind : uint8_t {
    Pointer,   ///< address of `buffer` plus `number` bytes
    TensorMap, ///< 128 bytes of tensor map `index`
    Integer,   ///< `number` in `bytes` bytes
    Float,     ///< float of `bytes` bytes with the bits `number`
    Argument,  ///< number passed as argument `index`
    Bytes      ///< `data`
  };
  Kind kind = Integer;
  Buffer buffer;
  unsigned index = 0;
  Number number;
  unsigned bytes = 8;
  std::vector<uint8_t> data;
};

/// Number or buffer.
struct Operand {
  Operand() = default;
  Operand(Number number) : number(number) {}
  Operand(Buffer buffer) : isBuffer(true), buffer(buffer) {}
  bool isBuffer = false;
  Number number;
  Buffer buffer;
};

struct Step;

/// Running collectives of a block, in order.
class RunningCollectives {
public:
  /// Starts a collective and returns its token, the lowest that is free.
  unsigned start(unsigned group);
  /// Ends a collective and the earlier ones of its group. Returns their tokens,
  /// none if the collective does not run.
  std::vector<unsigned> wait(unsigned token, unsigned group);
  bool empty() const { return list.empty(); }

private:
  struct Collective {
    unsigned token, group;
  };
  std::vector<Collective> list;
};

/// Steps in order, and the operands passed to the enclosing step.
struct Block {
  std::vector<Step> steps;
  std::vector<Operand> yields;
};

struct Step {
  enum Kind : uint8_t {
    // Steps on the stream.
    Launch,    ///< a kernel
    AllGather, ///< receive segment r (`bytes` long) of `to` from rank r
    AllToAll,  ///< send segment r of `from` to this rank's segment on rank r
    Wait,      ///< wait for collective `token` and earlier ones of its group
    Barrier,   ///< wait for all ranks
    Memset,    ///< fill the first `bytes` of `to`
    Copy,      ///< copy the first `bytes` of `from` to `to`
    // Steps on the host.
    Compute, ///< `results[0]` is the value of the expression
    Require, ///< check a requirement
    Encode,  ///< encode tensor map `index`
    Read,    ///< wait, then set `results[0]` to the number at `from` + `offset`
    Choose,  ///< `results[0]` is the first of `among` that is not in `besides`
    Take,    ///< `results[0]` is newly allocated memory of `bytes`
    If,      ///< run block 0 unless the condition is 0, else block 1
    Switch,  ///< run the block of the case equal to the condition, or the last
    For,     ///< run block 0 for each number of a range
    While    ///< run block 1 as long as the first yield of block 0 is not 0
  };
  Kind kind = Launch;
  // Launch
  unsigned kernel = 0;
  std::array<Number, 3> grid = {1, 1, 1};
  std::vector<Parameter> parameters;
  // AllGather, AllToAll, Barrier and Wait
  unsigned group = 0;
  /// Number of a collective beside the steps before its Wait, or kInOrder for a
  /// collective in the order of the steps.
  static constexpr unsigned kInOrder = ~0u;
  unsigned token = kInOrder;
  // AllGather, AllToAll, Memset, Copy and Read
  Buffer to, from;
  uint8_t byte = 0;
  Number bytes, offset;
  /// Read: integer type of the number.
  std::string dtype;
  // Compute, Require, Encode
  Expression expression;
  Requirement requirement;
  TensorMap map;
  unsigned index = 0;
  // Choose
  std::vector<Buffer> among, besides;
  // If, Switch, For and While
  Number condition;
  std::vector<int64_t> cases;
  /// Start, end and step.
  std::array<Number, 3> range = {0, 0, 1};
  /// Induction variable.
  Number induction;
  /// Values ("v7") and buffers ("buf0") that this step defines. Loops define
  /// their loop-carried values, initialized to `inits` and then set to the
  /// yields of each iteration. While defines in addition the operands that
  /// block 0 passes to block 1 and, at the end, to the steps after the loop.
  std::vector<Operand> results, inits;
  std::vector<Block> blocks;
};

/// Read-only array of the program: a slice of the constants file, in device
/// memory while the program is loaded.
struct Constant {
  /// Name for display: the name in the program, or a number.
  std::string name;
  /// Offset in the file, a multiple of kWorkspaceAlignment.
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t dynamicSharedMemory = 0;
  /// Programmatic dependent launch: the kernel may start before the previous
  /// kernel ends, and then waits until the previous kernel completes.
  bool programmatic = false;
  /// Schedule for display; may be empty.
  std::string schedule;
};

struct Entry {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  /// Expressions only refer to earlier expressions.
  std::vector<Expression> values;
  std::vector<Requirement> requirements;
  Number workspaceBytes;
  std::vector<WorkBuffer> workBuffers;
  std::vector<Window> windows;
  std::vector<TensorMap> tensorMaps;
  std::vector<Step> steps;
};

/// A compiled program.
struct Manifest {
  /// Target GPU: "sm_100a".
  std::string target;
  /// Files in the directory of the manifest; empty if absent.
  std::string ptx, cubin, data;
  std::vector<Constant> constants;
  std::vector<RankGroup> groups;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
};

/// Returns the size of an item in bytes, or 0 for an unsupported dtype.
int64_t getItemBytes(const std::string &dtype);

/// Returns the manifest as JSON. Output is deterministic.
std::string writeManifest(const Manifest &manifest);

/// Reads the output of writeManifest. Validates untrusted input: a manifest
/// read without an error is complete, with valid references. Returns an empty
/// string, or a message that starts with "line:column: ".
std::string readManifest(std::string_view text, Manifest &manifest);

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Inputs of a call from the caller, the program and the device.
struct Inputs {
  /// Extents of each argument; empty for numbers.
  std::vector<std::vector<int64_t>> shapes;
  /// Value of each integer argument, and bits of each f32 argument.
  std::vector<int64_t> integers;
  /// Without addresses, expressions that depend on an address are skipped.
  bool hasAddresses = false;
  std::vector<int64_t> argumentAddresses, resultAddresses;
  int64_t workspaceAddress = 0;
  /// Constants of the manifest, or null.
  const std::vector<Constant> *constants = nullptr;
  std::vector<int64_t> constantAddresses;
  /// Rank groups of the manifest, or null.
  const std::vector<RankGroup> *groups = nullptr;
  /// Rank of this process in each rank group.
  std::vector<int64_t> ranks;
  /// Device address of the distances to the windows of each group's ranks, or 0
  /// if the ranks cannot map each other's windows.
  std::vector<int64_t> peers;
  std::vector<int64_t> windowAddresses;
  int64_t smCount = 0;
  /// Result of findAddresses for the entry, if known.
  const std::vector<bool> *addresses = nullptr;
};

/// Values of a call.
struct Numbers {
  const Entry *entry = nullptr;
  const Inputs *inputs = nullptr;
  std::vector<int64_t> values;
  /// Buffers that "buf0" and so on refer to.
  std::vector<Buffer> chosen;
  /// Memory that steps allocated.
  struct Memory {
    int64_t address, bytes;
  };
  std::vector<Memory> taken;

  int64_t get(const Number &number) const {
    return number.kind == Number::Constant ? number.value
           : number.kind == Number::Value  ? values[size_t(number.value)]
                                           : getGiven(number);
  }
  /// Defines a value, or updates a loop-carried value.
  void set(const Number &value, int64_t number);
  int64_t getAddress(const Buffer &buffer) const;
  /// Returns the argument, result, constant, window, workspace slice or
  /// allocation to which `buffer` refers.
  Buffer resolve(const Buffer &buffer) const;
  void choose(const Buffer &buffer, const Buffer &resolved);
  /// Returns the value of the expression, or nothing and sets `error`.
  std::optional<int64_t> compute(const Expression &expression,
                                 std::string &error) const;

private:
  /// Returns a number that is neither a constant nor a value.
  int64_t getGiven(const Number &number) const;
};

/// Checks the shapes of the arguments, computes all values and checks the
/// requirements and the workspace. Returns an empty string or an error message.
std::string evaluate(const Entry &entry, const Inputs &inputs,
                     Numbers &numbers);

/// Checks a requirement. Returns an empty string or its message.
std::string check(const Requirement &requirement, const Numbers &numbers,
                  bool hasAddresses = true);

/// Checks sizes and parameters of a Read or stream step with known numbers.
/// Returns an empty string or an error message.
std::string check(const Entry &entry, const Step &step, const Numbers &numbers);

int64_t getBytes(const Entry &entry, const Buffer &buffer,
                 const Numbers &numbers);

/// Returns which values of an entry depend on an address or are defined by
/// steps. Sizes must not depend on either.
std::vector<bool> findAddresses(const Entry &entry);
bool dependsOnAddress(const Number &number, const std::vector<bool> &values);
bool dependsOnAddress(const Expression &expression,
                      const std::vector<bool> &values);
/// Returns for each argument of an entry whether the workspace size or the
/// shape of a result depends on its value.
std::vector<bool> findSizeArguments(const Entry &entry);

} // namespace mx::plan

#endif // MX_PLAN_PLAN_H
