//===- Plan.h - What a compiled program does on the host --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host part of a compiled entry as data: which kernels are launched in
// which order, on which grids, with which tensor maps, and where intermediate
// results lie. Written by the compiler as a manifest (docs/Manifest.md), run by
// the runtime; neither MLIR nor LLVM is needed to read or to run it.
//===----------------------------------------------------------------------===//

#ifndef MX_PLAN_PLAN_H
#define MX_PLAN_PLAN_H

#include "mx/Plan/Expression.h"
#include "mx/Target/TensorMap.h"

#include <vector>

namespace mx::plan {

/// Of the manifest. A reader refuses any other.
inline constexpr int64_t kFormat = 1;
/// Of the workspace and of every buffer in it, in bytes.
inline constexpr int64_t kWorkspaceAlignment = 256;
/// Stands for an extent that an argument's array decides.
inline constexpr int64_t kDynamic = -1;

/// Device memory: brought by the caller, or a part of the workspace.
struct Buffer {
  enum Kind : uint8_t { Argument, Result, Work };
  Kind kind = Argument;
  unsigned index = 0;

  bool operator==(const Buffer &other) const {
    return kind == other.kind && index == other.index;
  }
  /// "arg0", "result0", "work0".
  std::string str() const;
  static std::optional<Buffer> parse(std::string_view text);
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
};

/// Checked before anything is launched. In `message` each "{}" stands for one
/// of `values`.
struct Requirement {
  Number condition;
  std::string message;
  std::vector<Number> values;
};

/// A part of the workspace.
struct WorkBuffer {
  Number offset, bytes;
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
    Pointer,   ///< the address of `buffer`
    TensorMap, ///< 128 bytes of tensor map `index`
    Integer,   ///< `number` in `bytes` bytes
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

struct Step {
  enum Kind : uint8_t { Launch, Memset, Copy };
  Kind kind = Launch;
  // Launch
  unsigned kernel = 0;
  std::array<Number, 3> grid = {1, 1, 1};
  std::vector<Parameter> parameters;
  // Memset and Copy
  Buffer to, from;
  uint8_t byte = 0;
  Number bytes;
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
  std::vector<TensorMap> tensorMaps;
  std::vector<Step> steps;
};

/// A compiled program.
struct Manifest {
  /// The GPU it was compiled for: "sm_100a".
  std::string target;
  /// Files beside the manifest; empty where there is none.
  std::string ptx, cubin;
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

/// What a call brings.
struct Inputs {
  /// The extents of each argument; empty for numbers.
  std::vector<std::vector<int64_t>> shapes;
  /// The value of each argument that is an integer, the bits of an f32.
  std::vector<int64_t> integers;
  /// Device addresses. Without them whatever depends on one is left out.
  bool hasAddresses = false;
  std::vector<int64_t> argumentAddresses, resultAddresses;
  int64_t workspaceAddress = 0;
  int64_t smCount = 0;
};

/// The numbers of one call.
struct Numbers {
  const Entry *entry = nullptr;
  const Inputs *inputs = nullptr;
  std::vector<int64_t> values;

  int64_t get(const Number &number) const;
};

/// Checks the arguments' shapes, computes all values and checks the
/// requirements and the workspace. Returns an empty string, or what is wrong.
std::string evaluate(const Entry &entry, const Inputs &inputs,
                     Numbers &numbers);

/// Bytes of a buffer in a call.
int64_t getBytes(const Entry &entry, const Buffer &buffer,
                 const Numbers &numbers);

/// Whether the number follows from an address, for each value of an entry.
std::vector<bool> findAddresses(const Entry &entry);
bool dependsOnAddress(const Number &number, const std::vector<bool> &values);

} // namespace mx::plan

#endif // MX_PLAN_PLAN_H
