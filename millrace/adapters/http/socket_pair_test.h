// Both ends of a connection, for tests of what is built on sockets.
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/socket.h"

namespace millrace::http {

// The ends belong to the loops, in this order.
inline std::pair<Socket, Socket> SocketPair(const std::shared_ptr<Loop>& near_loop,
                                            const std::shared_ptr<Loop>& far_loop) {
  using boost::asio::ip::tcp;
  tcp::acceptor acceptor(far_loop->context(),
                         tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  tcp::socket near(near_loop->context());
  near.connect(acceptor.local_endpoint());
  tcp::socket far(far_loop->context());
  acceptor.accept(far);
  return {Socket(near_loop, std::move(near)), Socket(far_loop, std::move(far))};
}

}  // namespace millrace::http
