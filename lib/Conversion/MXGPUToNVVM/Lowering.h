//===- Lowering.h - What the patterns of a kernel share ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel's structure (function, set-up, tear-down) is lowered first; it
// leaves here what the patterns of the operations inside need to know.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_LOWERING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_LOWERING_H

#include "NVVMBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Where a role stands in a ring: the slot it takes next, and the parity that
/// it waits for there. Variables on the stack, which LLVM keeps in registers.
/// Behind the last slot, `end`, comes the first one.
struct RingState {
  mlir::Value slot, phase;
  mlir::Value first, end;
};

/// The arguments of a loop's body, and whether there is a unit (i1), or null if
/// there always is.
struct SingleUnit {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value exists;
};

/// A unit of a source that `groups` have: what a loop's body takes, and the
/// unit's number or, if there is none, -1 (i32s).
struct GroupUnit {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value number;

  llvm::SmallVector<mlir::Value> getWords() const {
    llvm::SmallVector<mlir::Value> words(arguments);
    words.push_back(number);
    return words;
  }
};

/// What the patterns inside one kernel need.
struct KernelContext {
  /// Registers of a thread at launch, where roles ask for others.
  int64_t launchedRegisters = 0;
  /// First column of the kernel's tensor memory (i32), if it has any.
  mlir::Value tensorMemory;
  /// State of a ring where it is acquired or consumed, and in the role that
  /// fills it.
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, RingState>
      states;
  /// The rings that each role fills.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<RingOp>> produced;
  /// The number of the place to which a slot's scales go next, where there are
  /// several: an i32 on the stack.
  llvm::DenseMap<mlir::Operation *, mlir::Value> places;
  /// Of the copies from each slot that a role's threads share, the first one.
  llvm::DenseSet<mlir::Operation *> firstCopies;
  /// The ring of each slot.
  llvm::DenseMap<mlir::Value, RingOp> rings;
  /// What a CTA does for each source that gives it a single unit.
  llvm::DenseMap<mlir::Operation *, SingleUnit> units;
  /// The first unit of each source whose units groups have.
  llvm::DenseMap<mlir::Operation *, GroupUnit> firstUnits;

  RingState getState(mlir::Operation *take, RingOp ring) const {
    return states.lookup({take, ring});
  }
};

/// A pattern that can look into its kernel's context.
template <typename OpT>
struct KernelPattern : public mlir::OpConversionPattern<OpT> {
  KernelPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, KernelContext &kernel)
      : mlir::OpConversionPattern<OpT>(converter, context), kernel(kernel) {}
  KernelContext &kernel;
};

/// Whether roles know a slot by the pointer into shared memory at which it
/// starts, not by its number.
bool isKnownByAddress(RingType type);

/// How many of so many threads of a role arrive at a slot's barriers: one of
/// each warp, or all. Where threads fill slots for threads each arrives for
/// itself: a warp's barrier before the arrival of one lane may leave no
/// instruction, and tools that look for races would not see what orders its
/// accesses.
int64_t getArrivals(RingType type, int64_t threads);
/// What a slot becomes: such a pointer, or an i32.
mlir::Type getSlotType(RingType type);

/// Makes the variables here, and lets the role begin at the first slot.
RingState createRingState(NVVMBuilder &builder, RingOp ring, RoleOp role,
                          bool asProducer);

/// The barrier whose phase completes when bulk copies have filled the slot: of
/// a pair, the leader's.
mlir::Value getFullBarrier(NVVMBuilder &builder, RingOp ring, mlir::Value slot);

/// Address in shared memory of a field of a slot.
mlir::Value getFieldAddress(NVVMBuilder &builder, RingOp ring,
                            llvm::StringRef field, mlir::Value slot);
/// Column in tensor memory of a field of a slot.
mlir::Value getFieldColumn(NVVMBuilder &builder, const KernelContext &kernel,
                           RingOp ring, llvm::StringRef field,
                           mlir::Value slot);

/// Waits until every slot of `ring` is empty, as its producer. Run before the
/// producer's CTA ends, so that no arrival is still under way to its memory.
void drainRing(NVVMBuilder &builder, RingOp ring, RingState state);

/// Waits until what a role has stored by bulk copies from `ring` is written.
void drainStores(NVVMBuilder &builder, RingOp ring, RoleOp role);

/// Waits for all threads that share the slots of a ring for stores.
void syncSharers(NVVMBuilder &builder, mlir::Operation *op, RingOp ring);

/// Bytes from the start of shared memory (i32) to a field of a slot for stores:
/// of this warp's, or of that of all threads of the role that `op` is in.
mlir::Value getStagedField(NVVMBuilder &builder, mlir::Operation *op,
                           RingOp ring, llvm::StringRef field,
                           mlir::Value slot);

/// Elements `first` to `first + count` of a vector as i32s, rounded from f32 on
/// the way if that is where they come from.
llvm::SmallVector<mlir::Value> getWords(NVVMBuilder &builder,
                                        mlir::Value vector, int64_t first,
                                        int64_t count);

