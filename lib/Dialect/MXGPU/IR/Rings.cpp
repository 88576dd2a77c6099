//===- Rings.cpp - Rings and operations on stages -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static ParseResult parseAsyncKind(AsmParser &parser, StringRef keyword,
                                  AsyncKind &asyncKind, int64_t &threads) {
  threads = 1;
  if (parser.parseComma() || parser.parseKeyword(keyword) ||
      parser.parseEqual())
    return failure();
  FailureOr<AsyncKind> parsed = FieldParser<AsyncKind>::parse(parser);
  if (failed(parsed))
    return failure();
  asyncKind = *parsed;
  if (hasThreads(asyncKind))
    return failure(parser.parseLParen() || parser.parseInteger(threads) ||
                   parser.parseRParen());
  return success();
}

static void printAsyncKind(AsmPrinter &printer, StringRef keyword,
                           AsyncKind asyncKind, int64_t threads) {
  printer << ", " << keyword << " = " << stringifyAsyncKind(asyncKind);
  if (hasThreads(asyncKind))
    printer << '(' << threads << ')';
}

Type RingType::parse(AsmParser &parser) {
  int64_t stages = 0;
  SmallVector<StringAttr> names;
  SmallVector<BufferType> buffers;
  auto parseField = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseColon())
      return failure();
    FailureOr<BufferType> buffer = BufferType::parseBody(parser);
    if (failed(buffer))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    buffers.push_back(*buffer);
    return success();
  };
  AsyncKind producer{}, consumer{};
  int64_t producerThreads = 1, consumerThreads = 1;
  if (parser.parseLess() || parser.parseInteger(stages) ||
      parser.parseKeyword("x") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseField) ||
      parseAsyncKind(parser, "producer", producer, producerThreads) ||
      parseAsyncKind(parser, "consumer", consumer, consumerThreads))
    return {};
  Scope scope = Scope::Cta;
  int64_t overlap = 0;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("scope"))) {
      if (parser.parseEqual())
        return {};
      FailureOr<Scope> parsed = FieldParser<Scope>::parse(parser);
      if (failed(parsed))
        return {};
      scope = *parsed;
    } else if (parser.parseKeyword("overlap", "or scope") ||
               parser.parseEqual() || parser.parseInteger(overlap)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  // Pass the exact parameter types of the generated builder. A conversion would
  // need the type's storage, included only in MXGPUTypes.cpp.
  return parser.getChecked<RingType>(
      parser.getContext(), stages, ArrayRef<StringAttr>(names),
      ArrayRef<BufferType>(buffers), producer, producerThreads, consumer,
      consumerThreads, scope, overlap);
}

void RingType::print(AsmPrinter &printer) const {
  printer << '<' << getStages() << " x (";
  llvm::interleaveComma(llvm::zip_equal(getNames(), getBuffers()), printer,
                        [&](auto field) {
                          auto [name, buffer] = field;
                          printer.printKeywordOrString(name.getValue());
                          printer << ": ";
                          buffer.printBody(printer);
                        });
  printer << ')';
  printAsyncKind(printer, "producer", getProducer(), getProducerThreads());
  printAsyncKind(printer, "consumer", getConsumer(), getConsumerThreads());
  if (getScope() != Scope::Cta)
    printer << ", scope = " << stringifyScope(getScope());
  if (getOverlap())
    printer << ", overlap = " << getOverlap();
  printer << '>';
}

/// Returns the size in bytes of a work tile that `producer` writes, or 0 if the
/// producer does not distribute work tiles. The answer of cluster launch
/// control is 16 bytes (PTX ISA, clusterlaunchcontrol.try_cancel).
static int64_t getWorkTileBytes(AsyncKind producer) {
  switch (producer) {
  case AsyncKind::Clc:
  case AsyncKind::AtomicCounter:
    return 16;
  case AsyncKind::Groups:
    return 32;
  default:
    return 0;
  }
}

