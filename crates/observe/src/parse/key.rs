/// Which IP header of a tunnelled packet determines its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Key {
    /// The innermost: the hosts that communicate through the tunnel.
    #[default]
    Inner,
    /// The outermost: the endpoints of the tunnel. GRE and IP in IP have no transport header there, so their packets
    /// are rejected as [`Reject::Transport`](super::Reject::Transport).
    Outer,
}

impl Key {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Inner, Self::Outer];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inner => "inner",
            Self::Outer => "outer",
        }
    }
}
