//===- Tma.cpp - Tile copies between global and shared memory -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A box is a dense sequence of lines along dimension 0. Loads and stores share
// the loop over lines. A swizzled line is moved in 16-byte chunks, and other
// lines are moved at once.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/Tma.h"
#include "TmaReduce.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;

namespace {

constexpr unsigned chunkBytes = 16;
constexpr unsigned maxLineBytes = 256 * 8;
constexpr unsigned destinationAlignment = 128;

std::string str(int64_t value) { return std::to_string(value); }

/// Line of a box, with the range of its elements inside the tensor.
struct Line {
  int64_t firstElement;
  /// Address of element `firstElement`; out of bounds if the index is negative.
  uint64_t global;
  /// Elements [validBegin, validEnd) of the line are inside the tensor.
  uint32_t validBegin, validEnd;
  /// Unswizzled shared address of the line.
  uint32_t shared;
};

struct Geometry {
  const TensorMapDesc &map;
  unsigned bits;
  uint32_t elements;
  /// Bytes of a line in global memory.
  uint32_t lineBytes;
  /// Distance between lines in shared memory: the swizzle span, even if the box
  /// is narrower. Padded types use a byte per element.
  uint32_t pitch;
  uint64_t lines;

  explicit Geometry(const TensorMapDesc &map)
      : map(map), bits(elementBits(map.type)), elements(boxElements(map, 0)),
        lineBytes(elements * bits / 8), lines(1) {
    unsigned span = swizzleSpan(map.swizzle);
    pitch = span ? span : isPaddedType(map.type) ? elements : lineBytes;
    for (unsigned i = 1; i < map.rank; ++i)
      lines *= boxElements(map, i);
  }
  /// Returns the payload of a 16-byte chunk of shared memory, in bytes.
  unsigned chunkPayload() const {
    return isPaddedType(map.type) ? 16 * bits / 8 : chunkBytes;
  }
  /// Returns true if the swizzle exchanges the 8-byte halves of chunks.
  bool flips() const { return map.swizzle == TmapSwizzle::B128Atom32Flip8; }
};

Fault checkMap(const TensorMapDesc &map) {
  if (std::string error = validate(map); !error.empty())
    return {FaultKind::Descriptor, "tensor map: " + error};
  // The driver encodes such maps, but an H200 reports an illegal instruction
  // for copies with them.
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.dims[i] > uint64_t{1} << 31)
      return {FaultKind::Descriptor,
              "tensor map: dims[" + str(i) +
                  "] of a copy must be at most 2^31, got " + str(map.dims[i]) +
                  " (tensormap.replace .global_dim stores 0 as 2^32)"};
  if (map.interleave != TmapInterleave::None)
    return {FaultKind::Unsupported,
            "tensor maps with interleaved layout are not supported"};
  return {};
}

/// Fails unless a box starts at a multiple of 16 bytes. An H200 reports an
/// illegal instruction for other boxes (measured for whole-byte elements).
Fault checkFirstCoordinate(const TensorMapDesc &map, int64_t coordinate) {
  int64_t multiple =
      isPaddedType(map.type) ? 128 : 128 / int64_t(elementBits(map.type));
  if (coordinate % multiple)
    return {FaultKind::Alignment,
            "coordinate 0 of a tensor map of type " +
                std::string(name(map.type)) + " must be a multiple of " +
                str(multiple) + ", got " + str(coordinate)};
  return {};
}

Fault checkShared(const Geometry &geometry, const SharedMemory &shared,
                  uint32_t address, uint64_t lines) {
  if (address % destinationAlignment)
    return {FaultKind::Alignment,
            "shared address of a tensor copy must be aligned to 128 bytes, "
            "got offset " +
                str(address)};
  uint64_t bytes = lines * geometry.pitch;
  if (!shared.contains(address, bytes))
    return {FaultKind::Bounds,
            "box of " + str(bytes) + " bytes at shared offset " + str(address) +
                " exceeds the " + str(shared.size) + " bytes of shared memory"};
  return {};
}

