//===- HostProgram.cpp - Calls of compiled host code ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls use the C interface of the LLVM lowering. Each tensor is passed as a
// memref descriptor {allocated, aligned, offset, sizes, strides}. The first
// argument points to the struct of results. A memref has the extents of its
// NumPy array, because both store fp4 as bytes.
//===----------------------------------------------------------------------===//

#include "HostFunctions.h"
#include "Programs.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mxsim/io/Memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <deque>

using namespace mlir;
using namespace mx;

namespace {

/// Memref descriptor in memory: 3 + 2 * rank words.
struct Descriptor {
  int64_t *words;
  int64_t rank;

  static int64_t size(int64_t rank) { return 3 + 2 * rank; }
  void *allocated() const { return reinterpret_cast<void *>(words[0]); }
  char *aligned() const { return reinterpret_cast<char *>(words[1]); }
  int64_t offset() const { return words[2]; }
  ArrayRef<int64_t> sizes() const { return {words + 3, size_t(rank)}; }
  ArrayRef<int64_t> strides() const { return {words + 3 + rank, size_t(rank)}; }

  void set(void *memory, ArrayRef<int64_t> extents) {
    words[0] = words[1] = reinterpret_cast<int64_t>(memory);
    words[2] = 0;
    int64_t stride = 1;
    for (int64_t i = rank; i-- > 0;) {
      words[3 + i] = extents[i];
      words[3 + rank + i] = stride;
      stride *= extents[i];
    }
  }

  bool isContiguous() const {
    int64_t stride = 1;
    for (int64_t i = rank; i-- > 0; stride *= sizes()[i])
      if (sizes()[i] != 1 && strides()[i] != stride)
        return llvm::is_contained(sizes(), 0);
    return true;
  }
};

/// Allocated pointer in the descriptors of constants (memref.global), which the
/// LLVM lowering sets. The module owns the memory of constants.
void *const kConstantMemory = reinterpret_cast<void *>(0xdeadbeef);

/// Allocates memory for `free`, as compiled code does.
llvm::Expected<void *> allocate(size_t bytes) {
  // Allocate whole cache lines, so vector loads are aligned.
  size_t rounded = (bytes + 63) / 64 * 64;
  void *memory =
      rounded < bytes ? nullptr : std::aligned_alloc(64, rounded + 64);
  if (!memory)
    return makeError("cannot allocate " + llvm::Twine(bytes) + " bytes");
  return memory;
}

/// A call. Owns the memory of its arguments and results.
class Call {
public:
  explicit Call(ArrayRef<ArrayType> results) : resultTypes(results) {}
  ~Call() {
    for (void *memory : owned)
      std::free(memory);
  }

  llvm::Error addArgument(const ArrayType &type, const NpyArray &array);
  void prepareResults();
  llvm::Error invoke(void (*function)(void **)) {
    return host_exit::call(function, slots.data());
  }
  void adoptResults();
  llvm::Expected<std::vector<NpyArray>> readResults();

private:
  int64_t *newWords(size_t count) {
    words.emplace_back(count);
    return words.back().data();
  }
  void addPointer(void *pointer) {
    pointers.push_back(pointer);
    slots.push_back(&pointers.back());
  }

