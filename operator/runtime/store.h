#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/client/resource.h"
#include "operator/runtime/packed_object.h"

namespace inference::runtime {

/// One object's move from one state to the next, as the store saw it.
struct Change {
  client::ObjectRef ref;
  Object before;  // null: the object is new to the store
  Object after;   // null: the object is gone
};

/// Under which keys an object is found besides its name, e.g. the uids of its owners. Pure, must not throw on a strange
/// object.
using IndexFunction = std::function<std::vector<std::string>(const Json& object)>;
struct Index {
  std::string name;
  IndexFunction keys;
};

/// The uids of all owners: lists the children of an object by `by_index("owner", uid)`.
[[nodiscard]] Index index_by_owner_uid();

/// An object as a store holds it.
struct StoredObject {
  PackedObject packed;
  std::vector<std::vector<std::string>> keys;  // parallel to the store's indexes: where to find it in them
};

struct StoreContents;

/// A cheap read handle on the objects of one kind. Objects are immutable snapshots: what was returned stays as it was.
/// May be older than the API server's truth, never newer. They rest packed, so that each read unpacks what it returns
/// (about 10 µs a Deployment). Thread-safe; outlives its writer.
class Lister {
 public:
  /// Null when there is no such object.
  [[nodiscard]] Object get(const client::ObjectRef& ref) const;
  /// The resourceVersion of one object, without unpacking it; empty when there is no such object.
  [[nodiscard]] std::string version_of(const client::ObjectRef& ref) const;
  /// Whose objects there are, ordered by namespace and name.
  [[nodiscard]] std::vector<client::ObjectRef> refs() const;
  /// All objects in that order.
  [[nodiscard]] std::vector<Object> list() const;
  /// The objects that `index` puts under `key`, ordered; none for an index that the store has not.
  [[nodiscard]] std::vector<Object> by_index(std::string_view index, std::string_view key) const;
  [[nodiscard]] std::size_t size() const;
  /// How far the store has come: the resourceVersion of the last event, bookmark or list. It compares with that of any
  /// object of the kind (KEP-5504). 0: nothing seen yet, or not a number.
  [[nodiscard]] std::uint64_t version() const;

 private:
  friend class StoreWriter;
  explicit Lister(std::shared_ptr<const StoreContents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const StoreContents> contents_;
};

/// The only hand that changes a store; its reflector owns it. Used by one thread at a time.
class StoreWriter {
 public:
  explicit StoreWriter(std::vector<Index> indexes = {});

  [[nodiscard]] Lister lister() const { return Lister(contents_); }

  /// Begins a new snapshot beside the one that is served; what an unfinished earlier one gathered is dropped.
  void begin_snapshot();
  /// Adds an object to the snapshot begun.
  void add_to_snapshot(const Json& object);
  /// Swaps the new snapshot in at once, then calls `on_change` for what differs by resourceVersion from the old one, so
  /// that deletions missed while away show as such; of an object with another uid both its deletion and its creation.
  void commit_snapshot(const std::function<void(const Change&)>& on_change);

  /// One object was created or changed.
  [[nodiscard]] Change apply(Json object);
  /// One object was deleted; `before` and `after` are both null if it was not there.
  [[nodiscard]] Change remove(const client::ObjectRef& ref);
  /// Everything up to this resourceVersion is in the store.
  void advance(std::string_view resource_version);

 private:
  [[nodiscard]] StoredObject rest(const Json& object);

  std::shared_ptr<StoreContents> contents_;
  std::map<client::ObjectRef, StoredObject> snapshot_;
  ObjectPacker packer_;
};

}  // namespace inference::runtime
