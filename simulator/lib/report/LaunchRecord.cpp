//===- LaunchRecord.cpp - Recording of launches for replay ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/LaunchRecord.h"

#include "mxsim/io/JsonWriter.h"
#include "mxsim/io/Npy.h"
#include "mxsim/io/OutputFile.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace mx::sim;
using mx::JsonWriter;

//===----------------------------------------------------------------------===//
// State before the launch
//===----------------------------------------------------------------------===//

LaunchRecord::LaunchRecord(const DeviceMemory &memory, const KernelInfo &kernel,
                           const LaunchConfig &config)
    : memory(memory), config(config) {
  for (const ParameterInfo &parameter : kernel.parameters) {
    std::string number = std::to_string(arguments.size());
    Argument &argument = arguments.emplace_back();
    argument.parameter = &parameter;
    for (uint32_t at = 0; at < parameter.bytes;) {
      std::string place = number + (at ? "+" + std::to_string(at) : "");
      Field field = readField(parameter, at, place);
      at += field.bytes;
      bool isPlain = field.buffer.empty() && field.tensorMap.empty();
      Field *last = argument.fields.empty() ? nullptr : &argument.fields.back();
      if (isPlain && last && last->buffer.empty() && last->tensorMap.empty())
        last->bytes += field.bytes;
      else
        argument.fields.push_back(std::move(field));
    }
  }
}

/// Returns the buffer that contains `address`, or null, and sets `offset`. The
/// name of the buffer is derived from its address, so it is the same in all
/// records of a process.
const LaunchRecord::Buffer *LaunchRecord::addBuffer(uint64_t address,
                                                    uint64_t &offset) {
  const DeviceMemory::Allocation *found = memory.find(address);
  if (!found)
    return nullptr;
  offset = address - found->address;
  Buffer &buffer = buffers[found->address];
  if (buffer.name.empty()) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIx64, found->address);
    buffer.name = text;
    buffer.before.resize(found->bytes);
    memory.copyOut(buffer.before.data(), found->address, found->bytes);
  }
  return &buffer;
}

/// Reads a tensor map or a pointer at the offset. If there is neither, reads
/// the bytes up to the next offset at which a pointer may be stored.
LaunchRecord::Field LaunchRecord::readField(const ParameterInfo &parameter,
                                            uint32_t offset,
                                            const std::string &place) {
  const uint8_t *bytes = config.parameters.data() + parameter.offset + offset;
  uint32_t left = parameter.bytes - offset;
  Field field = {offset, std::min(left, 8 - offset % 8), "", "", 0};
  TensorMapDesc map;
  if (offset % tensorMapAlignment == 0 && left >= tensorMapBytes &&
      decodeTensorMap(bytes, map).empty() && validate(map).empty() &&
      addBuffer(map.globalAddress, field.bufferOffset)) {
    field.tensorMap = "m" + place;
    field.bytes = tensorMapBytes;
    tensorMaps[field.tensorMap] = map;
  } else if (offset % 8 == 0 && left >= 8) {
    uint64_t value;
    std::memcpy(&value, bytes, sizeof value);
    if (const Buffer *buffer = addBuffer(value, field.bufferOffset))
      field.buffer = buffer->name;
  }
  return field;
}

//===----------------------------------------------------------------------===//
// State after the launch
//===----------------------------------------------------------------------===//

bool LaunchRecord::hasChanged(uint64_t address, const Buffer &buffer) const {
  const void *now = memory.translate(address, buffer.before.size());
  return now &&
         std::memcmp(now, buffer.before.data(), buffer.before.size()) != 0;
}

const uint8_t *LaunchRecord::bytesOf(const Argument &argument,
                                     const Field &field) const {
  return config.parameters.data() + argument.parameter->offset + field.offset;
}

void LaunchRecord::writeTensorMap(JsonWriter &json,
                                  const TensorMapDesc &map) const {
  auto first = [](const auto &values, unsigned n) {
    return std::vector<uint64_t>(values.begin(), values.begin() + n);
  };
  const DeviceMemory::Allocation *buffer = memory.find(map.globalAddress);
  json.beginObject();
  json.member("buffer", buffers.at(buffer->address).name);
  json.member("offset", map.globalAddress - buffer->address);
  json.member("type", name(map.type));
  json.row("dims", first(map.dims, map.rank));
  json.row("strides", first(map.strides, map.rank - 1));
  json.row("box", first(map.box, map.rank));
  json.row("element_strides", first(map.elementStrides, map.rank));
  json.member("interleave", name(map.interleave));
  json.member("swizzle", name(map.swizzle));
  json.member("oob", map.oob == TmapOob::Nan ? "nan" : "zero");
  json.endObject();
}