/// The group that has a tile of packed rows, the first of its rows in it, and
/// its end: i32s, and whether there is one (i1).
struct GroupTile {
  mlir::Value group, start, end, exists;
};

/// Finds it by the ends of the groups; all lanes of a warp must take part.
/// `rows` (index) are those of the tensor, beyond which no group ends.
GroupTile findGroupTile(NVVMBuilder &builder, mlir::Value offsets,
                        mlir::Value rows, mlir::Value tile, int64_t tileRows);

/// The first unit of a CTA or pair, and the one that it takes behind the one
/// that its loop has; all lanes of a warp must take part.
GroupUnit findFirstGroupUnit(NVVMBuilder &builder, WorkSourceOp source);
GroupUnit findNextGroupUnit(NVVMBuilder &builder, WorkSourceOp source,
                            mlir::scf::WhileOp loop);
/// By shared memory, of 32 bytes.
void storeGroupUnit(NVVMBuilder &builder, const GroupUnit &unit,
                    mlir::Value address);
GroupUnit loadGroupUnit(NVVMBuilder &builder, mlir::Value address);

/// Whether the CTAs of the kernel around an operation come in pairs, which
/// visit units together.
bool isInPair(mlir::Operation *op);
/// The number of a CTA, or of a pair, by which it begins with its units, and
/// how many there are: i32s.
mlir::Value getFirstUnit(NVVMBuilder &builder, mlir::Operation *op);
mlir::Value getUnitStep(NVVMBuilder &builder, mlir::Operation *op);

/// Tiles that cover `size` (index, below 2^63), as an i32.
mlir::Value getTiles(NVVMBuilder &builder, mlir::Value size, int64_t tile);

/// The number of units of a source (i32).
mlir::Value getNumUnits(NVVMBuilder &builder, WorkSourceOp source);

/// The global address of a byte of a memref with identity layout, and of an
/// element of a matrix whose rows are contiguous.
mlir::Value getGlobalAddress(NVVMBuilder &builder, mlir::Value memref,
                             mlir::Value bytes);
mlir::Value getGlobalAddress(NVVMBuilder &builder, mlir::Value matrix,
                             mlir::Value row, mlir::Value column,
                             int64_t bytes);

/// The words (i32) that a vector consists of, and a vector of words.
llvm::SmallVector<mlir::Value> splitWords(NVVMBuilder &builder,
                                          mlir::Value vector);
mlir::Value joinWords(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> words,
                      mlir::VectorType type);
/// Vectors of elements of 4 or 6 bits, which LLVM does not know, become words.
void addNarrowVectorConversions(mlir::TypeConverter &converter);

/// The types of the parameters that carry an argument of a kernel. Tensor maps
/// are pointers there, which `byval` makes values of.
llvm::SmallVector<mlir::Type> getKernelParameterTypes(mlir::Type type);
/// What the type of a memref leaves open, as kernels are given it.
llvm::SmallVector<mlir::Value> getDynamicNumbers(NVVMBuilder &builder,
                                                 mlir::Value memref);
/// A memref from its pointer, which the offset comes on top of, and these
/// numbers (index).
mlir::Value buildMemRef(NVVMBuilder &builder, mlir::MemRefType type,
                        mlir::Value pointer, mlir::ValueRange numbers);

/// On an acquire of a warp's ring: the slot is known, from this number of the
/// iteration, or from the loop around it (a unit attribute).
inline constexpr llvm::StringLiteral kSlotInLoop = "mxgpu.slot_in_loop";

/// Unrolls the short ways of the epilogue, so that columns become immediates.
void unrollFragments(KernelOp kernel);

/// Gives arithmetic the instructions that the target has for it and upstream's
/// lowering does not take. Same results.
void lowerMath(KernelOp kernel);

/// Lowers the kernel's function and set-up; its body keeps the other
/// operations. Fails if the kernel was not allocated.
mlir::FailureOr<mlir::LLVM::LLVMFuncOp> lowerKernel(KernelOp kernel,
                                                    KernelContext &context);

/// Puts allocated roles, which follow each other, into branches on the warp.
void branchOnRoles(NVVMBuilder &builder, llvm::ArrayRef<RoleOp> roles,
                   const KernelContext &kernel);

/// Roles are lowered after what is in them, which asks for its role.
void populateRolePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelContext &kernel);
void populateLoopPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelContext &kernel);
void populateWorkPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelContext &kernel);
void populateRingPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelContext &kernel);
void populateTensorCorePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter,
                                KernelContext &kernel);
void populateAccumulatorPatterns(mlir::RewritePatternSet &patterns,
                                 const mlir::TypeConverter &converter,
                                 KernelContext &kernel);
/// Rings whose slots are a warp's own, which no barrier guards.
void populateStagingPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             KernelContext &kernel);
void populateStorePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           KernelContext &kernel);
/// Fragments of tiles in shared memory.
void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelContext &kernel);
void populateQuantizePatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              KernelContext &kernel);
void populateDequantizePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter,
                                KernelContext &kernel);
void populateReducePatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            KernelContext &kernel);
/// Scales in global memory.
void populateScalePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           KernelContext &kernel);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_LOWERING_H
