//! How connections are set up: what a rate may depend on.

use std::net::TcpStream;

use rustix::net::sockopt;
use serde::{Deserialize, Serialize};

/// The options of a connection, and the limits of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketFacts {
    /// `SO_SNDBUF` after the transfer: the kernel lets it grow.
    pub send_buffer_bytes: usize,
    /// `SO_RCVBUF` after the transfer.
    pub receive_buffer_bytes: usize,
    /// The congestion control.
    pub congestion: String,
    /// Whether small segments are sent immediately.
    pub nodelay: bool,
    /// The kernel's limit of a send buffer that grows by itself; `None`: it does not say.
    pub send_limit_bytes: Option<u64>,
    /// The kernel's limit of a receive buffer that grows by itself; `None`: it does not say.
    pub receive_limit_bytes: Option<u64>,
}

impl SocketFacts {
    pub(crate) fn of(stream: &TcpStream) -> rustix::io::Result<Self> {
        let limit = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
            text.split_whitespace().last()?.parse().ok()
        };
        Ok(Self {
            send_buffer_bytes: sockopt::socket_send_buffer_size(stream)?,
            receive_buffer_bytes: sockopt::socket_recv_buffer_size(stream)?,
            congestion: sockopt::tcp_congestion(stream)?,
            nodelay: sockopt::tcp_nodelay(stream)?,
            send_limit_bytes: limit("tcp_wmem"),
            receive_limit_bytes: limit("tcp_rmem"),
        })
    }
}