void LaunchRecord::writeField(JsonWriter &json, const Argument &argument,
                              const Field &field, const char *offsetKey) const {
  if (!field.tensorMap.empty())
    return json.member("tensor_map", field.tensorMap);
  if (!field.buffer.empty()) {
    json.member("buffer", field.buffer);
    return json.member(offsetKey, field.bufferOffset);
  }
  const uint8_t *bytes = bytesOf(argument, field);
  uint64_t number = 0;
  if (field.bytes == 4 || field.bytes == 8) {
    std::memcpy(&number, bytes, field.bytes);
    // Many JSON readers store numbers as doubles.
    if (number < uint64_t(1) << 53)
      return json.member(field.bytes == 4 ? "u32" : "u64", number);
  }
  std::string digits;
  for (uint32_t k = 0; k < field.bytes; ++k)
    for (unsigned shift : {4, 0})
      digits += "0123456789abcdef"[bytes[k] >> shift & 15];
  json.member("bytes", digits);
}

void LaunchRecord::writeArgument(JsonWriter &json,
                                 const Argument &argument) const {
  json.beginObject();
  if (argument.fields.size() == 1) {
    writeField(json, argument, argument.fields[0], "offset");
    return json.endObject();
  }
  json.key("struct");
  json.beginObject();
  json.member("size", argument.parameter->bytes);
  json.member("align", argument.parameter->align);
  json.key("fields");
  json.beginArray();
  for (const Field &field : argument.fields) {
    json.beginObject();
    json.member("offset", field.offset);
    writeField(json, argument, field, "buffer_offset");
    json.endObject();
  }
  json.endArray();
  json.endObject();
  json.endObject();
}

std::string LaunchRecord::text() const {
  auto row = [](JsonWriter &json, const char *key, const Dim3 &dim) {
    json.row(key, std::array<uint32_t, 3>{dim.x, dim.y, dim.z});
  };
  JsonWriter json;
  json.beginObject();
  json.member("format", 1);
  json.row("modules", std::array<const char *, 1>{"kernel.ptx"});
  json.member("kernel", config.kernel);
  row(json, "grid", config.grid);
  row(json, "block", config.block);
  if (config.cluster.count())
    row(json, "cluster", config.cluster);
  json.member("dynamic_smem", config.dynamicSharedBytes);
  if (config.cooperative)
    json.member("cooperative", true);
  json.member("sm_count", config.smCount);
  json.key("buffers");
  json.beginObject();
  for (const auto &[address, buffer] : buffers) {
    json.key(buffer.name);
    json.beginObject();
    json.member("file", buffer.name + ".npy");
    json.endObject();
  }
  json.endObject();
  json.object("tensor_maps", [&] {
    for (const auto &[name, map] : tensorMaps) {
      json.key(name);
      writeTensorMap(json, map);
    }
  });
  json.list("args", arguments,
            [&](const Argument &argument) { writeArgument(json, argument); });
  json.object("outputs", [&] {
    for (const auto &[address, buffer] : buffers)
      if (hasChanged(address, buffer))
        json.member(buffer.name, "out-" + buffer.name + ".npy");
  });
  json.endObject();
  return json.text + "\n";
}

std::string LaunchRecord::write(const std::string &directory,
                                std::string_view ptx) const {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  if (code)
    return "'" + directory + "' cannot be created: " + code.message();
  for (const auto &[address, buffer] : buffers) {
    NpyArray array = {"u1", {int64_t(buffer.before.size())}, buffer.before};
    std::string why = writeNpy(directory + "/" + buffer.name + ".npy", array);
    if (!why.empty())
      return why;
  }
  if (std::string why = writeOutputFile(directory + "/kernel.ptx", {ptx});
      !why.empty())
    return why;
  return writeOutputFile(directory + "/launch.json", {text()});
}
