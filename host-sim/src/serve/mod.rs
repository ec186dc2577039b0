//! The page: its files, a server of them, and the events of a swarm.

mod feed;
mod http;
mod live;
mod site;

pub(crate) use feed::{Act, Feed};
pub(crate) use http::Server;
pub(crate) use live::Live;
pub(crate) use site::Site;
