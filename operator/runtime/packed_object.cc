#include "operator/runtime/packed_object.h"

#include <lz4.h>

#include <algorithm>
#include <stdexcept>

#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

/// LZ4 looks no further back than 64 KiB.
constexpr std::size_t kLargestDictionary = 65536;

const char* chars(const std::vector<std::uint8_t>& bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}
char* chars(std::vector<std::uint8_t>& bytes) {
  return reinterpret_cast<char*>(bytes.data());
}
/// An object of the API server is below some megabytes, far from what an int holds.
int length(const std::vector<std::uint8_t>& bytes) {
  return static_cast<int>(bytes.size());
}

}  // namespace

PackedObject ObjectPacker::pack(const Json& object) {
  PackedObject::Bytes plain = Json::to_msgpack(object);
  PackedObject::Bytes packed(static_cast<std::size_t>(LZ4_compressBound(length(plain))));
  if (dictionary_ == nullptr) {
    const std::size_t size = std::min(plain.size(), kLargestDictionary);
    dictionary_ =
        std::make_shared<const PackedObject::Bytes>(plain.end() - static_cast<std::ptrdiff_t>(size), plain.end());
  }
  LZ4_stream_t stream;
  LZ4_initStream(&stream, sizeof stream);
  LZ4_loadDict(&stream, chars(*dictionary_), length(*dictionary_));
  const int size = LZ4_compress_fast_continue(&stream, chars(plain), chars(packed), length(plain), length(packed),
                                              /*acceleration=*/1);
  if (size <= 0) throw std::logic_error("an object could not be packed");

  PackedObject result;
  result.body_ = std::make_shared<const PackedObject::Body>(PackedObject::Body{
      .dictionary = dictionary_, .size = plain.size(), .bytes = {packed.begin(), packed.begin() + size}});
  result.resource_version_ = resource_version_of(object);
  return result;
}

Object PackedObject::unpack() const {
  Bytes plain(body_->size);
  const Bytes& dictionary = *body_->dictionary;
  const int size = LZ4_decompress_safe_usingDict(chars(body_->bytes), chars(plain), length(body_->bytes), length(plain),
                                                 chars(dictionary), length(dictionary));
  if (size != length(plain)) throw std::logic_error("a packed object is broken");
  return std::make_shared<const Json>(Json::from_msgpack(plain));
}

}  // namespace inference::runtime