/// Returns true if `asyncKind` can fill stages in this memory and scope.
static bool canFill(AsyncKind asyncKind, Space space, Scope scope) {
  switch (asyncKind) {
  case AsyncKind::BulkCopy:
  case AsyncKind::Clc:
    return space == Space::Smem && scope != Scope::Warp;
  case AsyncKind::AtomicCounter:
  case AsyncKind::Groups:
    return space == Space::Smem && scope == Scope::Cta;
  case AsyncKind::MmaCommit:
    return space == Space::Tmem && scope != Scope::Warp;
  case AsyncKind::Threads:
    return space == Space::Smem;
  case AsyncKind::BulkStore:
  case AsyncKind::Roles:
  case AsyncKind::AsyncThreads:
    return false;
  }
  return false;
}

static bool canEmpty(AsyncKind asyncKind, Space space, AsyncKind producer,
                     Scope scope) {
  switch (asyncKind) {
  case AsyncKind::MmaCommit:
    return space == Space::Smem &&
           (producer == AsyncKind::BulkCopy ||
            (producer == AsyncKind::Threads && scope != Scope::Warp));
  case AsyncKind::Threads:
    return space == Space::Tmem || producer == AsyncKind::BulkCopy ||
           (producer == AsyncKind::Threads && scope == Scope::Cta);
  case AsyncKind::AsyncThreads:
    return producer == AsyncKind::BulkCopy ||
           (producer == AsyncKind::Threads && scope == Scope::Cta);
  case AsyncKind::BulkStore:
    return space == Space::Smem && producer == AsyncKind::Threads &&
           scope != Scope::Pair;
  case AsyncKind::Roles:
    return space == Space::Smem && getWorkTileBytes(producer);
  case AsyncKind::BulkCopy:
  case AsyncKind::Clc:
  case AsyncKind::AtomicCounter:
  case AsyncKind::Groups:
    return false;
  }
  return false;
}

/// Checks two accumulators that share columns.
static LogicalResult verifyOverlap(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t stages, ArrayRef<BufferType> buffers,
                                   int64_t overlap) {
  if (!overlap)
    return success();
  if (stages != 2 || buffers.size() != 1 ||
      buffers[0].getSpace() != Space::Tmem) // ring C8
    return emitError() << "'overlap' requires a ring of 2 stages with one "
                          "buffer in tensor memory, found "
                       << stages << " stages of " << buffers.size()
                       << " buffers";
  int64_t columns = buffers[0].getShape()[1];
  if (overlap < 1 || overlap > columns / 2) // ring C9
    return emitError() << "expected an overlap of 1 to " << columns / 2
                       << " columns, found " << overlap;
  return success();
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t stages, ArrayRef<StringAttr> names,
                               ArrayRef<BufferType> buffers, AsyncKind producer,
                               int64_t producerThreads, AsyncKind consumer,
                               int64_t consumerThreads, Scope scope,
                               int64_t overlap) {
  if (stages < 1 || stages > kMaxStages) // ring C1
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  if (buffers.empty()) // ring C2
    return emitError() << "expected at least 1 buffer in a stage, found none";
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr name : names) // ring C3
    if (!seen.insert(name).second)
      return emitError() << "expected buffers with different names, found "
                         << name << " twice";
  for (int64_t threads : {producerThreads, consumerThreads}) // ring C4
    if (threads < 1 || threads > target::kMaxThreadsPerCta)
      return emitError() << "expected 1 to " << target::kMaxThreadsPerCta
                         << " threads, found " << threads;
  for (BufferType buffer : buffers) {
    if (!canFill(producer, buffer.getSpace(), scope)) // ring C5
      return emitError() << "expected a producer that can write "
                         << stringifySpace(buffer.getSpace())
                         << " with scope = " << stringifyScope(scope)
                         << ", found " << stringifyAsyncKind(producer);
    if (!canEmpty(consumer, buffer.getSpace(), producer, scope)) // ring C6
      return emitError() << "expected a consumer that can read "
                         << stringifySpace(buffer.getSpace()) << " filled by "
                         << stringifyAsyncKind(producer) << ", found "
                         << stringifyAsyncKind(consumer);
  }
  // ring C7
  if (int64_t bytes = getWorkTileBytes(producer);
      bytes && (buffers.size() != 1 || buffers[0].getSizeInBytes() != bytes))
    return emitError() << "expected 1 buffer of " << bytes
                       << " bytes filled by " << stringifyAsyncKind(producer)
                       << ", found " << buffers.size()
                       << " buffers, the first with "
                       << buffers[0].getSizeInBytes() << " bytes";
  return verifyOverlap(emitError, stages, buffers, overlap);
}

