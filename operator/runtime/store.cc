#include "operator/runtime/store.h"

#include <mutex>
#include <set>
#include <utility>

#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

using Objects = std::map<client::ObjectRef, Object>;
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
  Objects objects;                      // guarded by mutex
  std::vector<IndexedEntries> indexed;  // guarded by mutex; parallel to indexes; every object is under each of its keys

  explicit StoreContents(std::vector<Index> from) : indexes(std::move(from)), indexed(indexes.size()) {}

  static void insert(const std::vector<Index>& indexes, std::vector<IndexedEntries>& indexed, const Entry& entry) {
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      for (std::string& key : indexes[i].keys(*entry.second)) indexed[i][std::move(key)].insert(&entry);
    }
  }

  void forget(const Entry& entry) {
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      for (const std::string& key : indexes[i].keys(*entry.second)) {
        const auto found = indexed[i].find(key);
        if (found == indexed[i].end()) continue;  // the function named this key twice
        found->second.erase(&entry);
        if (found->second.empty()) indexed[i].erase(found);
      }
    }
  }
};

Index index_by_owner_uid() {
  return {.name = "owner", .keys = [](const Json& object) {
            std::vector<std::string> uids;
            for (OwnerReference& owner : owners_of(object)) uids.push_back(std::move(owner.uid));
            return uids;
          }};
}

Object Lister::get(const client::ObjectRef& ref) const {
  const std::scoped_lock lock(contents_->mutex);
  const auto found = contents_->objects.find(ref);
  return found == contents_->objects.end() ? nullptr : found->second;
}

std::vector<Object> Lister::list() const {
  std::vector<Object> objects;
  const std::scoped_lock lock(contents_->mutex);
  objects.reserve(contents_->objects.size());
  for (const auto& [ref, object] : contents_->objects) objects.push_back(object);
  return objects;
}

std::vector<Object> Lister::list_namespace(std::string_view ns) const {
  std::vector<Object> objects;
  const std::scoped_lock lock(contents_->mutex);
  const client::ObjectRef first{.ns = std::string(ns), .name = {}};
  for (auto it = contents_->objects.lower_bound(first); it != contents_->objects.end() && it->first.ns == ns; ++it) {
    objects.push_back(it->second);
  }
  return objects;
}

std::vector<Object> Lister::by_index(std::string_view index, std::string_view key) const {
  std::vector<Object> objects;
  for (std::size_t i = 0; i < contents_->indexes.size(); ++i) {
    if (contents_->indexes[i].name != index) continue;
    const std::scoped_lock lock(contents_->mutex);
    const auto found = contents_->indexed[i].find(key);
    if (found == contents_->indexed[i].end()) break;
    for (const Entry* entry : found->second) objects.push_back(entry->second);
    break;
  }
  return objects;
}

std::size_t Lister::size() const {
  const std::scoped_lock lock(contents_->mutex);
  return contents_->objects.size();
}

StoreWriter::StoreWriter(std::vector<Index> indexes) : contents_(std::make_shared<StoreContents>(std::move(indexes))) {}

void StoreWriter::begin_snapshot() {
  snapshot_.clear();
}

void StoreWriter::add_to_snapshot(Object object) {
  client::ObjectRef ref = ref_of(*object);
  snapshot_.insert_or_assign(std::move(ref), std::move(object));
}

std::vector<Change> StoreWriter::commit_snapshot() {
  std::vector<IndexedEntries> indexed(contents_->indexes.size());
  for (const Entry& entry : snapshot_) StoreContents::insert(contents_->indexes, indexed, entry);

  Objects old = std::exchange(snapshot_, {});
  {
    const std::scoped_lock lock(contents_->mutex);
    std::swap(contents_->objects, old);
    std::swap(contents_->indexed, indexed);
  }
  // From here on readers see the new snapshot. The writer alone changes the maps, so it may read them without the lock.
  std::vector<Change> changes;
  for (const auto& [ref, object] : contents_->objects) {
    const auto before = old.find(ref);
    if (before == old.end()) {
      changes.push_back({.ref = ref, .before = nullptr, .after = object});
      continue;
    }
    if (resource_version_of(*before->second) != resource_version_of(*object)) {
      changes.push_back({.ref = ref, .before = before->second, .after = object});
    }
    old.erase(before);
  }
  for (auto& [ref, object] : old) changes.push_back({.ref = ref, .before = std::move(object), .after = nullptr});
  return changes;
}

Change StoreWriter::apply(Object object) {
  Change change{.ref = ref_of(*object), .before = nullptr, .after = object};
  const std::scoped_lock lock(contents_->mutex);
  const auto [entry, is_new] = contents_->objects.try_emplace(change.ref, std::move(object));
  if (!is_new) {
    contents_->forget(*entry);
    change.before = std::exchange(entry->second, change.after);
  }
  StoreContents::insert(contents_->indexes, contents_->indexed, *entry);
  return change;
}

Change StoreWriter::remove(const client::ObjectRef& ref) {
  Change change{.ref = ref, .before = nullptr, .after = nullptr};
  const std::scoped_lock lock(contents_->mutex);
  const auto entry = contents_->objects.find(ref);
  if (entry == contents_->objects.end()) return change;
  contents_->forget(*entry);
  change.before = std::move(entry->second);
  contents_->objects.erase(entry);
  return change;
}

}  // namespace inference::runtime
