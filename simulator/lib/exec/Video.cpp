//===- Video.cpp - Video instructions -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Video instructions": scalar vadd, vsub, vabsdiff, vmin, vmax, vshl,
// vshr, vmad and vset, and packed forms for two halves or four bytes. GPUs
// since Maxwell expand most of these instructions to several others, so a
// single generic handler is fast enough.
//===----------------------------------------------------------------------===//

#include "../machine/Lanes.h"
#include "Instructions.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Type;

namespace {

enum class VideoOp { Add, Sub, AbsDiff, Min, Max, Avrg, Shl, Shr, Mad, Set };
enum class Second { None, Add, Min, Max, Merge };
enum Cmp { EQ, NE, LT, LE, GT, GE };

/// Decoded video instruction, stored as words in Program::extra.
struct Video {
  uint32_t op = 0, second = 0, cmp = 0;
  uint32_t signedD = 0, signedA = 0, signedB = 0;
  uint32_t sat = 0, wrap = 0;
  uint32_t shift = 0, plusOne = 0;
  /// Number of elements (1, 2 or 4), and selected parts of d, a and b. A part
  /// in a scalar form is bit offset << 8 | number of bits. In a packed form,
  /// partD is the mask of written elements, and each nibble of partA and partB
  /// is the index of an element in {b, a}.
  uint32_t count = 1, partD = 32, partA = 32, partB = 32;
};
constexpr unsigned kWords = sizeof(Video) / sizeof(uint32_t);

int64_t select(uint64_t pool, unsigned at, unsigned bits, bool isSigned) {
  uint64_t v = (pool >> at) & ((1ull << bits) - 1);
  return isSigned ? int64_t(v << (64 - bits)) >> (64 - bits) : int64_t(v);
}

int64_t clamp(int64_t v, unsigned bits, bool isSigned) {
  int64_t lo = isSigned ? -(1ll << (bits - 1)) : 0;
  int64_t hi = isSigned ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
  return v < lo ? lo : v > hi ? hi : v;
}

/// Computes the result before saturation from operands of up to 33 bits.
int64_t combine(const Video &v, int64_t a, int64_t b) {
  switch (VideoOp(v.op)) {
  case VideoOp::Add:
    return a + b;
  case VideoOp::Sub:
    return a - b;
  case VideoOp::AbsDiff:
    return a > b ? a - b : b - a;
  case VideoOp::Min:
    return a < b ? a : b;
  case VideoOp::Max:
    return a > b ? a : b;
  case VideoOp::Avrg:
    return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
  case VideoOp::Shl:
  case VideoOp::Shr: {
    unsigned n = v.wrap ? b & 31 : b > 32 ? 32 : b;
    if (VideoOp(v.op) == VideoOp::Shr)
      return a >> n;
    // Keep 31 bits below the sign, so that .sat detects lost bits.
    if (v.sat && n == 32)
      return a < 0 ? INT64_MIN : a ? INT64_MAX : 0;
    if (v.sat)
      return int64_t(uint64_t(a) << n);
    return n > 31 ? 0 : int64_t(uint32_t(a) << n);
  }
  case VideoOp::Set:
    switch (v.cmp) {
    case EQ:
      return a == b;
    case NE:
      return a != b;
    case LT:
      return a < b;
    case LE:
      return a <= b;
    case GT:
      return a > b;
    default:
      return a >= b;
    }
  case VideoOp::Mad:
    break;
  }
  return 0;
}

uint32_t multiplyAdd(const Video &v, int64_t a, int64_t b, uint32_t c) {
  bool isSigned = v.signedA || v.signedB;
  // If there is a shift, the third operand is signed (seen on sm_90).
  bool isSignedC = isSigned || v.shift;
  __int128 r = __int128(a) * b + (isSignedC ? __int128(int32_t(c)) : c) +
               (v.plusOne ? 1 : 0);
  r >>= v.shift;
  if (v.sat) {
    __int128 lo = isSigned ? INT32_MIN : 0;
    __int128 hi = isSigned ? __int128(INT32_MAX) : __int128(UINT32_MAX);
    r = r < lo ? lo : r > hi ? hi : r;
  }
  return uint32_t(r);
}

uint32_t scalar(const Video &v, uint32_t a, uint32_t b, uint32_t c) {
  int64_t x = select(a, v.partA >> 8, v.partA & 0xff, v.signedA);
  int64_t y = select(b, v.partB >> 8, v.partB & 0xff, v.signedB);
  if (VideoOp(v.op) == VideoOp::Mad)
    return multiplyAdd(v, x, y, c);
  int64_t r = combine(v, x, y);
  unsigned bits = v.partD & 0xff, at = v.partD >> 8;
  if (v.sat)
    r = clamp(r, bits, v.signedD);
  uint32_t t = uint32_t(r);
  switch (Second(v.second)) {
  case Second::None:
    return t;
  case Second::Add:
    return t + c;
  case Second::Min:
  case Second::Max: {
    bool less = v.signedD ? int32_t(t) < int32_t(c) : t < c;
    return less == (Second(v.second) == Second::Min) ? t : c;
  }
  case Second::Merge:
    break;
  }
  uint32_t m = uint32_t(((1ull << bits) - 1) << at);
  return ((t << at) & m) | (c & ~m);
}

uint32_t packed(const Video &v, uint32_t a, uint32_t b, uint32_t c) {
  uint64_t pool = uint64_t(b) << 32 | a;
  unsigned bits = 32 / v.count;
  uint32_t d = c;
  for (unsigned k = 0; k < v.count; ++k) {
    if (!((v.partD >> k) & 1))
      continue;
    int64_t x =
        select(pool, ((v.partA >> (4 * k)) & 7) * bits, bits, v.signedA);
    int64_t y =
        select(pool, ((v.partB >> (4 * k)) & 7) * bits, bits, v.signedB);
    int64_t r = combine(v, x, y);
    if (v.sat)
      r = clamp(r, bits, v.signedD);
    uint32_t m = ((1u << bits) - 1) << (k * bits);
    if (Second(v.second) == Second::Add)
      d += uint32_t(r);
    else
      d = (d & ~m) | ((uint32_t(r) << (k * bits)) & m);
  }
  return d;
}

const Instr *video(Warp &w, const Instr *i, uint32_t mask) {
  Video v;
  std::memcpy(static_cast<void *>(&v), &w.machine->program.extra[i->aux],
              sizeof v);
  uint32_t *d = w.at<uint32_t>(i->d);
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b),
                 *c = w.at<uint32_t>(i->c);
  forLanes(mask, [&](unsigned lane) {
    d[lane] = v.count == 1 ? scalar(v, a[lane], b[lane], c[lane])
                           : packed(v, a[lane], b[lane], c[lane]);
  });
  return i + 1;
}