RingType RingType::withStages(int64_t stages, int64_t overlap) const {
  return get(getContext(), stages, getNames(), getBuffers(), getProducer(),
             getProducerThreads(), getConsumer(), getConsumerThreads(),
             getScope(), overlap);
}

int64_t RingType::getStageBytes() const {
  int64_t bytes = 0;
  for (BufferType buffer : getBuffers())
    if (buffer.getSpace() == Space::Smem)
      bytes += buffer.getSizeInBytes();
  return bytes;
}

int64_t RingType::getTransactionBytes() const {
  int64_t bytes = 0;
  for (BufferType buffer : getBuffers())
    if (buffer.getSpace() == Space::Smem)
      bytes += buffer.getTransactionBytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// The operations
//===----------------------------------------------------------------------===//

LogicalResult RingOp::verify() { return verifyInKernel(*this); }

/// Fails unless `ring` is the result of an mxgpu.ring, because a role tracks
/// its position in each ring.
static LogicalResult verifyTake(Operation *op, Value ring) {
  if (!ring.getDefiningOp<RingOp>()) // shared C4
    return op->emitOpError("expected a ring defined in the kernel");
  return verifyInRole(op);
}

LogicalResult ProducerAcquireOp::verify() {
  return verifyTake(*this, getRing());
}

LogicalResult ConsumerWaitOp::verify() { return verifyTake(*this, getRing()); }

LogicalResult ProducerCommitOp::verify() {
  return verifyTakenBy<ProducerAcquireOp>(*this, getStage());
}

LogicalResult ConsumerReleaseOp::verify() {
  return verifyTakenBy<ConsumerWaitOp>(*this, getStage());
}

LogicalResult ConsumerTailOp::verify() { return verifyTake(*this, getRing()); }

/// Infers the result types: the token and a view of each buffer.
static LogicalResult inferTaken(MLIRContext *context, ValueRange operands,
                                SmallVectorImpl<Type> &types) {
  auto ring = dyn_cast<RingType>(operands.front().getType());
  if (!ring)
    return failure();
  types.push_back(StageType::get(context, ring));
  llvm::append_range(types, ring.getBuffers());
  return success();
}

LogicalResult ProducerAcquireOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location>, ValueRange operands,
    DictionaryAttr, OpaqueProperties, RegionRange,
    SmallVectorImpl<Type> &types) {
  return inferTaken(context, operands, types);
}

LogicalResult ConsumerWaitOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location>,
                                               ValueRange operands,
                                               DictionaryAttr, OpaqueProperties,
                                               RegionRange,
                                               SmallVectorImpl<Type> &types) {
  return inferTaken(context, operands, types);
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Adds effects that model the transfer of a stage to a new owner.
static void addHandover(RingType ring, Effects &effects) {
  SideEffects::Resource *memory = SharedMemory::get();
  if (ring.getSpace() == Space::Tmem)
    memory = TensorMemory::get();
  for (SideEffects::Resource *resource :
       {memory, static_cast<SideEffects::Resource *>(Barriers::get())}) {
    effects.emplace_back(MemoryEffects::Read::get(), resource);
    effects.emplace_back(MemoryEffects::Write::get(), resource);
  }
}

void ProducerAcquireOp::getEffects(Effects &effects) {
  addHandover(getRing().getType(), effects);
}

void ProducerCommitOp::getEffects(Effects &effects) {
  addHandover(getStage().getType().getRing(), effects);
}

void ConsumerWaitOp::getEffects(Effects &effects) {
  addHandover(getRing().getType(), effects);
}

void ConsumerReleaseOp::getEffects(Effects &effects) {
  addHandover(getStage().getType().getRing(), effects);
}

void ConsumerTailOp::getEffects(Effects &effects) {
  addHandover(getRing().getType(), effects);
}
