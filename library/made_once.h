// Values by key, each made by whoever asks for it first. Others who ask for the same meanwhile wait for that one, and
// nobody waits for another's key: what is ready is found while something else is being made, without an allocation.
#pragma once

#include <exception>
#include <future>
#include <map>
#include <mutex>

namespace tessera::library {

template <class Key, class Value>
class MadeOnce {
 public:
  // A copy of the value, which `make` returns if there is none yet. If it throws, so does every get that waited for it;
  // the next one tries again.
  template <class Make>
  Value get(const Key& key, Make&& make) {
    std::unique_lock lock(mutex_);
    if (auto found = values_.find(key); found != values_.end()) {
      const std::shared_future<Value> value = found->second;
      lock.unlock();
      return value.get();
    }
    std::promise<Value> promise;
    const std::shared_future<Value> value = values_.emplace(key, promise.get_future().share()).first->second;
    lock.unlock();
    try {
      promise.set_value(make());
    } catch (...) {
      lock.lock();
      values_.erase(key);
      lock.unlock();
      promise.set_exception(std::current_exception());
    }
    return value.get();
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_future<Value>> values_;
};

}  // namespace tessera::library