Fault outOfBounds(uint64_t address, uint64_t bytes, const char *verb) {
  return {FaultKind::Bounds, "tensor copy " + std::string(verb) + " " +
                                 str(bytes) + " bytes at global address " +
                                 str(address) +
                                 ", which is not accessible memory"};
}

/// Fills elements outside the tensor. The OOB-NaN of the ISA repeats the
/// half-word 0x7FF7 for all types (measured on an H200).
void fillOutside(const TensorMapDesc &map, uint8_t *line, uint32_t bytes) {
  std::memset(line, 0, bytes);
  if (map.oob == TmapOob::Nan)
    for (uint32_t i = 0; i < bytes; ++i)
      line[i] = i % 2 ? 0x7F : 0xF7;
}

bool convertsToTf32(TmapType type) {
  return type == TmapType::TF32 || type == TmapType::TF32Ftz;
}

/// Rounds the elements of a tf32 load to nearest even, including subnormals
/// (.ftz has no effect), and NaN to 0x7FFFE000, as measured on an H200. Other
/// type names also suggest conversions, but an H200 does not convert them.
void roundToTf32(uint8_t *line, uint32_t bytes) {
  constexpr unsigned dropped = 13;
  for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t word;
    std::memcpy(&word, line + i, 4);
    if ((word & 0x7FFFFFFFu) > 0x7F800000u) {
      word = 0x7FFFE000u;
    } else {
      uint32_t odd = word >> dropped & 1;
      word += (1u << (dropped - 1)) - 1 + odd;
      word &= ~((1u << dropped) - 1);
    }
    std::memcpy(line + i, &word, 4);
  }
}

/// Calls fn(shared address, offset in the line, bytes) for each piece of a line
/// that is contiguous in both memories.
template <typename Fn>
void forEachPiece(const Geometry &geometry, uint32_t line, Fn fn) {
  TmapSwizzle swizzle = geometry.map.swizzle;
  unsigned payload = geometry.chunkPayload();
  if (swizzle == TmapSwizzle::None && payload == chunkBytes)
    return fn(line, 0u, geometry.lineBytes);
  // The 8-byte flip exchanges the halves of a chunk.
  unsigned piece = geometry.flips() ? 8 : chunkBytes;
  unsigned pieces = geometry.lineBytes / payload * (chunkBytes / piece);
  for (unsigned i = 0; i < pieces; ++i) {
    uint32_t in = i * piece;
    unsigned offset = in / chunkBytes * payload + in % chunkBytes;
    unsigned bytes = std::min(piece, payload - in % chunkBytes);
    fn(swizzleAddress(swizzle, line + in), offset, bytes);
  }
}

/// Reports the bytes of a line in shared memory. Within a whole span, a swizzle
/// only exchanges them.
void observe(const Geometry &geometry, uint32_t line, JoinedAccess access) {
  if (geometry.lineBytes == swizzleSpan(geometry.map.swizzle) &&
      geometry.chunkPayload() == chunkBytes)
    return access.add(line, geometry.lineBytes);
  forEachPiece(geometry, line, [&](uint32_t address, unsigned, unsigned bytes) {
    access.add(address, bytes);
  });
}

void clip(const Geometry &geometry, Line &line) {
  int64_t dim = static_cast<int64_t>(geometry.map.dims[0]);
  int64_t elements = geometry.elements;
  int64_t begin = std::clamp<int64_t>(-line.firstElement, 0, elements);
  int64_t end = std::clamp<int64_t>(dim - line.firstElement, begin, elements);
  line.validBegin = static_cast<uint32_t>(begin);
  line.validEnd = static_cast<uint32_t>(end);
}

/// Returns the address of the first element of a line. Wraps around for
/// elements before the tensor; such addresses are never used.
uint64_t elementAddress(const Geometry &geometry, uint64_t base,
                        int64_t element) {
  return base + static_cast<uint64_t>(element * int64_t{geometry.bits} / 8);
}

