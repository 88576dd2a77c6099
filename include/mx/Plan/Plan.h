//===- Plan.h - What a compiled program does on the host --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host part of a compiled entry as data: which kernels are launched in
// which order, on which grids, with which tensor maps, and where intermediate
// results lie. Written by the compiler as a manifest
// (docs/reference/Manifest.md), run by the runtime; neither MLIR nor LLVM is
// needed to read or to run it.
//
// What is known before a call stands in tables. What is only known on the way,
// because a loop or a number that was read decides it, is computed by steps.
//===----------------------------------------------------------------------===//

#ifndef MX_PLAN_PLAN_H
#define MX_PLAN_PLAN_H

#include "mx/Plan/Expression.h"
#include "mx/Target/TensorMap.h"

#include <vector>

namespace mx::plan {

/// Of the manifest. A reader refuses any other.
inline constexpr int64_t kFormat = 4;
/// Of the workspace and of every buffer in it, of constants on the device and
/// in their file, in bytes.
inline constexpr int64_t kWorkspaceAlignment = 256;
/// Of arrays in device memory: kernels read and write 16 bytes at once.
inline constexpr int64_t kArrayAlignment = 16;
/// Stands for an extent that an argument's array decides.
inline constexpr int64_t kDynamic = -1;

/// Steps that one call may take, each round of a loop included: what a file
/// asks for must end. That is about a second of arithmetic.
inline constexpr int64_t kMaxSteps = int64_t(1) << 25;

/// Blocks within one another: a file is nested no deeper than Json.cpp reads.
inline constexpr size_t kMaxDepth = 32;

/// Device memory: brought by the caller, a slice of the workspace, a constant
/// of the program, a window of a rank group, one of those that a step chose,
/// or, once that is known, memory that a step took.
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
  /// "arg0", "result0", "work0", "const0", "win0", "buf0".
  std::string str() const;
  static std::optional<Buffer> parse(std::string_view text);
  /// The number that is its address, unless it is Taken.
  Number getAddress() const;
};

/// What an argument or a result is: an array of `dtype`, NumPy's name without
/// the byte order, or a number.
struct Value {
  std::string name;
  /// In MLIR, for people.
  std::string type;
  std::string dtype;
  bool isNumber = false;
};

struct Argument : Value {
  /// kDynamic where any extent will do.
  std::vector<int64_t> shape;
};

struct Result : Value {
  std::vector<Number> shape;
  /// Of a number.
  Number value;
  /// Whether only the run knows the shape: the call takes the memory, and gives
  /// what `buffer` is at the end.
  bool isTaken = false;
  Buffer buffer;
};

/// Checked before anything is launched. In `message` each "{}" stands for one
/// of `values`.
struct Requirement {
  Number condition;
  std::string message;
  std::vector<Number> values;
};

/// A slice of the workspace.
struct WorkBuffer {
  Number offset, bytes;
};

/// Ranks that run the program together.
struct RankGroup {
  std::string name;
  int64_t size = 1;
  /// Of each rank, at most: a window has rows for as many.
  int64_t tokens = 0;
};

