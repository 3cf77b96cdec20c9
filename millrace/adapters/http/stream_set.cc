#include "millrace/adapters/http/stream_set.h"

#include <iterator>
#include <memory>
#include <vector>

#include "millrace/adapters/http/stream.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

bool StreamSet::Add(const std::shared_ptr<Stream>& stream) {
  const base::MutexLock lock(&mutex_);
  if (stopped_ || std::ssize(streams_) >= streams_max_) return false;
  streams_.emplace(stream.get(), stream);
  stream->set_on_gone(
      [self = shared_from_this(), gone = stream.get()] { self->Remove(gone); });
  return true;
}

void StreamSet::Remove(const Stream* stream) {
  const base::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

void StreamSet::CloseAll() {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const base::MutexLock lock(&mutex_);
    stopped_ = true;
    for (const auto& [key, weak] : streams_) {
      if (std::shared_ptr<Stream> stream = weak.lock()) streams.push_back(stream);
    }
  }
  for (const std::shared_ptr<Stream>& stream : streams) stream->Close();
}

}  // namespace millrace::http
