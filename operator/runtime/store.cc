#include "operator/runtime/store.h"

#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

using Objects = std::map<client::ObjectRef, StoredObject>;
using Entry = Objects::value_type;

struct ByRef {
  bool operator()(const Entry* a, const Entry* b) const { return a->first < b->first; }
};
using Entries = std::set<const Entry*, ByRef>;

// What an index knows: key → entries of Objects. A map's nodes stay where they are, so pointers to them are safe until
// the entry is erased.
using IndexedEntries = std::map<std::string, Entries, std::less<>>;

}  // namespace

// A mutex rather than a shared one: readers hold it for a look-up or a copy of pointers, and glibc's rwlock lets a
// stream of readers starve the writer.
struct StoreContents {
  const std::vector<Index> indexes;
  mutable std::mutex mutex;
  Objects objects;  // guarded by mutex
  std::atomic<std::uint64_t> version = 0;
  std::vector<IndexedEntries> indexed;  // guarded by mutex; parallel to indexes; every object is under each of its keys

  explicit StoreContents(std::vector<Index> from) : indexes(std::move(from)), indexed(indexes.size()) {}

  static void insert(std::vector<IndexedEntries>& indexed, const Entry& entry) {
    for (std::size_t i = 0; i < indexed.size(); ++i) {
      for (const std::string& key : entry.second.keys[i]) indexed[i][key].insert(&entry);
    }
  }

  void forget(const Entry& entry) {
    for (std::size_t i = 0; i < indexed.size(); ++i) {
      for (const std::string& key : entry.second.keys[i]) {
        const auto found = indexed[i].find(key);
        if (found == indexed[i].end()) continue;  // the function named this key twice
        found->second.erase(&entry);
        if (found->second.empty()) indexed[i].erase(found);
      }
    }
  }
};

namespace {

/// Without the lock: readers should not wait for each other's unpacking.
std::vector<Object> unpack(const std::vector<PackedObject>& packed) {
  std::vector<Object> objects;
  objects.reserve(packed.size());
  for (const PackedObject& object : packed) objects.push_back(object.unpack());
  return objects;
}

/// An object that was deleted and made anew meanwhile is not one that has changed, however alike the two are.
void tell_of_replaced(const Change& change, const std::function<void(const Change&)>& on_change) {
  if (uid_of(*change.before) == uid_of(*change.after)) return on_change(change);
  on_change({.ref = change.ref, .before = change.before, .after = nullptr});
  on_change({.ref = change.ref, .before = nullptr, .after = change.after});
}

}  // namespace

Index index_by_owner_uid() {
  return {.name = "owner", .keys = [](const Json& object) {
            std::vector<std::string> uids;
            for (OwnerReference& owner : owners_of(object)) uids.push_back(std::move(owner.uid));
            return uids;
          }};
}

Object Lister::get(const client::ObjectRef& ref) const {
  std::unique_lock lock(contents_->mutex);
  const auto found = contents_->objects.find(ref);
  if (found == contents_->objects.end()) return nullptr;
  const PackedObject packed = found->second.packed;
  lock.unlock();
  return packed.unpack();
}

std::string Lister::version_of(const client::ObjectRef& ref) const {
  const std::scoped_lock lock(contents_->mutex);
  const auto found = contents_->objects.find(ref);
  return found == contents_->objects.end() ? std::string() : found->second.packed.resource_version();
}

std::vector<client::ObjectRef> Lister::refs() const {
  std::vector<client::ObjectRef> refs;
  const std::scoped_lock lock(contents_->mutex);
  refs.reserve(contents_->objects.size());
  for (const auto& [ref, object] : contents_->objects) refs.push_back(ref);
  return refs;
}

std::vector<Object> Lister::list() const {
  std::vector<PackedObject> packed;
  {
    const std::scoped_lock lock(contents_->mutex);
    packed.reserve(contents_->objects.size());
    for (const auto& [ref, object] : contents_->objects) packed.push_back(object.packed);
  }
  return unpack(packed);
}

std::vector<Object> Lister::by_index(std::string_view index, std::string_view key) const {
  std::vector<PackedObject> packed;
  for (std::size_t i = 0; i < contents_->indexes.size(); ++i) {
    if (contents_->indexes[i].name != index) continue;
    const std::scoped_lock lock(contents_->mutex);
    const auto found = contents_->indexed[i].find(key);
    if (found == contents_->indexed[i].end()) break;
    for (const Entry* entry : found->second) packed.push_back(entry->second.packed);
    break;
  }
  return unpack(packed);
}

std::size_t Lister::size() const {
  const std::scoped_lock lock(contents_->mutex);
  return contents_->objects.size();
}

std::uint64_t Lister::version() const {
  return contents_->version;
}

StoreWriter::StoreWriter(std::vector<Index> indexes) : contents_(std::make_shared<StoreContents>(std::move(indexes))) {}

void StoreWriter::begin_snapshot() {
  snapshot_.clear();
}

StoredObject StoreWriter::rest(const Json& object) {
  StoredObject stored{.packed = packer_.pack(object), .keys = {}};
  for (const Index& index : contents_->indexes) stored.keys.push_back(index.keys(object));
  return stored;
}

void StoreWriter::add_to_snapshot(const Json& object) {
  snapshot_.insert_or_assign(ref_of(object), rest(object));
}

void StoreWriter::commit_snapshot(const std::function<void(const Change&)>& on_change) {
  std::vector<IndexedEntries> indexed(contents_->indexes.size());
  for (const Entry& entry : snapshot_) StoreContents::insert(indexed, entry);
  Objects old = std::exchange(snapshot_, {});
  {
    const std::scoped_lock lock(contents_->mutex);
    std::swap(contents_->objects, old);
    std::swap(contents_->indexed, indexed);
  }
  // From here on readers see the new snapshot. The writer alone changes the maps, so it may read them without the lock.
  for (const auto& [ref, object] : contents_->objects) {
    const auto before = old.find(ref);
    if (before == old.end()) {
      on_change({.ref = ref, .before = nullptr, .after = object.packed.unpack()});
      continue;
    }
    if (before->second.packed.resource_version() != object.packed.resource_version()) {
      tell_of_replaced({.ref = ref, .before = before->second.packed.unpack(), .after = object.packed.unpack()},
                       on_change);
    }
    old.erase(before);
  }
  for (const auto& [ref, object] : old) on_change({.ref = ref, .before = object.packed.unpack(), .after = nullptr});
}

Change StoreWriter::apply(Json object) {
  Change change{.ref = ref_of(object), .before = nullptr, .after = std::make_shared<const Json>(std::move(object))};
  StoredObject stored = rest(*change.after);
  const std::scoped_lock lock(contents_->mutex);
  const auto [entry, is_new] = contents_->objects.try_emplace(change.ref);
  if (!is_new) {
    change.before = entry->second.packed.unpack();
    contents_->forget(*entry);
  }
  entry->second = std::move(stored);
  StoreContents::insert(contents_->indexed, *entry);
  return change;
}

Change StoreWriter::remove(const client::ObjectRef& ref) {
  Change change{.ref = ref, .before = nullptr, .after = nullptr};
  const std::scoped_lock lock(contents_->mutex);
  const auto entry = contents_->objects.find(ref);
  if (entry == contents_->objects.end()) return change;
  change.before = entry->second.packed.unpack();
  contents_->forget(*entry);
  contents_->objects.erase(entry);
  return change;
}

void StoreWriter::advance(std::string_view resource_version) {
  contents_->version = version_number(resource_version);
}

}  // namespace inference::runtime
