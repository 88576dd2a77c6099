//===- ReadLaunch.cpp - Tensor maps and kernel parameters -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "EntryReader.h"

using namespace mx;
using namespace mx::plan;

TensorMap EntryReader::readTensorMap(const JsonReader &json, bool isStep) {
  TensorMap map;
  if (!json.onlyKeys({"buffer", "offset", "type", "dims", "strides", "box",
                      "swizzle", "l2", "oob"}))
    return map;
  map.buffer = readBuffer(json["buffer"]);
  map.offset = isStep ? readNumber(json["offset"]) : readSize(json["offset"]);
  map.type = json["type"].enumerator<target::TensorMapType>(
      target::kNumTensorMapTypes,
      [](target::TensorMapType type) { return target::getInfo(type).name; });
  map.dims = readNumbers(json["dims"]);
  map.strides = readNumbers(json["strides"]);
  map.box = json["box"].list<int64_t>([](const JsonReader &size) {
    return size.integer(1, target::kTensorMapMaxBox);
  });
  map.swizzle = json["swizzle"].enumerator<Swizzle>(
      kNumSwizzles, [](Swizzle swizzle) { return getInfo(swizzle).name; });
  map.l2 = json["l2"].enumerator<target::TensorMapL2>(
      4, [](target::TensorMapL2 l2) { return target::getName(l2); });
  map.fill = json["oob"].enumerator<target::TensorMapFill>(
      2, [](target::TensorMapFill fill) { return target::getName(fill); });
  if (json.failed())
    return map;
  size_t rank = map.dims.size();
  if (rank < 1 || rank > target::kTensorMapMaxRank)
    json["dims"].fail("expected 1 to " +
                      std::to_string(target::kTensorMapMaxRank) +
                      " dimensions, found " + std::to_string(rank));
  else if (map.strides.size() != rank - 1 || map.box.size() != rank)
    json.fail("expected " + std::to_string(rank - 1) +
              " strides and a box of " + std::to_string(rank) +
              " for as many dimensions, found " +
              std::to_string(map.strides.size()) + " and " +
              std::to_string(map.box.size()));
  return map;
}

/// Decodes pairs of hexadecimal digits.
static std::vector<uint8_t> readBytes(const JsonReader &json) {
  std::string text = json.string();
  std::vector<uint8_t> bytes;
  auto digit = [](char c) -> unsigned {
    return c >= '0' && c <= '9'   ? unsigned(c - '0')
           : c >= 'a' && c <= 'f' ? unsigned(c - 'a' + 10)
                                  : 16;
  };
  bool isHex = !text.empty() && text.size() % 2 == 0 && text.size() <= 16;
  for (size_t i = 0; isHex && i < text.size(); i += 2) {
    unsigned high = digit(text[i]), low = digit(text[i + 1]);
    isHex = high < 16 && low < 16;
    bytes.push_back(uint8_t(high * 16 + low));
  }
  if (!isHex && !json.failed())
    json.fail("expected 1 to 8 bytes as pairs of hexadecimal digits, found '" +
              text + "'");
  return bytes;
}

Parameter EntryReader::readParameter(const JsonReader &json) {
  Parameter parameter;
  if (!json.onlyKeys({"buffer", "offset", "tensor_map", "i64", "i32", "i16",
                      "i8", "f64", "f32", "f16", "bytes", "argument"}))
    return parameter;
  if (json.has("offset") ? !json.has("buffer") || json.size() != 2
                         : json.size() != 1) {
    json.fail("expected one of buffer, tensor_map, i64, i32, i16, i8, f64, "
              "f32, f16, bytes, argument, or buffer and offset");
    return parameter;
  }
  if (json.has("buffer")) {
    parameter.kind = Parameter::Pointer;
    parameter.buffer = readBuffer(json["buffer"]);
    if (json.has("offset"))
      parameter.number = readNumber(json["offset"]);
  } else if (json.has("tensor_map")) {
    parameter.kind = Parameter::TensorMap;
    parameter.index =
        unsigned(json["tensor_map"].integer(0, int64_t(maps.size()) - 1));
    if (!json.failed() && !maps[parameter.index])
      json["tensor_map"].fail("expected an existing tensor map");
  } else if (json.has("bytes")) {
    parameter.kind = Parameter::Bytes;
    parameter.data = readBytes(json["bytes"]);
  } else if (json.has("argument")) {
    parameter.kind = Parameter::Argument;
    parameter.index = unsigned(
        json["argument"].integer(0, int64_t(entry.arguments.size()) - 1));
    if (!json.failed() && !entry.arguments[parameter.index].isNumber)
      json["argument"].fail("expected an argument that is a number");
  } else {
    for (unsigned bytes : {1, 2, 4, 8})
      for (const char *kind : {"i", "f"}) {
        std::string key = kind + std::to_string(8 * bytes);
        if (!json.has(key.c_str()))
          continue;
        parameter.kind = *kind == 'f' ? Parameter::Float : Parameter::Integer;
        parameter.bytes = bytes;
        parameter.number = readNumber(json[key.c_str()]);
      }
  }
  return parameter;
}
