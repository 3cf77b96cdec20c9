// What a reader and a worker of one machine say to each other, on their stream, to
// hand batches over in memory that both have mapped (docs/formats/shared_memory.md).
// Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace millrace::api {

// A reader asks for it.
struct ShareOffer {
  std::string machine;  // Where it is, as transport/machine_identity.h says.
  bool writes = true;   // It wants arrays that can be written to.

  bool operator==(const ShareOffer&) const = default;
};

BOOST_DESCRIBE_STRUCT(ShareOffer, (), (machine, writes))

// The worker waits at a socket, once; or it does not, and says why.
struct ShareAnswer {
  std::string socket = {};  // Its abstract name.
  std::string secret = {};  // To be said there first.
  std::string refused = {};

  bool operator==(const ShareAnswer&) const = default;
};

BOOST_DESCRIBE_STRUCT(ShareAnswer, (), (socket, secret, refused))

// Memory that the reader has not seen: its descriptor waits in the socket.
struct LentArena {
  int64_t number = 0;
  int64_t bytes = 0;
  bool writable = false;

  bool operator==(const LentArena&) const = default;
};

BOOST_DESCRIBE_STRUCT(LentArena, (), (number, bytes, writable))

// An arena that the reader may look into until it releases the loan.
struct Loan {
  int64_t number = 0;  // Each is greater than the one before.
  int64_t arena = 0;

  bool operator==(const Loan&) const = default;
};

BOOST_DESCRIBE_STRUCT(Loan, (), (number, arena))

// A buffer of the next message's frame that does not come with the message.
struct LentPiece {
  int64_t before = 0;  // Bytes of the message since the last such piece, or the head.
  int64_t loan = 0;    // Which of those of this lending, counted from 0.
  int64_t offset = 0;  // In its arena.
  int64_t bytes = 0;

  bool operator==(const LentPiece&) const = default;
};

BOOST_DESCRIBE_STRUCT(LentPiece, (), (before, loan, offset, bytes))

// What belongs to the next message of the worker.
struct Lending {
  std::vector<LentArena> arenas = {};  // That are new.
  std::vector<int64_t> dropped = {};   // Arenas that will not be lent any more.
  int64_t head_bytes = 0;              // Of the frame, which the message begins with.
  std::vector<Loan> loans = {};
  std::vector<LentPiece> pieces = {};

  bool operator==(const Lending&) const = default;
};

BOOST_DESCRIBE_STRUCT(Lending, (), (arenas, dropped, head_bytes, loans, pieces))

struct ShareMessage {
  std::optional<ShareOffer> offer = {};     // Of a reader.
  std::optional<ShareAnswer> answer = {};   // Of a worker.
  bool joined = false;                      // Of a reader: it is connected.
  std::optional<Lending> lending = {};      // Of a worker.
  std::vector<int64_t> released = {};       // Of a reader: loans.
  std::optional<std::string> copying = {};  // Of a worker: why it lends nothing; or "".

  bool operator==(const ShareMessage&) const = default;
};

BOOST_DESCRIBE_STRUCT(ShareMessage, (),
                      (offer, answer, joined, lending, released, copying))

// The head of such a message. It has a name of its own, so that who does not know it
// passes it over.
struct ShareHead {
  ShareMessage shared_memory = {};

  bool operator==(const ShareHead&) const = default;
};

BOOST_DESCRIBE_STRUCT(ShareHead, (), (shared_memory))

}  // namespace millrace::api