/// Calls fn(line) for each line of the box, dimension 1 fastest, until it
/// returns a fault.
template <typename Fn>
Fault forEachLine(const Geometry &geometry, const int32_t *coordinates,
                  uint32_t shared, Fn fn) {
  const TensorMapDesc &map = geometry.map;
  uint32_t index[maxTensorRank] = {};
  Line line;
  line.firstElement = coordinates[0];
  for (uint64_t i = 0; i < geometry.lines; ++i) {
    uint64_t base = map.globalAddress;
    bool inside = true;
    for (unsigned d = 1; d < map.rank; ++d) {
      int64_t at = int64_t{coordinates[d]} +
                   int64_t{index[d]} * int64_t{map.elementStrides[d]};
      inside &= at >= 0 && static_cast<uint64_t>(at) < map.dims[d];
      base += static_cast<uint64_t>(at) * map.strides[d - 1];
    }
    line.shared = shared + static_cast<uint32_t>(i * geometry.pitch);
    line.global = elementAddress(geometry, base, line.firstElement);
    clip(geometry, line);
    if (!inside)
      line.validEnd = line.validBegin;
    if (Fault fault = fn(line))
      return fault;
    for (unsigned d = 1; d < map.rank; ++d) {
      if (++index[d] < boxElements(map, d))
        break;
      index[d] = 0;
    }
  }
  return {};
}

/// Calls fn(line) for the four rows of gather4 and scatter4.
template <typename Fn>
Fault forEachRow(const Geometry &geometry, int32_t column,
                 const int32_t rows[4], uint32_t shared, Fn fn) {
  const TensorMapDesc &map = geometry.map;
  for (unsigned i = 0; i < 4; ++i) {
    Line line;
    line.firstElement = column;
    uint64_t base = map.globalAddress +
                    static_cast<uint64_t>(int64_t{rows[i]}) * map.strides[0];
    line.global = elementAddress(geometry, base, column);
    line.shared = shared + i * geometry.pitch;
    clip(geometry, line);
    if (rows[i] < 0 || static_cast<uint64_t>(rows[i]) >= map.dims[1])
      line.validEnd = line.validBegin;
    if (Fault fault = fn(line))
      return fault;
  }
  return {};
}

/// Bytes [begin, end) of a line inside the tensor.
struct ValidBytes {
  uint32_t begin, end;
  ValidBytes(const Geometry &geometry, const Line &line)
      : begin(line.validBegin * geometry.bits / 8),
        end(line.validEnd * geometry.bits / 8) {}
  uint32_t size() const { return end - begin; }
};

Fault loadLine(const Geometry &geometry, const Line &line, GlobalAccess &global,
               const SharedMemory &shared) {
  ValidBytes valid(geometry, line);
  uint8_t buffer[maxLineBytes];
  const uint8_t *source = buffer;
  const uint8_t *host = nullptr;
  if (valid.size()) {
    host = global.translate(line.global + valid.begin, valid.size(), false);
    if (!host)
      return outOfBounds(line.global + valid.begin, valid.size(), "reads");
  }
  if (shared.isLeftOut)
    return {};
  bool convert = convertsToTf32(geometry.map.type);
  if (valid.size() == geometry.lineBytes && !convert) {
    source = host;
  } else {
    fillOutside(geometry.map, buffer, geometry.lineBytes);
    if (valid.size())
      std::memcpy(buffer + valid.begin, host, valid.size());
    if (convert)
      roundToTf32(buffer + valid.begin, valid.size());
  }
  forEachPiece(geometry, line.shared,
               [&](uint32_t address, unsigned offset, unsigned bytes) {
                 std::memcpy(shared.data + address, source + offset, bytes);
               });
  observe(geometry, line.shared, {shared, /*isWrite=*/true});
  return {};
}

void readLine(const Geometry &geometry, const Line &line,
              const SharedMemory &shared, uint8_t *buffer) {
  forEachPiece(geometry, line.shared,
               [&](uint32_t address, unsigned offset, unsigned bytes) {
                 std::memcpy(buffer + offset, shared.data + address, bytes);
               });
  observe(geometry, line.shared, {shared, /*isWrite=*/false});
}