  ArrayRef<ArrayType> resultTypes;
  /// Storage with stable addresses.
  std::deque<std::vector<int64_t>> words;
  std::deque<void *> pointers;
  SmallVector<void *> slots;
  SmallVector<void *> owned;
  SmallVector<size_t> offsets;
  char *resultStruct = nullptr;
};

llvm::Error Call::addArgument(const ArrayType &type, const NpyArray &array) {
  if (type.isScalar) {
    int64_t *value = newWords(1);
    std::memcpy(value, array.data.data(), array.data.size());
    if (array.dtype == "b1")
      normalizeBools(value, 1);
    slots.push_back(value);
    return llvm::Error::success();
  }
  llvm::Expected<void *> memory = allocate(array.data.size());
  if (!memory)
    return memory.takeError();
  owned.push_back(*memory);
  llvm::copy(array.data, static_cast<uint8_t *>(*memory));
  // Compiled code assumes that a bool in memory is 0 or 1.
  if (array.dtype == "b1")
    normalizeBools(*memory, array.data.size());
  int64_t rank = array.shape.size();
  Descriptor descriptor{newWords(Descriptor::size(rank)), rank};
  descriptor.set(*memory, array.shape);
  addPointer(descriptor.words);
  return llvm::Error::success();
}

void Call::prepareResults() {
  size_t bytes = 0;
  for (const ArrayType &type : resultTypes) {
    size_t size = type.isScalar ? type.itemBytes()
                                : 8 * Descriptor::size(type.shape.size());
    bytes = llvm::alignTo(bytes, std::min<size_t>(size, 8));
    offsets.push_back(bytes);
    bytes += size;
  }
  if (resultTypes.empty())
    return;
  resultStruct = reinterpret_cast<char *>(newWords(bytes / 8 + 1));
  // A single number is returned by value. The wrapper stores the number at the
  // address in the slot after the arguments.
  if (resultTypes.size() == 1 && resultTypes[0].isScalar) {
    slots.push_back(resultStruct);
    return;
  }
  pointers.push_back(resultStruct);
  slots.insert(slots.begin(), &pointers.back());
}

void Call::adoptResults() {
  for (auto [type, offset] : llvm::zip_equal(resultTypes, offsets)) {
    if (type.isScalar)
      continue;
    void *memory = *reinterpret_cast<void **>(resultStruct + offset);
    // Results may alias arguments or each other.
    if (memory && memory != kConstantMemory &&
        !llvm::is_contained(owned, memory))
      owned.push_back(memory);
  }
}

llvm::Expected<std::vector<NpyArray>> Call::readResults() {
  std::vector<NpyArray> arrays;
  for (auto [index, type] : llvm::enumerate(resultTypes)) {
    NpyArray array;
    array.dtype = type.dtype;
    char *place = resultStruct + offsets[index];
    if (type.isScalar) {
      array.data.assign(place, place + type.itemBytes());
      arrays.push_back(std::move(array));
      continue;
    }
    int64_t rank = type.shape.size();
    Descriptor descriptor{reinterpret_cast<int64_t *>(place), rank};
    if (!descriptor.isContiguous())
      return makeError("expected result " + llvm::Twine(index) +
                       " to be contiguous in memory");
    array.shape.assign(descriptor.sizes().begin(), descriptor.sizes().end());
    if (llvm::Error error = checkArray(type, array))
      return makeError("result " + llvm::Twine(index) + ": " +
                       llvm::toString(std::move(error)));
    size_t bytes = type.itemBytes();
    for (int64_t extent : array.shape)
      bytes *= extent;
    if (!tryResize(array.data, bytes))
      return makeError("result " + llvm::Twine(index) + ": no memory for the " +
                       llvm::Twine(bytes) + " bytes of " +
                       npyTypeString(array));
    char *memory =
        descriptor.aligned() + descriptor.offset() * type.itemBytes();
    std::copy_n(memory, bytes, array.data.begin());
    arrays.push_back(std::move(array));
  }
  return arrays;
}

class HostProgram final : public Program {
public:
  HostProgram(std::shared_ptr<ExecutionEngine> engine,
              void (*function)(void **), std::string name)
      : engine(std::move(engine)), function(function), name(std::move(name)) {}

  llvm::Expected<std::unique_ptr<Program>> makeRank(Ranks &ranks,
                                                    int rank) override;

private:
  llvm::Expected<std::vector<NpyArray>>
  call(ArrayRef<const NpyArray *> inputs) override;

  std::shared_ptr<ExecutionEngine> engine;
  void (*function)(void **);
  std::string name;
  /// Collectives of a program created by makeRank, or null.
  std::unique_ptr<HostCollectives> ownCollectives;
};

} // namespace

llvm::Expected<std::vector<NpyArray>>
HostProgram::call(ArrayRef<const NpyArray *> inputs) {
  Call call(results);
  for (auto [type, input] : llvm::zip_equal(arguments, inputs))
    if (llvm::Error error = call.addArgument(type, *input))
      return error;
  call.prepareResults();
  host_collectives::Scope scope(collectives, name);
  if (llvm::Error error = call.invoke(function)) {
    // Messages of the C interface start with a location (mx-c/Compiler.h).
    if (!ownCollectives)
      return error;
    ExitStatus status = getExitStatus(error);
    return makeError(
        "entry '" + name + "': " + llvm::toString(std::move(error)), status);
  }
  call.adoptResults();
  return call.readResults();
}

llvm::Expected<std::unique_ptr<Program>> HostProgram::makeRank(Ranks &ranks,
                                                               int rank) {
  auto program = std::make_unique<HostProgram>(engine, function, name);
  program->arguments = arguments;
  program->results = results;
  program->ownCollectives = std::make_unique<ThreadCollectives>(ranks, rank);
  program->setCollectives(program->ownCollectives.get());
  return program;
}

std::unique_ptr<Program>
mx::makeHostProgram(std::shared_ptr<ExecutionEngine> engine,
                    void (*function)(void **), std::string name) {
  return std::make_unique<HostProgram>(std::move(engine), function,
                                       std::move(name));
}