/// A slice of the memory of a rank group, in which rows of all ranks arrive.
struct Window {
  unsigned group = 0;
  /// A multiple of kWorkspaceAlignment.
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// What cuTensorMapEncodeTiled takes: dimensions are innermost first and in
/// elements, strides in bytes and of dimensions 1 and up.
struct TensorMap {
  Buffer buffer;
  /// In bytes.
  Number offset;
  target::TensorMapType type = target::TensorMapType::U8;
  std::vector<Number> dims, strides;
  std::vector<int64_t> box;
  Swizzle swizzle = Swizzle::None;
  target::TensorMapL2 l2 = target::TensorMapL2::None;
  target::TensorMapFill fill = target::TensorMapFill::Zero;
};

/// A parameter of a kernel.
struct Parameter {
  enum Kind : uint8_t {
    Pointer,   ///< the address `number` bytes after that of `buffer`
    TensorMap, ///< 128 bytes of tensor map `index`
    Integer,   ///< `number` in `bytes` bytes
    Float,     ///< the float of `bytes` bytes whose bits `number` are
    Argument,  ///< the number that is argument `index`
    Bytes      ///< `data`
  };
  Kind kind = Integer;
  Buffer buffer;
  unsigned index = 0;
  Number number;
  unsigned bytes = 8;
  std::vector<uint8_t> data;
};

/// A number or a buffer, where either may be.
struct Operand {
  Operand() = default;
  Operand(Number number) : number(number) {}
  Operand(Buffer buffer) : isBuffer(true), buffer(buffer) {}
  bool isBuffer = false;
  Number number;
  Buffer buffer;
};

struct Step;

/// What is done in order, and what it gives to the step around it.
struct Block {
  std::vector<Step> steps;
  std::vector<Operand> yields;
};

struct Step {
  enum Kind : uint8_t {
    // These go onto the stream.
    Launch,    ///< a kernel
    AllGather, ///< segment r of `to`, `bytes` long, comes from rank r
    AllToAll,  ///< segment r of `from` goes to this rank's in `to` on rank r
    Memset,    ///< fill the first `bytes` of `to`
    Copy,      ///< the first `bytes` of `from` to `to`
    // These are done on the host.
    Compute, ///< `results[0]` is what the expression gives
    Require, ///< a requirement that is known here
    Encode,  ///< tensor map `index`
    Read,    ///< waits; `results[0]` is the number at `offset` of `from`
    Choose,  ///< `results[0]` is the first of `among` that is not in `besides`
    Take,    ///< `results[0]` is memory of `bytes`
    If,      ///< block 0 unless the condition is 0, else block 1
    Switch,  ///< the block whose case the condition is, else the last
    For,     ///< block 0 for each number of a range
    While    ///< block 1 as long as block 0 first yields another number than 0
  };
  Kind kind = Launch;
  // Launch
  unsigned kernel = 0;
  std::array<Number, 3> grid = {1, 1, 1};
  std::vector<Parameter> parameters;
  // AllGather and AllToAll
  unsigned group = 0;
  // These, Memset, Copy and Read
  Buffer to, from;
  uint8_t byte = 0;
  Number bytes, offset;
  /// Read: of the number, an integer.
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
  /// From, to and by how much.
  std::array<Number, 3> range = {0, 0, 1};
  /// The number of a round.
  Number induction;
  /// Values ("v7") and buffers ("buf0") that this step defines. Of a loop those
  /// that it carries: they begin as `inits`, and become what a round yields.
  /// While: followed by what block 0 yields to block 1, and the last time to
  /// what comes after the loop.
  std::vector<Operand> results, inits;
  std::vector<Block> blocks;
};

/// An array that the program brings: a slice of the file of constants, which is
/// in device memory as long as the program is loaded. Nothing writes it.
struct Constant {
  /// For people: of what the program calls it, or a number.
  std::string name;
  /// In the file, a multiple of kWorkspaceAlignment.
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t dynamicSharedMemory = 0;
  /// May start before the kernel before it has ended, and waits for it itself.
  bool programmatic = false;
  /// For people; empty where there is none.
  std::string schedule;
};

struct Entry {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  /// Each refers to earlier ones only.
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
  /// The GPU it was compiled for: "sm_100a".
  std::string target;
  /// Files beside the manifest; empty where there is none.
  std::string ptx, cubin, data;
  std::vector<Constant> constants;
  std::vector<RankGroup> groups;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
};

/// Bytes of an item of a dtype; 0 if it is none that a plan takes.
int64_t getItemBytes(const std::string &dtype);

/// The manifest as JSON. The same manifest gives the same text.
std::string writeManifest(const Manifest &manifest);

/// Reads what writeManifest wrote. Trusts nothing: whatever it returns without
/// an error is complete and refers only to what is there. Returns an empty
/// string, or a message that begins with "line:column: " and names the place.
std::string readManifest(std::string_view text, Manifest &manifest);

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// What a call brings, and what the program and the device bring to it.
struct Inputs {
  /// The extents of each argument; empty for numbers.
  std::vector<std::vector<int64_t>> shapes;
  /// The value of each argument that is an integer, the bits of an f32.
  std::vector<int64_t> integers;
  /// Device addresses. Without them whatever depends on one is left out.
  bool hasAddresses = false;
  std::vector<int64_t> argumentAddresses, resultAddresses;
  int64_t workspaceAddress = 0;
  /// Of the manifest; null if it has none.
  const std::vector<Constant> *constants = nullptr;
  std::vector<int64_t> constantAddresses;
  /// Of the manifest, as `constants`.
  const std::vector<RankGroup> *groups = nullptr;
  /// Of this process in each of them.
  std::vector<int64_t> ranks;
  std::vector<int64_t> windowAddresses;
  int64_t smCount = 0;
  /// What findAddresses says of the entry, where it is known.
  const std::vector<bool> *addresses = nullptr;
};

/// The numbers of one call.
struct Numbers {
  const Entry *entry = nullptr;
  const Inputs *inputs = nullptr;
  std::vector<int64_t> values;
  /// What "buf0" and so on are.
  std::vector<Buffer> chosen;
  /// Memory that steps took.
  struct Memory {
    int64_t address, bytes;
  };
  std::vector<Memory> taken;

  int64_t get(const Number &number) const {
    return number.kind == Number::Constant ? number.value
           : number.kind == Number::Value  ? values[size_t(number.value)]
                                           : getGiven(number);
  }
  /// Defines a value, or changes one that a loop carries.
  void set(const Number &value, int64_t number);
  int64_t getAddress(const Buffer &buffer) const;
  /// The argument, result, constant, window or slice of the workspace that a
  /// buffer is.
  Buffer resolve(const Buffer &buffer) const;
  void choose(const Buffer &buffer, const Buffer &resolved);
  /// The value of the expression, or nothing and why.
  std::optional<int64_t> compute(const Expression &expression,
                                 std::string &error) const;

private:
  /// What is neither a constant nor a value.
  int64_t getGiven(const Number &number) const;
};

/// Checks the arguments' shapes, computes all values and checks the
/// requirements and the workspace. Returns an empty string, or what is wrong.
std::string evaluate(const Entry &entry, const Inputs &inputs,
                     Numbers &numbers);

/// Whether a requirement holds: an empty string, or its message.
std::string check(const Requirement &requirement, const Numbers &numbers,
                  bool hasAddresses = true);

/// Checks the sizes and the parameters of a read, or of a step that goes onto
/// the stream, whose numbers are all known. Returns an empty string, or what is
/// wrong.
std::string check(const Entry &entry, const Step &step, const Numbers &numbers);

/// Bytes of a buffer in a call.
int64_t getBytes(const Entry &entry, const Buffer &buffer,
                 const Numbers &numbers);

/// Whether the number follows from an address, for each value in the table of
/// an entry. Those that steps define count as such: sizes must not follow from
/// them either.
std::vector<bool> findAddresses(const Entry &entry);
bool dependsOnAddress(const Number &number, const std::vector<bool> &values);
bool dependsOnAddress(const Expression &expression,
                      const std::vector<bool> &values);
/// Whether the workspace or the shape of a result follows from the value of an
/// argument, for each argument of an entry.
std::vector<bool> findSizeArguments(const Entry &entry);

} // namespace mx::plan

#endif // MX_PLAN_PLAN_H