Fault storeLine(const Geometry &geometry, const Line &line,
                GlobalAccess &global, const SharedMemory &shared) {
  ValidBytes valid(geometry, line);
  if (!valid.size())
    return {};
  // Measured on an H200: a row that ends inside a 16-byte block is written to
  // the end of the block, into the gap before the next row.
  if (line.global % 16 == 0)
    valid.end = std::min((valid.end + 15) / 16 * 16, geometry.lineBytes);
  uint8_t *host =
      global.translate(line.global + valid.begin, valid.size(), true);
  if (!host)
    return outOfBounds(line.global + valid.begin, valid.size(), "writes");
  if (shared.isLeftOut)
    return {};
  uint8_t buffer[maxLineBytes];
  readLine(geometry, line, shared, buffer);
  std::memcpy(host, buffer + valid.begin, valid.size());
  return {};
}

Fault checkLoad(const TensorMapDesc &map) {
  if (Fault fault = checkMap(map))
    return fault;
  if (isPaddedType(map.type) && map.swizzle == TmapSwizzle::B128Atom64)
    return {FaultKind::Descriptor,
            "swizzle 128b_atom64 of type u6_align16 is for stores only"};
  return {};
}

Fault checkStore(const TensorMapDesc &map) {
  if (Fault fault = checkMap(map))
    return fault;
  if (map.type == TmapType::U4Align16)
    return {FaultKind::Descriptor,
            "tensor copies from shared memory do not exist for type "
            "u4_align16"};
  return {};
}

Fault checkRows(const TensorMapDesc &map) {
  if (map.rank != 2)
    return {FaultKind::Descriptor,
            "gather4 and scatter4 need a tensor map of rank 2, got " +
                str(map.rank)};
  if (map.box[1] != 1)
    return {FaultKind::Descriptor,
            "gather4 and scatter4 need box[1] of 1, got " + str(map.box[1])};
  return {};
}

Fault checkPlace(const Geometry &geometry, int64_t coordinate,
                 const SharedMemory &shared, uint32_t address, uint64_t lines) {
  if (Fault fault = checkFirstCoordinate(geometry.map, coordinate))
    return fault;
  return checkShared(geometry, shared, address, lines);
}

} // namespace

uint64_t mx::sim::tmaSharedBytes(const TensorMapDesc &map) {
  Geometry geometry(map);
  return geometry.pitch * geometry.lines;
}

uint64_t mx::sim::tmaTransactionBytes(const TensorMapDesc &map) {
  Geometry geometry(map);
  return geometry.lineBytes * geometry.lines;
}

std::vector<TmaStretch> mx::sim::tmaStretches(const TensorMapDesc &map,
                                              const int32_t *coordinates,
                                              bool isFour) {
  Geometry geometry(map);
  std::vector<TmaStretch> found;
  auto add = [&](const Line &line) {
    ValidBytes valid(geometry, line);
    if (valid.size())
      found.push_back({line.global + valid.begin, valid.size()});
    return Fault();
  };
  (void)(isFour ? forEachRow(geometry, coordinates[0], coordinates + 1, 0, add)
                : forEachLine(geometry, coordinates, 0, add));
  return found;
}

TmaResult mx::sim::tmaLoad(const TensorMapDesc &map, const int32_t *coordinates,
                           GlobalAccess &global, const SharedMemory &shared,
                           uint32_t destination) {
  if (Fault fault = checkLoad(map))
    return {fault, 0};
  Geometry geometry(map);
  if (Fault fault = checkPlace(geometry, coordinates[0], shared, destination,
                               geometry.lines))
    return {fault, 0};
  Fault fault =
      forEachLine(geometry, coordinates, destination, [&](const Line &line) {
        return loadLine(geometry, line, global, shared);
      });
  return {fault, geometry.lineBytes * geometry.lines};
}

