//! Errors of a network measurement.

use std::io;

use serde_json::{Value, json};
use thiserror::Error;

/// Why a network measurement gave no report.
#[derive(Debug, Error)]
pub enum NetError {
    /// A size, count or address that cannot be.
    #[error("{option} {given}: {problem}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The value given.
        given: String,
        /// The problem.
        problem: String,
    },
    /// The address to listen on is taken or not ours.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// Listening beyond loopback without a token, or a peer that refused ours.
    #[error("{address}: {problem}")]
    Token {
        /// The address.
        address: String,
        /// The problem.
        problem: String,
    },
    /// The system refused a thread.
    #[error("the system refuses a thread: {0}")]
    Threads(io::Error),
    /// A peer that cannot be reached.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The peer.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// A peer that speaks something else.
    #[error("{address}: {problem}")]
    Protocol {
        /// The peer.
        address: String,
        /// Its answer.
        problem: String,
    },
    /// A peer that failed or fell silent in the middle.
    #[error("{address}: {problem}")]
    Peer {
        /// The peer.
        address: String,
        /// The event.
        problem: String,
    },
    /// A peer that ended or went out of reach in the middle.
    #[error("{address}: {problem}")]
    Lost {
        /// The peer.
        address: String,
        /// The event.
        problem: String,
    },
    /// Asked to stop.
    #[error("interrupted; connections closed")]
    Interrupted,
}

impl NetError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Option { .. } => "VEN-NET-OPTION",
            Self::Listen { .. } => "VEN-NET-LISTEN",
            Self::Token { .. } => "VEN-NET-TOKEN",
            Self::Threads(_) => rawio::REFUSED.0,
            Self::Connect { .. } => "VEN-NET-CONNECT",
            Self::Protocol { .. } => "VEN-NET-PROTOCOL",
            Self::Peer { .. } => "VEN-NET-PEER",
            Self::Lost { .. } => "VEN-NET-LOST",
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// Where, as key and value.
    pub fn place(&self) -> Value {
        match self {
            Self::Option { option, given, .. } => json!({"option": option, "given": given}),
            Self::Listen { address, .. }
            | Self::Token { address, .. }
            | Self::Connect { address, .. }
            | Self::Protocol { address, .. }
            | Self::Peer { address, .. }
            | Self::Lost { address, .. } => json!({"address": address}),
            Self::Threads(_) | Self::Interrupted => Value::Null,
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Option { .. } => "see `venturi-agent net --help`",
            Self::Listen { .. } => "choose a free port and an address of this host",
            Self::Threads(_) => rawio::REFUSED_HINT,
            Self::Token { .. } => "give the same --token to the listeners and to the coordinator",
            Self::Connect { .. } => {
                "start `venturi-agent net --listen ADDRESS:PORT --token TOKEN` there, and open the port"
            }
            Self::Protocol { .. } => "is another program or another version listening there?",
            Self::Peer { .. } | Self::Lost { .. } => "look at that peer's own messages",
            Self::Interrupted => "",
        }
    }
}
