//===- LaunchValues.cpp - Buffers, tensor maps and arguments --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates the memory that a launch file describes, and encodes the values of
// arguments, struct fields, patches and globals.
//===----------------------------------------------------------------------===//

#include "LaunchFileImpl.h"

#include "mxsim/io/Npy.h"
#include "mxsim/tensor/NumberFormats.h"
#include "mxsim/tensor/TensorMap.h"

#include <charconv>
#include <cstring>

using namespace mx::sim;
using mx::NpyArray;

//===----------------------------------------------------------------------===//
// Buffers and tensor maps
//===----------------------------------------------------------------------===//

bool LaunchFile::makeBuffers(const JsonReader &json) {
  if (json.has("buffers"))
    for (auto &[name, b] : json["buffers"].members())
      if (json.failed() || !makeBuffer(name, b))
        return false;
  return !json.failed();
}

bool LaunchFile::fillMemory(const JsonReader &json) {
  if (json.has("tensor_maps"))
    for (auto &[name, t] : json["tensor_maps"].members())
      if (!makeTensorMap(name, t))
        return false;
  if (json.has("buffers"))
    for (auto &[name, b] : json["buffers"].members())
      if (b.has("patch") && !patchBuffer(name, b))
        return false;
  if (json.has("globals") && !setGlobals(json["globals"]))
    return false;
  return !json.failed();
}

bool LaunchFile::makeBuffer(const std::string &name, const JsonReader &json) {
  if (!(world ? json.onlyKeys(
                    {"file", "bytes", "fill", "align", "patch", "window"})
              : json.onlyKeys({"file", "bytes", "fill", "align", "patch"})))
    return false;
  uint64_t align = 256;
  if (json.has("align"))
    align = json["align"].unsignedInteger(1ull << 30);
  if (json.failed())
    return false;
  if (!align || (align & (align - 1))) {
    json["align"].fail("expected a power of two");
    return false;
  }
  Buffer b;
  NpyArray array;
  if (json.has("file")) {
    if (json.has("fill")) {
      json.fail("has both 'file' and 'fill'");
      return false;
    }
    std::string path, name = json["file"].string();
    std::string why =
        options.isolated ? "no file may be read" : resolve(name, false, path);
    if (why.empty())
      why = mx::readNpy(path, array);
    if (!why.empty()) {
      json.fail(why);
      return false;
    }
    b.bytes = array.data.size();
    b.dtype = array.dtype;
    b.shape = array.shape;
    if (json.has("bytes")) {
      uint64_t bytes = json["bytes"].unsignedInteger();
      if (bytes < b.bytes) {
        json.fail("expected at least the " + std::to_string(b.bytes) +
                  " bytes of the file, found " + std::to_string(bytes));
        return false;
      }
      b.bytes = bytes;
    }
  } else {
    b.bytes = json["bytes"].unsignedInteger();
  }
  if (json.failed())
    return false;
  b.address = memory().alloc(b.bytes, align, name);
  if (!b.address) {
    json.fail(std::to_string(b.bytes) + " bytes do not fit the device's " +
              std::to_string(memory().bytesCapacity()) + ", of which " +
              std::to_string(memory().bytesInUse()) + " are in use");
    return false;
  }
  if (!array.data.empty())
    memory().copyIn(b.address, array.data.data(), array.data.size());
  if (json.has("fill")) {
    std::string fill = json["fill"].string();
    if (fill == "zero")
      memory().fill(b.address, 0, b.bytes);
    else if (fill == "ff")
      memory().fill(b.address, 0xff, b.bytes);
    else if (fill != "poison")
      json["fill"].fail("expected zero, poison or ff, found '" + fill + "'");
  }
  if (json.has("window") && json["window"].boolean())
    memory().share(b.address);
  device().buffers[name] = b;
  return !json.failed();
}

const Buffer *LaunchFile::findBuffer(const JsonReader &json,
                                     const std::string &name) {
  auto it = device().buffers.find(name);
  if (it != device().buffers.end())
    return &it->second;
  json.fail("no buffer '" + name + "'" +
            (world ? " on device " + std::to_string(number) : ""));
  return nullptr;
}

const Buffer *LaunchFile::findBufferOf(const JsonReader &json,
                                       const JsonReader &name) {
  size_t own = number;
  if (world && json.has("device")) {
    number = json["device"].unsignedInteger();
    if (number >= devices.size())
      json["device"].fail("expected a number below " +
                          std::to_string(devices.size()) + ", found " +
                          std::to_string(number));
  }
  const Buffer *b = json.failed() ? nullptr : findBuffer(name, name.string());
  number = own;
  return b;
}