TmaResult mx::sim::tmaGather4(const TensorMapDesc &map, int32_t column,
                              const int32_t rows[4], GlobalAccess &global,
                              const SharedMemory &shared,
                              uint32_t destination) {
  if (Fault fault = checkLoad(map))
    return {fault, 0};
  if (Fault fault = checkRows(map))
    return {fault, 0};
  Geometry geometry(map);
  if (Fault fault = checkPlace(geometry, column, shared, destination, 4))
    return {fault, 0};
  Fault fault =
      forEachRow(geometry, column, rows, destination, [&](const Line &line) {
        return loadLine(geometry, line, global, shared);
      });
  return {fault, uint64_t{geometry.lineBytes} * 4};
}

/// Rejects negative coordinates of stores because an H200 reports an illegal
/// instruction (measured). Loads accept negative coordinates.
static Fault checkStoreCoordinates(const TensorMapDesc &map,
                                   const int32_t *coordinates) {
  for (unsigned dim = 0; dim < map.rank; ++dim)
    if (coordinates[dim] < 0)
      return {FaultKind::Descriptor,
              "coordinate " + str(dim) +
                  " of a tensor store must not be negative, got " +
                  str(coordinates[dim])};
  return {};
}

TmaResult mx::sim::tmaStore(const TensorMapDesc &map,
                            const int32_t *coordinates, GlobalAccess &global,
                            const SharedMemory &shared, uint32_t source) {
  if (Fault fault = checkStore(map))
    return {fault, 0};
  if (Fault fault = checkStoreCoordinates(map, coordinates))
    return {fault, 0};
  Geometry geometry(map);
  if (Fault fault =
          checkPlace(geometry, coordinates[0], shared, source, geometry.lines))
    return {fault, 0};
  Fault fault =
      forEachLine(geometry, coordinates, source, [&](const Line &line) {
        return storeLine(geometry, line, global, shared);
      });
  return {fault, geometry.lineBytes * geometry.lines};
}

TmaResult mx::sim::tmaScatter4(const TensorMapDesc &map, int32_t column,
                               const int32_t rows[4], GlobalAccess &global,
                               const SharedMemory &shared, uint32_t source) {
  if (Fault fault = checkStore(map))
    return {fault, 0};
  if (Fault fault = checkRows(map))
    return {fault, 0};
  Geometry geometry(map);
  if (Fault fault = checkPlace(geometry, column, shared, source, 4))
    return {fault, 0};
  Fault fault =
      forEachRow(geometry, column, rows, source, [&](const Line &line) {
        return storeLine(geometry, line, global, shared);
      });
  return {fault, uint64_t{geometry.lineBytes} * 4};
}

TmaResult mx::sim::tmaReduce(ReduceOp op, const TensorMapDesc &map,
                             const int32_t *coordinates, GlobalAccess &global,
                             const SharedMemory &shared, uint32_t source) {
  if (Fault fault = checkMap(map))
    return {fault, 0};
  ReduceFunction reduce = findTensorReduce(op, map.type);
  if (!reduce)
    return {Fault(FaultKind::Descriptor,
                  "reduction " + std::string(name(op)) +
                      " does not exist for tensor maps of type " +
                      std::string(name(map.type))),
            0};
  Geometry geometry(map);
  if (Fault fault =
          checkPlace(geometry, coordinates[0], shared, source, geometry.lines))
    return {fault, 0};
  Fault fault = forEachLine(
      geometry, coordinates, source, [&](const Line &line) -> Fault {
        ValidBytes valid(geometry, line);
        if (!valid.size())
          return {};
        uint8_t *host =
            global.translate(line.global + valid.begin, valid.size(), true);
        if (!host)
          return outOfBounds(line.global + valid.begin, valid.size(),
                             "reduces into");
        if (shared.isLeftOut)
          return {};
        uint8_t buffer[maxLineBytes];
        readLine(geometry, line, shared, buffer);
        reduce(host, buffer + valid.begin, valid.size());
        return {};
      });
  return {fault, geometry.lineBytes * geometry.lines};
}