/// Parses the part of a scalar operand: b0 to b3, h0 or h1.
bool parsePart(std::string_view name, uint32_t &part) {
  if (name.empty()) {
    part = 32;
    return true;
  }
  unsigned limit = name[0] == 'b' ? 4 : name[0] == 'h' ? 2 : 0;
  unsigned at = name.size() == 2 ? name[1] - '0' : 9;
  if (at >= limit)
    return false;
  part = (32 / limit * at) << 8 | 32 / limit;
  return true;
}

/// Parses the elements of a packed operand, such as h32 or b7654. The last
/// digit selects the lowest element. Without a name, returns `standard`.
bool parseElements(std::string_view name, unsigned count, uint32_t standard,
                   uint32_t &elements) {
  elements = standard;
  if (name.empty())
    return true;
  if (name.size() != count + 1 || name[0] != (count == 2 ? 'h' : 'b'))
    return false;
  elements = 0;
  for (char c : name.substr(1)) {
    unsigned at = c - '0';
    if (at >= 2 * count)
      return false;
    elements = elements << 4 | at;
  }
  return true;
}

/// Parses the mask of written elements of d: h1, h10, b3210, b20.
bool parseMask(std::string_view name, unsigned count, uint32_t &mask) {
  mask = (1u << count) - 1;
  if (name.empty())
    return true;
  if (name.size() < 2 || name[0] != (count == 2 ? 'h' : 'b'))
    return false;
  mask = 0;
  for (char c : name.substr(1)) {
    unsigned at = c - '0';
    if (at >= count)
      return false;
    mask |= 1u << at;
  }
  return true;
}

/// Splits an operand into its register and its selector.
Operand takePart(Decoder &d, size_t k, std::string_view &part) {
  Operand op = d.operand(k);
  if (op.kind == Operand::Reg) {
    part = op.name;
    op.name = {};
  }
  return op;
}