bool LaunchFile::makeTensorMap(const std::string &name,
                               const JsonReader &json) {
  if (!(world ? json.onlyKeys({"buffer", "device", "offset", "type", "dims",
                               "strides", "box", "element_strides",
                               "interleave", "swizzle", "l2", "oob"})
              : json.onlyKeys({"buffer", "offset", "type", "dims", "strides",
                               "box", "element_strides", "interleave",
                               "swizzle", "l2", "oob"})))
    return false;
  TensorMapDesc map;
  const Buffer *b = findBufferOf(json, json["buffer"]);
  if (json.failed())
    return false;
  map.globalAddress =
      b->address + (json.has("offset") ? json["offset"].unsignedInteger() : 0);
  auto word = [&](const char *key, auto parse, auto &out) {
    if (!json.has(key))
      return;
    std::string text = json[key].string();
    std::string names = json.failed() ? "" : parse(text, out);
    if (!names.empty())
      json[key].fail("unknown name '" + text + "', expected one of " + names);
  };
  json["type"];
  word("type", parseTmapType, map.type);
  word("interleave", parseTmapInterleave, map.interleave);
  word("swizzle", parseTmapSwizzle, map.swizzle);
  word("l2", parseTmapL2, map.l2);
  word("oob", parseTmapOob, map.oob);
  std::vector<uint64_t> dims = json["dims"].unsignedIntegers();
  std::vector<uint64_t> strides = json.has("strides")
                                      ? json["strides"].unsignedIntegers()
                                      : std::vector<uint64_t>();
  std::vector<uint64_t> box = json["box"].unsignedIntegers();
  std::vector<uint64_t> steps = json.has("element_strides")
                                    ? json["element_strides"].unsignedIntegers()
                                    : std::vector<uint64_t>(dims.size(), 1);
  if (json.failed())
    return false;
  size_t rank = dims.size();
  auto expect = [&](const char *key, size_t have, size_t want) {
    if (have != want)
      json[key].fail("expected " + std::to_string(want) + " numbers, found " +
                     std::to_string(have));
  };
  if (rank < 1 || rank > maxTensorRank) {
    json["dims"].fail("expected 1 to 5 numbers, found " + std::to_string(rank));
    return false;
  }
  expect("strides", strides.size(), rank - 1);
  expect("box", box.size(), rank);
  expect("element_strides", steps.size(), rank);
  if (json.failed())
    return false;
  map.rank = rank;
  for (size_t k = 0; k < rank; ++k) {
    map.dims[k] = dims[k];
    map.box[k] = uint32_t(std::min<uint64_t>(box[k], ~0u));
    map.elementStrides[k] = uint32_t(std::min<uint64_t>(steps[k], ~0u));
    if (k + 1 < rank)
      map.strides[k] = strides[k];
  }
  std::string why = validate(map);
  if (!why.empty()) {
    json.fail(why);
    return false;
  }
  std::vector<uint8_t> &image = device().tensorMaps[name];
  image.resize(tensorMapBytes);
  encodeTensorMap(map, image.data());
  return true;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <class T>
static void append(std::vector<uint8_t> &bytes, T v) {
  const auto *p = reinterpret_cast<const uint8_t *>(&v);
  bytes.insert(bytes.end(), p, p + sizeof v);
}

/// Decodes pairs of hexadecimal digits into `bytes`.
static bool readHex(std::string_view digits, std::vector<uint8_t> &bytes) {
  bytes.clear();
  for (size_t at = 0; at + 2 <= digits.size(); at += 2) {
    const char *end = digits.data() + at + 2;
    auto [last, error] =
        std::from_chars(end - 2, end, bytes.emplace_back(), /*base=*/16);
    if (error != std::errc() || last != end)
      return false;
  }
  return digits.size() % 2 == 0;
}

bool LaunchFile::value(const JsonReader &json, std::vector<uint8_t> &bytes,
                       unsigned &align, std::set<std::string> used) {
  static const char *kinds[] = {
      "tensor_map", "buffer", "bytes", "struct", "i8",  "u8",   "i16", "u16",
      "i32",        "u32",    "i64",   "u64",    "f16", "bf16", "f32", "f64"};
  static const std::string kKinds =
      "expected one of tensor_map, buffer, bytes, struct, i8 to u64, f16, "
      "bf16, f32, f64";
  std::string kind;
  bool isPatch = used.count("buffer_offset");
  const char *offsetKey = isPatch ? "buffer_offset" : "offset";
  for (auto &[key, member] : json.members()) {
    bool isKind = false;
    for (const char *k : kinds)
      isKind |= key == k;
    if (isKind) {
      if (!kind.empty())
        json.fail("has both '" + kind + "' and '" + key + "'");
      kind = key;
    } else if (!used.count(key) && key != offsetKey &&
               !(world && key == "device")) {
      json.fail("unknown key '" + key + "', " + kKinds);
    }
  }
  if (json.failed())
    return false;
  if (kind.empty()) {
    json.fail(kKinds);
    return false;
  }
  if (kind != "buffer" && json.has(offsetKey) && !used.count(offsetKey)) {
    json.fail("'" + std::string(offsetKey) + "' requires 'buffer'");
    return false;
  }
  if (kind != "buffer" && json.has("device")) {
    json.fail("'device' requires 'buffer'");
    return false;
  }
  JsonReader v = json[kind];
  bytes.clear();
  auto signedValue = [&](unsigned bits) -> int64_t {
    int64_t x = v.anyInteger();
    if (bits < 64 && (x < -(1ll << (bits - 1)) || x >= (1ll << bits)))
      v.fail(std::to_string(x) + " does not fit " + std::to_string(bits) +
             " bits");
    return x;
  };
  if (kind == "tensor_map") {
    std::string name = v.string();
    auto it = device().tensorMaps.find(name);
    if (it == device().tensorMaps.end()) {
      v.fail("no tensor map '" + name + "'");
      return false;
    }
    bytes = it->second;
    align = tensorMapAlignment;
    return true;
  }
  if (kind == "buffer") {
    const Buffer *b = findBufferOf(json, v);
    if (!b)
      return false;
    uint64_t offset =
        json.has(offsetKey) ? json[offsetKey].unsignedInteger() : 0;
    append(bytes, b->address + offset);
  } else if (kind == "bytes") {
    if (std::string hex = v.string(); !v.failed() && !readHex(hex, bytes))
      v.fail("expected an even number of hexadecimal digits");
    align = 1;
    return !json.failed();
  } else if (kind == "struct") {
    return structure(v, bytes, align);
  } else if (kind == "f16") {
    append(bytes, uint16_t(encodeF64(FloatFormat::F16, v.number())));
  } else if (kind == "bf16") {
    append(bytes, uint16_t(encodeF64(FloatFormat::BF16, v.number())));
  } else if (kind == "f32") {
    append(bytes, float(v.number()));
  } else if (kind == "f64") {
    append(bytes, v.number());
  } else if (kind == "i8" || kind == "u8") {
    append(bytes, uint8_t(signedValue(8)));
  } else if (kind == "i16" || kind == "u16") {
    append(bytes, uint16_t(signedValue(16)));
  } else if (kind == "i32" || kind == "u32") {
    append(bytes, uint32_t(signedValue(32)));
  } else {
    append(bytes, uint64_t(signedValue(64)));
  }
  align = bytes.size();
  return !json.failed();
}

bool LaunchFile::structure(const JsonReader &json, std::vector<uint8_t> &bytes,
                           unsigned &align) {
  if (!json.onlyKeys({"size", "align", "fields"}))
    return false;
  uint64_t size = json["size"].unsignedInteger(1u << 20);
  align = json.has("align") ? json["align"].unsignedInteger(4096) : 1;
  if (json.failed())
    return false;
  if (!align || (align & (align - 1))) {
    json["align"].fail("expected a power of two");
    return false;
  }
  std::vector<uint8_t> all(size, 0);
  for (const JsonReader &field : json["fields"].elements()) {
    std::vector<uint8_t> part;
    unsigned partAlign = 1;
    uint64_t at = field["offset"].unsignedInteger();
    // "offset" is the offset of the field in the struct, so the offset in a
    // buffer is "buffer_offset".
    if (field.failed() ||
        !value(field, part, partAlign, {"offset", "buffer_offset"}))
      return false;
    if (at > size || part.size() > size - at) {
      field.fail(std::to_string(part.size()) + " bytes at offset " +
                 std::to_string(at) + " do not fit the struct's " +
                 std::to_string(size));
      return false;
    }
    std::memcpy(all.data() + at, part.data(), part.size());
  }
  bytes = std::move(all);
  return !json.failed();
}

bool LaunchFile::patchBuffer(const std::string &name, const JsonReader &json) {
  const Buffer &b = device().buffers[name];
  for (const JsonReader &patch : json["patch"].elements()) {
    std::vector<uint8_t> bytes;
    unsigned align = 1;
    uint64_t at = patch["offset"].unsignedInteger();
    if (patch.failed() ||
        !value(patch, bytes, align, {"offset", "buffer_offset"}))
      return false;
    if (at > b.bytes || bytes.size() > b.bytes - at) {
      patch.fail(std::to_string(bytes.size()) + " bytes at offset " +
                 std::to_string(at) + " do not fit the buffer's " +
                 std::to_string(b.bytes));
      return false;
    }
    memory().copyIn(b.address + at, bytes.data(), bytes.size());
  }
  return !json.failed();
}

bool LaunchFile::setGlobals(const JsonReader &json) {
  for (auto &[name, entry] : json.members()) {
    std::vector<uint8_t> bytes;
    unsigned align = 1;
    if (!value(entry, bytes, align, {}))
      return false;
    const GlobalInfo *global = nullptr;
    for (auto &m : modules)
      if (const GlobalInfo *g = m.ofDevices[number]->findGlobal(name))
        global = g;
    if (!global) {
      entry.fail("no module has a variable '" + name + "'");
      return false;
    }
    if (bytes.size() > global->bytes) {
      entry.fail("the variable has " + std::to_string(global->bytes) +
                 " bytes, found " + std::to_string(bytes.size()));
      return false;
    }
    memory().copyIn(global->address, bytes.data(), bytes.size());
  }
  return !json.failed();
}