void decodeVideo(Decoder &d) {
  static constexpr std::pair<std::string_view, VideoOp> names[] = {
      {"vadd", VideoOp::Add},         {"vsub", VideoOp::Sub},
      {"vabsdiff", VideoOp::AbsDiff}, {"vmin", VideoOp::Min},
      {"vmax", VideoOp::Max},         {"vavrg", VideoOp::Avrg},
      {"vshl", VideoOp::Shl},         {"vshr", VideoOp::Shr},
      {"vmad", VideoOp::Mad},         {"vset", VideoOp::Set},
  };
  Video v;
  std::string_view name = d.inst->opcode;
  if (name.back() == '2' || name.back() == '4') {
    v.count = name.back() - '0';
    name.remove_suffix(1);
  }
  for (auto &[text, op] : names)
    if (text == name)
      v.op = uint32_t(op);
  bool isSet = VideoOp(v.op) == VideoOp::Set;
  bool isMad = VideoOp(v.op) == VideoOp::Mad;
  bool isShift = VideoOp(v.op) == VideoOp::Shl || VideoOp(v.op) == VideoOp::Shr;
  Type types[3] = {{'U', 32}, {'U', 32}, {'U', 32}};
  for (unsigned k = isSet ? 1 : 0; k < 3; ++k)
    if (!d.takeType(types[k]) || types[k].bits != 32 || types[k].kind == 'F')
      return d.unsupported("expects types of .u32 and .s32");
  v.signedD = types[0].kind == 'S';
  v.signedA = types[1].kind == 'S';
  v.signedB = types[2].kind == 'S';
  if (isSet) {
    int cmp = d.takeAny({"eq", "ne", "lt", "le", "gt", "ge"});
    if (cmp < 0)
      return d.unsupported("expects a comparison");
    v.cmp = cmp;
  }
  v.sat = d.take("sat");
  if (isShift) {
    int mode = d.takeAny({"clamp", "wrap"});
    if (mode < 0 || v.signedB)
      return d.unsupported(
          "expects .u32 as the type of b, and .clamp or .wrap");
    v.wrap = mode;
  }
  if (isMad) {
    v.plusOne = d.take("po");
    v.shift = d.take("shr7") ? 7 : d.take("shr15") ? 15 : 0;
  } else {
    int second =
        v.count > 1 ? d.takeAny({"add"}) : d.takeAny({"add", "min", "max"});
    v.second = second < 0 ? 0 : second + 1;
  }
  std::string_view partD, partA, partB;
  Operand opA = takePart(d, 1, partA), opB = takePart(d, 2, partB);
  Operand opD = takePart(d, 0, partD);
  bool isGood;
  if (v.count == 1) {
    isGood = parsePart(partD, v.partD) && parsePart(partA, v.partA) &&
             parsePart(partB, v.partB);
    if (!partD.empty() && v.second)
      isGood = false;
    if (!partD.empty())
      v.second = uint32_t(Second::Merge);
  } else {
    uint32_t low = v.count == 2 ? 0x10 : 0x3210;
    uint32_t high = v.count == 2 ? 0x32 : 0x7654;
    isGood = parseMask(partD, v.count, v.partD) &&
             parseElements(partA, v.count, low, v.partA) &&
             parseElements(partB, v.count, high, v.partB);
  }
  if (!isGood)
    return d.unsupported("no such selection of a register's parts");
  bool hasC = v.second || isMad || v.count > 1;
  if (!d.expectOperands(hasC ? 4 : 3, hasC ? 4 : 3))
    return;
  Slot a = d.use(opA, 4), b = d.use(opB, 4);
  Slot c = hasC ? d.use(3, {'B', 32}) : a;
  Slot out = d.def(opD, 4);
  uint32_t words[kWords];
  std::memcpy(words, &v, sizeof v);
  uint32_t first = d.program.extra.size();
  for (uint32_t word : words)
    d.addExtra(word);
  Instr &i = d.emit(video);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
  i.aux = first;
}

} // namespace

void mx::sim::addVideoInstructions(DecodeTable &t) {
  for (const char *name :
       {"vadd",      "vsub",      "vabsdiff", "vmin",  "vmax",  "vshl",
        "vshr",      "vmad",      "vset",     "vadd2", "vsub2", "vavrg2",
        "vabsdiff2", "vmin2",     "vmax2",    "vset2", "vadd4", "vsub4",
        "vavrg4",    "vabsdiff4", "vmin4",    "vmax4", "vset4"})
    t[name] = decodeVideo;
}
